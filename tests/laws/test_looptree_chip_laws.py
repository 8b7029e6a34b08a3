"""Compiled layers as LoopTrees on their chips: equal counts, latencies below the simulated ones, bounds that hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape
from archsim.facts.dataflows.fold import Nest as FoldNest
from archsim.ir.workload import Axis
from mapper.given.priced import CELL, price
from mapper.looptree.bound import bounds
from mapper.looptree.chip import axis_dims, places
from mapper.looptree.conventions import ARCHSIM
from mapper.looptree.cost import evaluate
from mapper.looptree.hierarchy import Hierarchy, Memory
from mapper.looptree.inside import least_inside
from mapper.looptree.search import optimal
from mapper.looptree.search.objective import Objective
from mapper.looptree.search.space import Space, check
from tests.oracles.brute_force import exhaustive
from tests.tools.looptree_cases import cases
from tests.tools.looptree_layers import FLOWS, WHOLE, case_of, with_stored_padding

SEEDS = range(160)
FED = (("l1", "read"), ("acc", "read"), ("acc", "write"))  # over which the array's streams go


@pytest.mark.parametrize("seed", SEEDS)
def test_law_38_the_looptree_of_a_layer_counts_what_the_machine_counts(seed: int) -> None:
    """Law 38: bytes read and written at every explicit memory, of any dataflow, are the LoopTree's as integers.

    Where an array folds a product of dims that no dims one by one fit as well, the LoopTree streams more; where what
    it holds never changes, the LoopTree keeps it from one command to the next.
    """
    case = case_of(seed)
    if case is None:
        return
    mine, machine = case.looptree_bytes(), case.machine_bytes()
    if case.flat and case.held:
        assert mine == machine
    for key in mine.keys() | machine.keys():
        if key not in FED:
            assert mine[key] == machine[key], key
        elif case.held:
            assert mine[key] >= machine[key], key
        elif case.flat:
            assert mine[key] <= machine[key], key


@pytest.mark.parametrize("seed", SEEDS)
def test_law_38_the_latency_of_the_looptree_is_a_bound(seed: int) -> None:
    """Law 38: the LoopTree's latency never exceeds that of the simulated layer alone, and it lies in its space."""
    case = case_of(seed)
    if case is None:
        return
    laid = axis_dims(case.frame.problem, case.costs, case.dtypes)
    dims = {axis: frozenset(names) for axis, names in laid.items()}
    check(case.nest, Space(case.nest.einsum, case.hierarchy, ARCHSIM, "any", axis_dims=dims))
    cost = evaluate(case.nest, case.hierarchy, ARCHSIM)
    if case.flat:
        assert cost.latency_s * case.chip.clock_hz <= case.cycles * (1 + 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_law_38_the_energy_of_the_looptree_is_that_of_the_mapping(seed: int) -> None:
    """Law 38: what the LoopTree spends in explicit memories is what the compiler's own model charges the mapping."""
    case = case_of(seed)
    if case is None or not (case.flat and case.held):
        return
    parts = evaluate(case.nest, case.hierarchy, WHOLE).energy_of_j
    own = price(case.frame.problem, case.compiled.mapping.layers[0], case.costs, case.dtypes)
    explicit = [place.name for place in places(case.frame.problem, case.costs)]
    assert sum(parts[name] for name in explicit) * 1e12 == pytest.approx(own.accesses_pj[CELL], rel=1e-9)
    assert parts["MAC"] > 0 and parts[case.hierarchy.memories[-1].name] > 0


@pytest.mark.parametrize("seed", range(60))
def test_law_13_padding_is_what_a_looptree_reads_too_much(seed: int) -> None:
    """Law 13: with its padding stored, a layer reads from DRAM what its LoopTree reads; without, only that is less."""
    case = case_of(seed, padded=True)
    if case is None:
        return
    stored = with_stored_padding(case)
    mine, machine, whole = case.looptree_bytes(), case.machine_bytes(), stored.machine_bytes()
    assert mine == stored.looptree_bytes()
    assert mine["dram", "read"] == whole["dram", "read"] >= machine["dram", "read"]
    assert {**machine, ("dram", "read"): whole["dram", "read"]} == whole


def test_most_cases_are_exact() -> None:
    found = [case for seed in SEEDS if (case := case_of(seed)) is not None]
    exact = [case for case in found if case.flat and case.held]
    assert len(exact) > len(found) / 2 > 30
    assert {case.chip.arrays[0].dataflow for case in exact} == set(FLOWS)
    assert sum(case_of(seed, padded=True) is not None for seed in range(60)) > 15  # others run on the vector unit


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_law_38_no_mapping_is_below_the_bounds(seed: int, padded: bool) -> None:
    """Law 38: of any mapping, the best or a random one, cycles and energy are at least those of any LoopTree."""
    case = case_of(seed, padded)
    if case is None or (len(case.chip.memories) > 3 and seed % 20 < 18):  # a search over staged memories takes seconds
        return
    problem, mapping = case.frame.problem, case.compiled.mapping.layers[0]
    found = bounds(problem, case.costs, case.dtypes)
    own = price(problem, mapping, case.costs, case.dtypes)
    assert found.cycles.proven and found.energy_pj.proven
    assert 0 < found.cycles.figure <= own.bound[CELL] <= case.cycles
    assert 0 < found.energy_pj.figure <= own.accesses_pj[CELL]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    flow=st.sampled_from(FLOWS),
    rows=st.integers(1, 9),
    cols=st.integers(1, 9),
    rate=st.sampled_from((Fraction(1), Fraction(2), Fraction(3, 2), Fraction(1, 2))),
    overlap=st.booleans(),
    buffered=st.booleans(),
    extents=st.tuples(*(st.integers(1, 30) for _ in range(5))),
    dim=st.integers(0, 4),
    data=st.data(),
)
def test_law_38_commands_for_parts_take_and_stream_no_less(
    flow: str,
    rows: int,
    cols: int,
    rate: Fraction,
    overlap: bool,
    buffered: bool,
    extents: tuple[int, ...],
    dim: int,
    data: st.DataObject,
) -> None:
    """Law 38: two commands for the halves of a dim stream at least what one for all of it does, and take as long."""
    dataflow = catalogue.get(flow)
    shape = ArrayShape(
        rows,
        cols,
        rate,
        weight_double_buffer=buffered and "weight_double_buffer" in dataflow.OPTIONS,
        fold_overlap=overlap and "fold_overlap" in dataflow.OPTIONS,
    )
    nest = FoldNest(("b",), ("m",), ("n",), ("c", "r"))
    whole = dict(zip("bmncr", extents, strict=True))
    name = "bmncr"[dim]
    cut = data.draw(st.integers(0, whole[name]))
    parts = [{**whole, name: size} for size in (cut, whole[name] - cut) if size]
    adds = name in "cr"
    done = [dataflow.fold(nest, part, shape, accumulate=adds and at > 0) for at, part in enumerate(parts)]
    one = dataflow.fold(nest, whole, shape, accumulate=False)
    assert one.cycles <= sum(part.cycles for part in done)
    for stream, found in one.streams.items():
        assert found.accesses <= sum(part.streams[stream].accesses for part in done), stream


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    taps=st.integers(1, 7),
    extent=st.integers(1, 20),
    step=st.integers(1, 4),
    offset=st.integers(0, 5),
    behind=st.integers(0, 5),
    data=st.data(),
)
def test_law_13_no_tiling_brings_less_than_the_least_inside(
    taps: int, extent: int, step: int, offset: int, behind: int, data: st.DataObject
) -> None:
    """Law 13: of the values that tiles of a padded window bring, at least the stated share lies in the tensor."""
    last = step * (extent - 1) + taps - 1
    length = max(1, last + 1 - offset - behind)
    dims = {"p": extent, "r": taps}
    share = least_inside((Axis((("p", step), ("r", 1)), -offset),), (length,), dims)
    tiles = []
    for size in (extent, taps):
        cuts = sorted(data.draw(st.sets(st.integers(1, max(1, size - 1)), max_size=4)) - {size})
        tiles.append([range(low, high) for low, high in pairwise((0, *cuts, size))])
    brought = [{p * step + r - offset for p in ps for r in rs} for ps in tiles[0] for rs in tiles[1]]
    inside = sum(0 <= value < length for values in brought for value in values)
    assert inside >= share * sum(map(len, brought))
    if offset == 0 and length > last:
        assert share == 1


SPLIT = [(space, objective) for space, objective in cases(83, 120) if len(space.hierarchy.memories) == 2][:16]


@pytest.mark.parametrize(("space", "objective"), SPLIT)
@pytest.mark.parametrize("number", range(3))
def test_operands_may_lie_whole_in_different_memories(space: Space, objective: Objective, number: int) -> None:
    """One operand is whole not in the outermost memory but in one inside it: the optimum is the exhaustive one."""
    first, *rest = space.hierarchy.parts
    assert isinstance(first, Memory)
    operand = space.einsum.operands[number].name
    others = first.keep - {operand}
    inner = replace(first, name="T", keep=frozenset({operand}))
    parts = (replace(first, keep=others), inner, *rest)
    split = replace(space, hierarchy=Hierarchy("split", parts, space.hierarchy.compute))
    try:
        truth = exhaustive.search(split, objective)
    except MappingError:
        with pytest.raises(MappingError):
            optimal.search(split, objective)
        return
    found = optimal.search(split, objective)
    check(found.nest, split)
    assert found.proven and found.value == pytest.approx(truth.value, rel=1e-12)


def test_an_operand_that_no_memory_has_whole_is_refused() -> None:
    space, objective = SPLIT[0]
    first, *rest = space.hierarchy.parts
    assert isinstance(first, Memory)
    lost = replace(first, keep=frozenset({"W", "O"}))
    inner = [replace(part, keep=part.keep - {"I"}) if isinstance(part, Memory) else part for part in rest]
    inner = [replace(part, may_keep=frozenset()) if isinstance(part, Memory) else part for part in inner]
    hierarchy = Hierarchy("lost", (lost, *inner), space.hierarchy.compute)
    with pytest.raises(MappingError, match="operand 'I' is whole nowhere"):
        optimal.search(replace(space, hierarchy=hierarchy), objective)
