"""The closed formulas of the systolic dataflows against the array of ``fixtures_wavefront``: every figure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest
from fixtures_wavefront import HeldMachine, Machine, SumMachine
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Fold, Nest

NEST = Nest(batch=("b",), m=("m",), n=("n",), k=("k",))
HELD = [("weight_stationary", "b", "a"), ("input_stationary", "a", "b")]
RATES = [Fraction(1), Fraction(1, 2), Fraction(2, 3), Fraction(2), Fraction(3, 2)]
Matrices = list[list[list[int]]]
Key = tuple[int, int, int]  # batch, output row, output column


@dataclass(frozen=True)
class Case:
    """Extents, array and numbers of one GEMM."""

    b: int
    m: int
    n: int
    k: int
    array: ArrayShape
    accumulate: bool

    def tensors(self) -> tuple[Matrices, Matrices, dict[Key, int]]:
        """A[b][m][k], B transposed [b][n][k], and the sums already there by (b, m, n)."""
        draw = random.Random(7)
        a = [[[draw.randint(1, 99) for _ in range(self.k)] for _ in range(self.m)] for _ in range(self.b)]
        w = [[[draw.randint(1, 99) for _ in range(self.k)] for _ in range(self.n)] for _ in range(self.b)]
        keys = [(b, m, n) for b in range(self.b) for m in range(self.m) for n in range(self.n)]
        return a, w, {key: draw.randint(1, 99) for key in keys} if self.accumulate else {}

    def product(self) -> dict[Key, int]:
        """What every machine must have in its accumulators at the end, by (b, m, n)."""
        a, w, old = self.tensors()
        keys = [(b, m, n) for b in range(self.b) for m in range(self.m) for n in range(self.n)]
        return {(b, m, n): old.get((b, m, n), 0) + dot(a[b][m], w[b][n]) for b, m, n in keys}

    def fold(self, dataflow: str) -> Fold:
        """The closed formulas."""
        extents = {"b": self.b, "m": self.m, "n": self.n, "k": self.k}
        return catalogue.get(dataflow).fold(NEST, extents, self.array, accumulate=self.accumulate)


def dot(left: list[int], right: list[int]) -> int:
    """Scalar product."""
    return sum(x * y for x, y in zip(left, right, strict=True))


def transposed(key: Key) -> Key:
    """Output column before output row."""
    return key[0], key[2], key[1]


def chunks(length: int, size: int) -> list[range]:
    """0..length-1 in runs of ``size``."""
    return [range(start, min(start + size, length)) for start in range(0, length, size)]


def held_machine(case: Case, inputs_held: bool) -> HeldMachine:
    """Folds: columns outside, reduction inside; partial ones in the bottom rows."""
    a, w, old = case.tensors()
    held, moving = (a, w) if inputs_held else (w, a)
    rows, pack = case.array.rows, case.array.pack
    machine = HeldMachine(case.array, loads=True, steps=len(moving[0]))
    machine.sums = {transposed(key) if inputs_held else key: value for key, value in old.items()}
    cuts = [(b, ns) for b in range(case.b) for ns in chunks(len(held[0]), case.array.cols)]
    for b, columns in cuts:
        for reduction in chunks(case.k, rows * pack):
            words = [reduction[j : j + pack] for j in range(0, len(reduction), pack)]
            at = list(enumerate(words, start=rows - len(words)))
            own = {(r, c): tuple(held[b][n][k] for k in ks) for r, ks in at for c, n in enumerate(columns)}
            machine.held.append(own)
            stream = enumerate(moving[b])
            machine.moving.append({(s, r): tuple(row[k] for k in ks) for s, row in stream for r, ks in at})
            machine.place.append((b, columns[0], reduction[0] == 0 and not case.accumulate))
    machine.jobs = len(machine.held)
    return machine


def sum_machine(case: Case) -> SumMachine:
    """Folds of output rows x columns, partial ones at the top left."""
    a, w, old = case.tensors()
    words = list(enumerate(chunks(case.k, case.array.pack)))
    machine = SumMachine(case.array, loads=False, steps=len(words), sums=old, accumulate=case.accumulate)
    cuts = [(b, ms) for b in range(case.b) for ms in chunks(case.m, case.array.rows)]
    for b, ms in cuts:
        for ns in chunks(case.n, case.array.cols):
            left = {(s, r): tuple(a[b][m][k] for k in ks) for s, ks in words for r, m in enumerate(ms)}
            top = {(s, c): tuple(w[b][n][k] for k in ks) for s, ks in words for c, n in enumerate(ns)}
            machine.left.append(left)
            machine.top.append(top)
            machine.place.append((b, ms[0], ns[0]))
    machine.jobs = len(machine.place)
    return machine


def cases(double_buffer: bool, overlap: bool) -> st.SearchStrategy[Case]:
    """Small GEMMs on small arrays, at rates below, at and above one MAC per cycle."""
    side, extent, rate = st.integers(1, 4), st.integers(1, 7), st.sampled_from(RATES)
    shape = st.builds(ArrayShape, side, side, rate, st.just(double_buffer), st.just(overlap))
    return st.builds(Case, st.integers(1, 2), extent, extent, st.integers(1, 9), shape, st.booleans())


def check(fold: Fold, machine: Machine, moves: dict[str, str]) -> None:
    """Cycles and every count; ``moves``: figure of the fold -> name in the model, where they differ."""
    assert machine.run() == fold.cycles
    got = {name: stream.accesses for name, stream in fold.streams.items()} | dict(fold.inner_actions)
    assert got == {name: machine.counts[moves.get(name, name)] for name in got}


@pytest.mark.parametrize("double_buffer", [False, True])
@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize(("dataflow", "held", "moving"), HELD)
def test_held_operand(dataflow: str, held: str, moving: str, double_buffer: bool, overlap: bool) -> None:
    """Weight- and input-stationary: cycles, sums and all counts under every option."""
    moves = {held: "held.edge", moving: "moving.edge", f"register_read.{held}": "held.read"}
    moves |= dict.fromkeys((f"register_write.{held}", f"wire.{held}"), "held.write")
    for operand, counted in ((moving, "moving.shift"), ("acc", "acc.shift")):
        moves |= {f"{kind}.{operand}": counted for kind in ("register_read", "register_write", "wire")}

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(cases(double_buffer, overlap))
    def agrees(case: Case) -> None:
        machine = held_machine(case, inputs_held=held == "a")
        check(case.fold(dataflow), machine, moves)
        sums = {transposed(key) if held == "a" else key: value for key, value in machine.sums.items()}
        assert sums == case.product()

    agrees()


@pytest.mark.parametrize("overlap", [False, True])
def test_held_sums(overlap: bool) -> None:
    """Output-stationary: cycles, sums and all counts under every option."""
    moves = {"a": "left.edge", "b": "top.edge"}
    moves |= {"register_read.acc": "acc.read", "register_write.acc": "acc.write", "wire.acc": "acc.hops"}
    moves |= {f"{kind}.{x}": "mac" for kind in ("register_read", "register_write", "wire") for x in "ab"}

    @settings(max_examples=50, deadline=None, derandomize=True)
    @given(cases(False, overlap))
    def agrees(case: Case) -> None:
        machine = sum_machine(case)
        check(case.fold("output_stationary"), machine, moves)
        assert machine.sums == case.product()

    agrees()
