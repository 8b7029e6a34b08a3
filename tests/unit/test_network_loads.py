"""Which links and ports tiles of a spread layer use, as the cost model has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from archsim.base import caches
from archsim.facts.noc.port_turns import turn, turns
from archsim.lab.run.job import Job, build, load_chip, prepare
from archsim.lab.run.network_shares import network_shares
from archsim.noc import sustained
from archsim.noc.network import Network
from archsim.noc.parameters import RouterParameters
from archsim.noc.sustained import SCALE, _measured, sustained_share
from archsim.noc.ways import ShortestWays
from archsim.spec import topology
from archsim.spec.architecture import Architecture
from archsim.spec.network import Noc
from mapper.cost.grid import Flow
from mapper.cost.network_loads import LinkWays, Pattern, _on_wire, passage, reach_bytes
from mapper.layers import Layers
from mapper.options import resolve_dtypes
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem
from tests.unit.fixtures_grid import grid

ONE_PORT = {"l2": [[0]]}


def _noc(**values: object) -> Noc:
    noc = grid(**values).noc
    assert noc is not None
    return noc


@pytest.mark.parametrize("ports", [1, 2, 7, 80])
def test_many_blocks_have_the_turns_of_each(ports: int) -> None:
    blocks = np.random.default_rng(0).integers(0, 10**12, 500)
    assert turns(blocks, ports).tolist() == [turn(int(block), ports) for block in blocks]


@pytest.mark.parametrize(
    ("step", "tiles"),
    [(16, 8.0), (4096, 4.0), (8192, 4.0)],  # all begin in one message; by turns at two ports; digits are added up
)
def test_a_port_sends_what_begins_there(step: int, tiles: float) -> None:
    """A mesh of 4 x 2 with two ports, at opposite corners: eight cores, each with a tile of its own."""
    ways = LinkWays(_noc())
    assert ways.busiest("l2", Pattern((8,), (step,), (True,), writes=False), spread_out=False) == tiles


def test_tiles_of_many_messages_use_all_ports() -> None:
    ways, pattern = LinkWays(_noc()), Pattern((8,), (16,), (True,), writes=False)
    assert ways.busiest("l2", pattern, spread_out=True) == pytest.approx(4.0)


def test_what_several_cores_need_is_on_each_link_once_where_the_network_copies_it() -> None:
    alike = Pattern((8,), (0,), (False,), writes=False)
    assert LinkWays(_noc()).busiest("l2", alike, spread_out=False) == 1.0
    assert LinkWays(_noc(mesh__multicast=False, mesh__fidelity="link")).busiest("l2", alike, spread_out=False) == 8.0


def test_the_busiest_link_lies_on_the_way_of_most() -> None:
    """From the port at (0, 0) by x first: of the four columns three lie behind the first link, two cores each."""
    noc = _noc()
    one = LinkWays(replace(noc, multicast=True))
    paths = one.between("l2", writes=False)[0]
    load = np.bincount(paths.reshape(-1), minlength=one.none + 1)[: one.none]
    assert sorted(load.tolist())[-2:] == [6, 8]  # that link, and the port itself


def test_each_core_reads_for_itself_without_multicast() -> None:
    job = Job("eye_tracking", "a100")
    assert load_chip(job).noc is not None
    program = build(job).program
    shared = [ring for ring in program.rings if ring.memory == "l2" and len(ring.readers) > 1]
    assert shared and all(len(set(ring.readers)) == len(ring.readers) for ring in shared)


@pytest.mark.parametrize("values", [{}, {"mesh__topology": "crossbar", "mesh__shape": [8], "mesh__attach": ONE_PORT}])
@pytest.mark.parametrize("writes", [False, True])
def test_heads_take_as_long_as_the_machine_says(values: dict[str, object], writes: bool) -> None:
    """A lone packet of one flit: the mean over ports of the core that is farthest away."""
    noc = _noc(**values)
    found, routes, ports = topology.network(noc)
    ways, router = ShortestWays(found, routes), RouterParameters(routing_delay=noc.routing_delay_cycles)
    taken = [
        [ways.lone_cycles(router, *((core, port) if writes else (port, core)), 1) for core in range(noc.cores)]
        for port in ports["l2"]
    ]
    expected = np.array(taken).mean(axis=0)
    told = LinkWays(noc)
    assert told.head_cycles("l2", noc.cores, writes=writes) == expected.max()
    assert told.head_cycles("l2", 1, writes=writes) == expected[0]


def test_a_crossbar_is_one_hop_however_many_cores_it_has() -> None:
    few = LinkWays(_noc(mesh__topology="crossbar", mesh__shape=[4], mesh__attach=ONE_PORT))
    many = LinkWays(_noc(mesh__topology="crossbar", mesh__shape=[40], mesh__attach=ONE_PORT))
    assert few.head_cycles("l2", 4, writes=False) == many.head_cycles("l2", 40, writes=False)


def test_a_small_message_is_a_flit_and_its_header_at_least() -> None:
    """Links of 32 B, packets of 64 B with a header of a flit: full packets carry 2/3."""
    noc = _noc()
    sizes = np.array([0.0, 1.0, 32.0, 33.0, 64.0, 6400.0])
    flits = np.array([0, 2, 2, 3, 3, 300])
    assert _on_wire(noc, sizes) == pytest.approx(flits * (32 * 2 / 3))


def test_tiles_among_few_bytes_go_through_few_ports() -> None:
    """A bias of 256 B lies in one message of the shared memory: every core reads it through one port."""
    chip = grid(mesh__multicast=False, mesh__fidelity="link")
    problem, plan = _bias(chip)
    assert chip.noc is not None
    one = float(passage(chip.noc, problem, plan, np.asarray(16.0), 1.0, 256.0, begun=True))
    all_ports = float(passage(chip.noc, problem, plan, np.asarray(16.0), 1.0, 1e9, begun=True))
    wire = float(_on_wire(chip.noc, np.asarray(16.0 * plan.element_bytes)))
    assert one == pytest.approx(problem.having(plan) * wire)
    assert all_ports == pytest.approx(one / 2)


@pytest.mark.parametrize(
    ("rows", "cols", "tile_rows", "tile_cols", "message"),
    [(64, 144, 64, 27, 512), (64, 144, 64, 24, 512), (512, 300, 64, 30, 512), (64, 256, 64, 8, 128),
     (256, 256, 16, 256, 512), (128, 512, 32, 16, 512), (96, 96, 96, 12, 256)],
)  # fmt: skip
def test_tiles_begin_in_the_places_of_few_messages(
    rows: int, cols: int, tile_rows: int, tile_cols: int, message: int
) -> None:
    """Tiles of a matrix of two bytes an element, each sent row after row in messages: their ports, one by one."""
    chip = grid(mesh__multicast=False, mesh__fidelity="link")
    problem, plan = _bias(chip)
    assert chip.noc is not None
    noc = replace(chip.noc, message_bytes=message)
    matrix = replace(plan, shape=(rows, cols), element_bytes=2, beyond="")
    tiles = rows * cols // (tile_rows * tile_cols)
    sent, length = (float(value) for value in (rows * cols, tile_cols if tile_cols < cols else tile_rows * cols))
    flow = Flow(*(np.array(value) for value in (sent, sent, sent, float(tiles), length, float(max(cols, length)))))
    reach = float(reach_bytes(noc, problem, matrix, {plan.name: flow}))
    blocks = {
        ((row + at // tile_cols) * cols + col + at % tile_cols) * 2 // message
        for row in range(0, rows, tile_rows)
        for col in range(0, cols, tile_cols)
        for at in range(0, tile_rows * tile_cols, message // 2)
    }
    assert reach / message == pytest.approx(len(blocks), rel=0.25)


def test_tiles_of_a_ring_begin_in_it() -> None:
    """Runs of 1/16 of a tile with those of three others between them, messages of half a tile: all that lies in a ring
    of four tiles begins in the two messages of one."""
    chip = grid(mesh__multicast=False, mesh__fidelity="link")
    problem, plan = _bias(chip)
    assert chip.noc is not None and plan.beyond
    ring, element_bytes = problem.operand(plan.beyond), plan.element_bytes
    noc = replace(chip.noc, message_bytes=16 * element_bytes)
    held = {ring.name: Flow(*(np.array(value) for value in (256.0, 256.0, 256.0, 1.0, 256.0, 256.0)))}
    tile = Flow(*(np.array(value) for value in (64.0, 64.0, 64.0, 1.0, 4.0, 16.0)))
    assert float(reach_bytes(noc, problem, plan, {**held, plan.name: tile})) == 64 * element_bytes


def _bias(chip: Architecture) -> tuple[Problem, OperandPlan]:
    asked = prepare(Job("eye_tracking", ""), chip)
    layers = Layers(asked.workload, chip, resolve_dtypes(chip, asked.options.dtypes or {}), asked.options)
    for problem in layers.map().problems:
        if problem is not None and problem.spread is not None:
            for plan in problem.loads:
                if plan.name == "bias" and problem.crosses(plan):
                    return problem, plan
    raise AssertionError("no bias crosses the network")


@pytest.mark.parametrize("writes", [False, True])
def test_one_port_to_one_core_works_all_the_time(writes: bool) -> None:
    noc = _noc(mesh__topology="crossbar", mesh__shape=[1], mesh__attach=ONE_PORT)
    assert _measured(Network(noc), "l2", writes) >= 0.95 * SCALE


def test_ports_that_send_to_all_cores_hold_one_another_up() -> None:
    """Of routers with one round of arbitration about three quarters of a link are left; of links that packets reserve
    whole nearly all."""
    four = {"mesh__topology": "crossbar", "mesh__shape": [4], "mesh__attach": {"l2": [[0]] * 4}}
    flit, link = _noc(**four), _noc(**four, mesh__fidelity="link")
    assert 0.6 * SCALE < _measured(Network(flit), "l2", False) < 0.85 * SCALE
    assert _measured(Network(flit), "l2", False) == _measured(Network(flit), "l2", False)
    assert _measured(Network(link), "l2", False) > _measured(Network(flit), "l2", False)


def test_a_share_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(caches.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(caches.OFF_VARIABLE, raising=False)
    noc = _noc()
    first = sustained_share(noc, "l2", writes=False)
    assert 0 < first <= 1

    def unmeasurable(*_: object) -> int:
        raise AssertionError("measured again")

    monkeypatch.setattr(sustained, "_measured", unmeasurable)
    assert sustained_share(noc, "l2", writes=False) == first
    with pytest.raises(AssertionError, match="measured again"):
        sustained_share(noc, "l2", writes=True)
    with pytest.raises(AssertionError, match="measured again"):
        sustained_share(replace(noc, routing_delay_cycles=2), "l2", writes=False)


def test_chips_without_a_network_have_no_shares() -> None:
    assert network_shares(load_chip(Job("eye_tracking", "edge_npu"))) == {}
    assert set(network_shares(grid())) == {("l2", "read"), ("l2", "write")}
