"""Laws of collectives as moves of a Program: accepted, computed in numbers under any order, counted by the machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from archsim.base.errors import ConfigError
from archsim.facts.collectives import COLLECTIVES, pieces
from archsim.ir.check.program import check
from archsim.ir.program import Affine, Program
from archsim.system import simulate
from mapper.execute.run import Executor
from mapper.lower.collective import Collective, moves
from tests.laws.builders import flat, move, program, queue, tensor
from tests.laws.many_cores import grid
from tests.tools.mutants import ORDERS, Numbers, Subject, judge, mutants

WHOLE = ("all_reduce", "all_reduce_halving", "all_reduce_tree")


def asked(name: str, cores: int, elements: int, **fields: object) -> Collective:
    """A collective over the first cores, sent by their store queues."""
    buffers = {core: f"t{core}" for core in range(cores)}
    queues = {core: f"core[{core}].store" for core in range(cores)}
    return Collective(name, "one", buffers, queues, elements, 1, **fields)  # type: ignore[arg-type]


def alone(name: str, cores: int, elements: int) -> Program:
    """Nothing but a collective over buffers that lie in the cores' memories at time 0."""
    found = moves(asked(name, cores, elements))
    queues = [queue(f"core[{core}].store", *commands) for core, commands in found.commands.items()]
    stores = [tensor(f"t{core}", f"l1[{core}]", size=elements) for core in range(cores)]
    return program(*queues, tensors=stores, semaphores=found.semaphores)


def around(name: str, cores: int, elements: int, combine: str) -> Program:
    """Buffers loaded from DRAM by load queues, a collective, buffers stored by the load queues again."""
    loads = {core: f"core[{core}].load" for core in range(cores)}
    found = moves(asked(name, cores, elements, combine=combine, filled=loads, read=loads, root=cores - 1))
    queues = [queue(f"core[{core}].store", *commands) for core, commands in found.commands.items()]
    for core, load in loads.items():
        place = Affine(core * elements)
        filled = move("fill", "x", f"t{core}", elements, signals=found.begin[core])
        used = move("use", f"t{core}", "y", elements, waits=found.end[core])
        reads, writes = (flat("src", "x", offset=place),), (flat("dst", "y", offset=place),)
        queues.append(queue(load, replace(filled, reads=reads), replace(used, writes=writes)))
    ends = (tensor("x", "dram", size=cores * elements), tensor("y", "dram", cores * elements, 2**20, preloaded=False))
    stores = [tensor(f"t{core}", f"l1[{core}]", size=elements, preloaded=False) for core in range(cores)]
    return program(*queues, tensors=(*ends, *stores), semaphores=found.semaphores)


def expected(name: str, start: np.ndarray, combine: str) -> np.ndarray:
    """(cores, elements) of what each core ends with where the collective says what that is, else NaN."""
    cores, elements = start.shape
    total, root = (start.sum(0) if combine == "add" else start.max(0)), cores - 1
    found = np.full(start.shape, np.nan)
    own = np.concatenate([start[core, slice(*part)] for core, part in enumerate(pieces(elements, cores))])
    if name in WHOLE:
        found[:] = total
    elif name in ("broadcast", "broadcast_tree"):
        found[:] = start[root]
    elif name in ("all_gather", "all_gather_doubling"):
        found[:] = own
    elif name == "gather":
        found[root] = own
    elif name in ("reduce_scatter", "reduce_scatter_halving"):
        for core, part in enumerate(pieces(elements, cores)):
            found[core, slice(*part)] = total[slice(*part)]
    else:
        found[root] = total
    return found


def subject(name: str, cores: int, elements: int, combine: str) -> Subject:
    """The collective between loads and stores, with what it must leave; parts of no meaning as one order has them."""
    listing = around(name, cores, elements, combine)
    start = np.random.default_rng(cores * 100 + elements).integers(-9, 10, (cores, elements)).astype(float)
    loaded: Numbers = {"x": start.reshape(-1)}
    executor = Executor(listing)
    executor.fill("x", loaded["x"])
    executor.run()
    left = executor.values("y").reshape(cores, elements)
    wanted = expected(name, start, combine)
    assert np.array_equal(left[~np.isnan(wanted)], wanted[~np.isnan(wanted)])
    return Subject(name, listing, grid(), loaded, {"y": left.reshape(-1)})


@pytest.mark.parametrize("combine", ["add", "max"])
@pytest.mark.parametrize("cores", [2, 3, 4])
@pytest.mark.parametrize("name", sorted(COLLECTIVES))
def test_law_29_collectives_as_moves(name: str, cores: int, combine: str) -> None:
    """Law 29: checked, every collective leaves NumPy's numbers under 20 token-legal orders, and the machine runs it."""
    each = subject(name, cores, 37, combine)
    check(each.program, each.chip)
    assert judge(each, each.program, ORDERS) == ""
    assert simulate(each.program, each.chip).total_ps > 0


@pytest.mark.parametrize("name", sorted(COLLECTIVES))
def test_law_42_any_token_of_a_collective_removed_is_caught(name: str) -> None:
    """Law 42: each wait and each signal between the moves of a collective, removed one at a time, is caught."""
    each = subject(name, 4, 8, "add")
    dropped = [(label, mutant) for kind, label, mutant in mutants(each.program) if kind == "drop token"]
    assert dropped
    assert [label for label, mutant in dropped if not judge(each, mutant, 4)] == []


@pytest.mark.parametrize("name", ["all_reduce", "all_reduce_halving"])
@pytest.mark.parametrize("cores", [2, 3, 4])
def test_law_29_bytes_of_an_all_reduce_in_the_machine(cores: int, name: str) -> None:
    """Law 29: by ring or by doubling each node sends and receives 2 (p - 1) / p of the buffer, by the network's flits;
    what is added up is added p - 1 times."""
    elements = 4096 * 3
    chip = grid(noc={"header_flits": 0})
    assert chip.noc is not None
    activity = simulate(alone(name, cores, elements), chip)
    assert activity.noc is not None
    each = 2 * (cores - 1) * elements // cores
    for flits in (activity.noc.node_in, activity.noc.node_out):
        assert [count * chip.noc.link_bytes for count in flits[:cores]] == [each] * cores
    counts = {key[1:]: count for key, count in activity.counts.items()}
    added = (cores - 1) * elements
    assert counts["l1", "read_bytes"] == 3 * added  # sent, sent on, and added to
    assert counts["l1", "write_bytes"] == 2 * added
    assert counts["dma", "combine.int8"] == added


@pytest.mark.parametrize("ring", ["reduce_scatter", "all_gather", "all_reduce"])
def test_fewer_steps_of_small_pieces_take_less_time(ring: str) -> None:
    """Four cores and a flit for each: steps of messages that cost what they take alone, 2 against 3 of a ring."""
    doubled = {"reduce_scatter": "reduce_scatter_halving", "all_gather": "all_gather_doubling"}
    times = [simulate(alone(name, 4, 128), grid()).total_ps for name in (ring, doubled.get(ring, "all_reduce_halving"))]
    assert times[1] < times[0]


def test_mistakes() -> None:
    with pytest.raises(ConfigError, match="core 1 sends; found no queue of it"):
        moves(replace(asked("all_reduce", 2, 8), queues={0: "core[0].store"}))
    with pytest.raises(ConfigError, match="did you mean 'all_reduce'"):
        moves(asked("all_reduse", 2, 8))
