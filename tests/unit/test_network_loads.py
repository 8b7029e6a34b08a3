"""Which links and ports tiles of a spread layer use, as the cost model has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from archsim.facts.noc.port_turns import turn, turns
from archsim.lab.run.job import Job, build, load_chip
from archsim.spec.network import Noc
from mapper.cost.network_loads import LinkWays, Pattern
from tests.unit.fixtures_grid import grid


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
