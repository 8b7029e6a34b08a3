"""The dot-product array against its loop nest, walked step by step."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest

NEST = Nest(batch=("g",), m=("p", "q"), n=("o",), k=("c", "r", "s"))
LARGEST = {"g": 2, "p": 3, "q": 2, "o": 5, "c": 9, "r": 2, "s": 3}
EXTENTS = st.fixed_dictionaries({dim: st.integers(1, most) for dim, most in LARGEST.items()})
RATES = [Fraction(1), Fraction(1, 2), Fraction(2), Fraction(3, 2)]
SHAPES = st.builds(ArrayShape, st.integers(1, 4), st.integers(1, 4), st.sampled_from(RATES))


def walk(extents: dict[str, int], array: ArrayShape, accumulate: bool) -> Counter[str]:
    """Cycles and counts of: for batch, r, s, block of c, block of o: load weights; for p, q: one step."""
    counts: Counter[str] = Counter()
    sums = set()
    blocks = product(
        *(range(extents[dim]) for dim in "grs"),
        range(0, extents["c"], array.rows * array.pack),
        range(0, extents["o"], array.cols),
    )
    for g, _, _, c, o in blocks:
        lanes = min(array.rows * array.pack, extents["c"] - c)
        columns = range(o, min(o + array.cols, extents["o"]))
        counts.update({"b": lanes * len(columns), "register_write.b": lanes * len(columns)})
        steps = extents["p"] * extents["q"]
        counts["cycles"] += ceil(steps * array.pack / array.rate)
        for place in product(range(steps), columns):
            old = (g, *place) in sums or accumulate
            sums.add((g, *place))
            counts.update({"acc_read": int(old), "acc_write": 1, "mac": lanes, "wire.acc": 1 + old})
        counts["a"] += steps * lanes
    return counts


@settings(max_examples=60, deadline=None, derandomize=True)
@given(EXTENTS, SHAPES, st.booleans())
def test_equals_the_walk(extents: dict[str, int], array: ArrayShape, accumulate: bool) -> None:
    """Cycles, edge streams and inner actions; nothing fills or drains."""
    fold = catalogue.get("dot_product").fold(NEST, extents, array, accumulate=accumulate)
    counts = walk(extents, array, accumulate)
    assert (fold.cycles_fill, fold.cycles_stream, fold.cycles_drain) == (0, counts["cycles"], 0)
    assert {name: stream.accesses for name, stream in fold.streams.items()} == {
        name: counts[name] for name in ("a", "b", "acc_read", "acc_write")
    }
    per_mac = ("register_read.a", "register_write.a", "wire.a", "register_read.b")
    assert fold.inner_actions == dict.fromkeys(per_mac, counts["mac"]) | {
        "mac": counts["mac"],
        "register_write.b": counts["register_write.b"],
        "wire.b": counts["register_write.b"],
        "register_read.acc": 0,
        "register_write.acc": 0,
        "wire.acc": counts["wire.acc"],
    }


def test_nvdla_large_layer() -> None:
    """2048 MACs as 128 lanes x 16 cells at rate 1: a 64-channel 3x3 layer fills half the lanes."""
    extents = {"g": 1, "p": 56, "q": 56, "o": 64, "c": 64, "r": 3, "s": 3}
    fold = catalogue.get("dot_product").fold(NEST, extents, ArrayShape(128, 16), accumulate=False)
    assert fold.cycles == 9 * 4 * 56 * 56
    assert fold.inner_actions["mac"] * 2 == fold.cycles * 2048
