"""Laws 11, 17, 18, 38 (one formula), 39 for every dataflow present: what any fold must satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import USUAL, ArrayShape, Fold, Nest, Window
from tests.tools.plugins import WINDOWED, plugins

NAMES = tuple(sorted({*catalogue.names(), WINDOWED}))
DEALT = "weight_stationary_units"
NEST = Nest(batch=("g",), m=("p", "q"), n=("o",), k=("c", "r", "s"))
DEPTHWISE = Nest(batch=("c",), m=("p", "q"), n=(), k=("r", "s"))
EXTENTS = st.fixed_dictionaries({dim: st.integers(1, 300 if dim in "opc" else 5) for dim in "gpqocrs"})
RATES = [Fraction(text) for text in ("1", "1/2", "1/4", "2/3", "2", "3/2", "4")]
QUICK = settings(max_examples=50, deadline=None, derandomize=True)
Extents = dict[str, int]


class Run(NamedTuple):
    """A dataflow, an array with any of its options, accumulate or not, and the windows that the dataflow asks for."""

    name: str
    array: ArrayShape
    accumulate: bool
    windows: tuple[Window, ...] = ()


@pytest.fixture(autouse=True, scope="module")
def _with_plugins() -> Iterator[None]:
    with plugins():
        yield


@st.composite
def windows(draw: st.DrawFn) -> tuple[Window, ...]:
    """None, rows alone, or rows and columns, in any steps."""
    steps = st.integers(1, 4)
    pairs = draw(st.sampled_from(((), (("p", "r"),), (("p", "r"), ("q", "s")), (("q", "s"), ("p", "r")))))
    return tuple(Window(output, tap, draw(steps), draw(steps)) for output, tap in pairs)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Any run; each dataflow as often."""
    with plugins():
        return _run(draw)


def _run(draw: st.DrawFn) -> Run:
    name = draw(st.sampled_from(NAMES))
    drawn = {"load_rows": st.integers(1, 4), "block": st.integers(1, 4)}
    options = {option: draw(drawn.get(option, st.booleans())) for option in catalogue.get(name).OPTIONS}
    sides = st.integers(1, 70)
    array = ArrayShape(draw(sides), draw(sides), draw(st.sampled_from(RATES)), **options)
    return Run(name, array, draw(st.booleans()), draw(windows()) if catalogue.wants_windows(name) else ())


def fold_of(run: Run, nest: Nest, extents: Extents) -> Fold:
    """The fold of one run."""
    nest = replace(nest, windows=run.windows)
    return catalogue.get(run.name).fold(nest, extents, run.array, accumulate=run.accumulate)


def figures(fold: Fold) -> dict[str, int]:
    """Every integer of a fold by name."""
    streams = {name: stream.accesses for name, stream in fold.streams.items()}
    return {"cycles": fold.cycles, "stream": fold.cycles_stream, **streams, **fold.inner_actions}


def gemm(extents: Extents) -> tuple[int, int, int, int]:
    """Batch, M, N, K."""
    e = extents
    return e["g"], e["p"] * e["q"], e["o"], e["c"] * e["r"] * e["s"]


@QUICK
@given(runs(), EXTENTS)
def test_macs_are_exact_and_cycles_suffice(run: Run, extents: Extents) -> None:
    """Laws 17 and 39: MACs = batch M N K exactly; cycles x peak >= MACs on arrays, even the streaming ones alone."""
    fold = fold_of(run, NEST, extents)
    batch, m, n, k = gemm(extents)
    assert fold.inner_actions["mac"] == batch * m * n * k
    assert fold.cycles >= fold.cycles_stream > 0
    assert fold.cycles_stream * run.array.macs_per_cycle >= fold.inner_actions["mac"]
    assert fold.cycles_load >= 0
    assert fold.cycles_fill >= 0
    assert fold.cycles_drain >= 0
    assert fold.cycles == fold.cycles_load + fold.cycles_fill + fold.cycles_stream + fold.cycles_drain


@QUICK
@given(runs().filter(lambda run: catalogue.takes_arrays(run.name)), st.lists(EXTENTS, min_size=1, max_size=4))
def test_arrays_of_extents_give_what_each_command_alone_does(run: Run, commands: list[Extents]) -> None:
    """What the compiler asks for at once is what the machine asks for one by one."""
    together: Any = {dim: np.array([extents[dim] for extents in commands]) for dim in commands[0]}
    found = figures(fold_of(run, NEST, together))
    for at, extents in enumerate(commands):
        alone = figures(fold_of(run, NEST, extents))
        assert {name: int(np.broadcast_to(value, len(commands))[at]) for name, value in found.items()} == alone


@QUICK
@given(runs(), EXTENTS)
def test_every_operand_crosses_the_edge(run: Run, extents: Extents) -> None:
    """Each distinct value of a factor at least once, at most once per MAC; sums: reads = writes, less the first pass.

    Values of the input that windows share are one.
    """
    accumulate = run.accumulate
    fold = fold_of(run, NEST, extents)
    batch, m, n, k = gemm(extents)
    moved = {stream: use.accesses for stream, use in fold.streams.items()}
    assert replace(NEST, windows=run.windows).inputs(extents) <= moved["a"] <= fold.inner_actions["mac"]
    assert batch * k * n <= moved["b"] <= fold.inner_actions["mac"]
    assert moved["acc_write"] % (batch * m * n) == 0
    assert moved["acc_write"] >= batch * m * n
    assert moved["acc_write"] - moved["acc_read"] == (0 if accumulate else batch * m * n)
    directions = {stream: use.direction for stream, use in fold.streams.items()}
    assert directions == {"a": "read", "b": "read", "acc_read": "read", "acc_write": "write"}


@QUICK
@given(runs(), EXTENTS, st.sampled_from("gpqocrs"), st.integers(1, 90))
def test_more_work_is_never_less(run: Run, extents: Extents, dim: str, more: int) -> None:
    """Monotone: a larger extent lowers no figure of the fold."""
    small = figures(fold_of(run, NEST, extents))
    large = figures(fold_of(run, NEST, {**extents, dim: extents[dim] + more}))
    assert [name for name in small if large[name] < small[name]] == []


@QUICK
@given(runs(), EXTENTS)
def test_batch_repeats_the_fold(run: Run, extents: Extents) -> None:
    """Counts scale with the batch exactly; cycles too, unless loads or folds overlap (then never more)."""
    one = figures(fold_of(run, NEST, {**extents, "g": 1}))
    many = figures(fold_of(run, NEST, extents))
    cycles, repeated = many.pop("cycles"), one.pop("cycles") * extents["g"]
    assert many == {name: count * extents["g"] for name, count in one.items()}
    overlaps = run.array.weight_double_buffer or run.array.fold_overlap
    assert cycles <= repeated if overlaps else cycles == repeated


@QUICK
@given(EXTENTS, st.sampled_from(NAMES), st.integers(1, 70), st.integers(1, 70), st.sampled_from(RATES))
def test_overlap_never_costs(extents: Extents, name: str, rows: int, cols: int, rate: Fraction) -> None:
    """Each option takes away cycles or none, and changes neither streams nor actions, but for inputs where a command
    is dealt to several arrays in the way that ends first."""
    options = catalogue.get(name).OPTIONS
    folds = {}
    for chosen in product((False, True), repeat=len(options)):
        stated = {name: 1 + on if name in USUAL else on for name, on in zip(options, chosen, strict=True)}
        array = ArrayShape(rows, cols, rate, **stated)
        folds[chosen] = fold_of(Run(name, array, False), NEST, extents)
    for less, more in product(folds, folds):
        if all(b or not a for a, b in zip(less, more, strict=True)):
            assert folds[more].cycles <= folds[less].cycles
    if "block" in options:  # which is there to share what is read
        return
    apart = {"a"} if name == DEALT else set()
    streams = [{key: use for key, use in fold.streams.items() if key not in apart} for fold in folds.values()]
    assert len({str((use, fold.inner_actions)) for use, fold in zip(streams, folds.values(), strict=True)}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_smallest_and_larger_than_the_problem(name: str) -> None:
    """One MAC streams one cycle and moves one element per operand; a larger array adds no traffic."""
    ones = dict.fromkeys("gpqocrs", 1)
    one = fold_of(Run(name, ArrayShape(1, 1), False), NEST, ones)
    assert (one.cycles_stream, one.inner_actions["mac"]) == (1, 1)
    traffic = {"a": 1, "b": 1, "acc_read": 0, "acc_write": 1}
    assert {stream: use.accesses for stream, use in one.streams.items()} == traffic
    large = fold_of(Run(name, ArrayShape(64, 64), False), NEST, ones)
    assert (large.cycles_stream, large.streams) == (1, one.streams)
    assert large.inner_actions["mac"] == 1


@QUICK
@given(EXTENTS, st.integers(1, 70), st.integers(1, 70))
def test_weight_stationary_edge_reads(extents: Extents, rows: int, cols: int) -> None:
    """Law 11: array-edge input reads = ceil(N / C) M K; each weight is read once per command."""
    batch, m, n, k = gemm(extents)
    fold = fold_of(Run("weight_stationary", ArrayShape(rows, cols), False), NEST, extents)
    assert fold.streams["a"].accesses == batch * ceil(n / cols) * m * k
    assert fold.streams["b"].accesses == batch * k * n


@pytest.mark.parametrize("name", NAMES)
def test_trips_are_rounded_up(name: str) -> None:
    """Law 17: 4096 in tiles of 187 columns takes 22 trips, the last one at full price."""
    dim = "p" if "inputs" not in catalogue.get(name).fanouts(1, 187)[1]["multicast"] else "o"
    extents = dict.fromkeys("gpqocrs", 1)
    one = fold_of(Run(name, ArrayShape(1, 187), False), NEST, extents)
    many = fold_of(Run(name, ArrayShape(1, 187), False), NEST, {**extents, dim: 4096})
    assert many.cycles == 22 * one.cycles
    assert many.inner_actions["mac"] == 4096


@QUICK
@given(runs(), st.integers(1, 64), st.integers(1, 128), st.integers(1, 128))
def test_depthwise_macs(run: Run, channels: int, height: int, width: int) -> None:
    """Law 18: MACs = C OH OW 9, the channels being a batch of products of a 3x3 filter."""
    fold = fold_of(run, DEPTHWISE, {"c": channels, "p": height, "q": width, "r": 3, "s": 3})
    assert fold.inner_actions["mac"] == channels * height * width * 9


@QUICK
@given(st.integers(1, 70), st.integers(1, 70), st.booleans(), st.booleans(), st.integers(1, 20000))
def test_depthwise_utilisation(rows: int, cols: int, double_buffer: bool, overlap: bool, outputs: int) -> None:
    """Law 18: weight-stationary, a 3x3 filter holds at most 9 of R x C PEs: utilisation <= 9 / (R C)."""
    array = ArrayShape(rows, cols, Fraction(1), double_buffer, overlap)
    extents = {"c": 8, "p": outputs, "q": 1, "r": 3, "s": 3}
    fold = fold_of(Run("weight_stationary", array, False), DEPTHWISE, extents)
    utilisation = fold.inner_actions["mac"] / (fold.cycles * array.macs_per_cycle)
    assert utilisation <= Fraction(9, rows * cols)


@QUICK
@given(runs(), EXTENTS, st.sampled_from("gpqocrs"), st.data())
def test_law_38_parts_take_and_stream_no_less(run: Run, extents: Extents, dim: str, data: st.DataObject) -> None:
    """Law 38: two commands for parts of a dim take and stream at least what one command for all of it does."""
    cut = data.draw(st.integers(0, extents[dim]))
    sizes = [size for size in (cut, extents[dim] - cut) if size]
    whole = fold_of(run._replace(accumulate=False), NEST, extents)
    parts = [
        fold_of(run._replace(accumulate=dim in NEST.k and at > 0), NEST, {**extents, dim: size})
        for at, size in enumerate(sizes)
    ]
    assert whole.cycles <= sum(part.cycles for part in parts)
    for stream, found in whole.streams.items():
        assert found.accesses <= sum(part.streams[stream].accesses for part in parts), stream


@QUICK
@given(windows(), EXTENTS)
def test_distinct_inputs_are_those_that_points_read(found: tuple[Window, ...], extents: Extents) -> None:
    """A window's distinct positions are the set of output x stride + tap x dilation; a nest's inputs their product."""
    expected = 1
    for window in found:
        outputs, taps = range(extents[window.output]), range(extents[window.tap])
        positions = {i * window.stride + j * window.dilation for i in outputs for j in taps}
        assert window.distinct(len(outputs), len(taps)) == len(positions)
        expected *= len(positions)
    slid = {dim for window in found for dim in (window.output, window.tap)}
    for dim in "gpqcrs":
        expected *= 1 if dim in slid else extents[dim]
    assert replace(NEST, windows=found).inputs(extents) == expected
