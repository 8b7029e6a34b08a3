"""Small random search problems for comparing searches: two to four levels, fan-outs, every option of a space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from mapper.looptree.conventions import ACCELFORGE, ARCHSIM, TIMELOOP
from mapper.looptree.einsum import Einsum, convolution, gemm
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.search.objective import EDP, ENERGY, LATENCY, Objective, weighted
from mapper.looptree.search.space import Factors, Space

ALL = frozenset("IWO")
FACTORS: tuple[Factors, ...] = ("divisors", "spatial", "any")


def cases(seed: int, count: int) -> Iterator[tuple[Space, Objective]]:
    """``count`` problems; the outermost memory keeps everything, the others what they must or may."""
    generator = Random(seed)
    for _ in range(count):
        inner = generator.choice((1, 1, 2, 3))
        einsum = _einsum(generator, inner)
        convention = replace(generator.choice((ARCHSIM, ACCELFORGE, TIMELOOP)), slots=generator.choice((1, 2)))
        factors, in_order = generator.choice(FACTORS), generator.random() < 0.5
        space = Space(einsum, _hierarchy(generator, einsum, inner), convention, factors, in_order or inner == 3)
        yield space, generator.choice((LATENCY, ENERGY, EDP, weighted(1, 2)))


def _einsum(generator: Random, inner: int) -> Einsum:
    if inner == 1 and generator.random() < 0.5:
        extents = {dim: generator.choice((1, 2)) for dim in "nmc"} | {dim: generator.choice((1, 2, 3)) for dim in "pr"}
        return convolution(extents | {"q": 1, "s": generator.choice((1, 2))}, generator.choice((1, 2)))
    most = {1: 6, 2: 3, 3: 2}[inner]
    return gemm(*(generator.randint(1, most) for _ in range(3)))


def _hierarchy(generator: Random, einsum: Einsum, inner: int) -> Hierarchy:
    parts: list[Memory | Axis] = [Memory("M0", None, ALL, frozenset(), _actions(generator, 40.0))]
    axes = 0
    for level in range(1, inner + 1):
        found = _axes(generator, axes)
        axes += len(found)
        parts += [*found, _memory(generator, einsum, level)]
    parts += _axes(generator, axes)
    return Hierarchy("random", tuple(parts), Compute("MAC", Action(1.0, 4.0, 0), None, generator.choice((0.0, 1.0))))


def _axes(generator: Random, before: int) -> list[Axis]:
    count = min(generator.choice((0, 0, 1, 2)), 2 - before)
    found = []
    for number in range(before, before + count):
        may = frozenset(name for name in "IWO" if generator.random() < 0.6)
        must = frozenset(name for name in sorted(may) if generator.random() < 0.2)
        found.append(Axis(f"axis{number}", generator.choice((2, 3, 4)), may, must, generator.random() < 0.3))
    return found


def _memory(generator: Random, einsum: Einsum, level: int) -> Memory:
    bits = {"O": 16} if generator.random() < 0.5 else {}
    keep = frozenset(name for name in "IWO" if generator.random() < 0.4)
    may = frozenset(name for name in "IWO" if name not in keep and generator.random() < (0.7 if level == 1 else 0.3))
    whole = sum(8 * max(2, einsum.macs // max(einsum.extents.values())) for _ in keep | may)
    size = generator.choice((None, generator.randint(64, max(64, whole))))
    rule, rate = generator.choice(("sum", "max")), generator.choice((None, None, 2.0))
    return Memory(
        f"M{level}", size, keep, may, _actions(generator, 8.0 / level), rule, rate, generator.choice((0.0, 0.5)), bits
    )


def _actions(generator: Random, energy: float) -> dict[str, Action]:
    bits = generator.choice((0, 1, 8, 16))
    return {
        name: Action(energy * generator.uniform(0.5, 1.5), generator.uniform(0.5, 16), bits) for name in (READ, WRITE)
    }


def window_cases(seed: int, count: int) -> Iterator[tuple[Space, Objective]]:
    """``count`` problems of windows on two inner memories, where tiles stay as long as nothing changes them."""
    generator = Random(seed)
    for _ in range(count):
        extents = {dim: generator.choice((1, 2)) for dim in "mc"} | dict.fromkeys("nqs", 1)
        extents |= {dim: generator.choice((2, 3)) for dim in "pr"}
        if extents["m"] == extents["c"] == 2:
            extents[generator.choice("mc")] = 1
        einsum = convolution(extents, generator.choice((1, 1, 2)))
        hierarchy = _hierarchy(generator, einsum, 2)
        factors, in_order = generator.choice(("divisors", "divisors", "spatial")), generator.random() < 0.7
        space = Space(einsum, hierarchy, replace(ARCHSIM, slots=1), factors, in_order)
        yield space, generator.choice((LATENCY, ENERGY, EDP, weighted(1, 2)))
