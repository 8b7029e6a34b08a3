"""How evenly spread layers use the ports of a shared memory: beside the machine's own cut of a move in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest

from archsim.frontend.load import load_model
from archsim.ir.footprint import Footprint, runs_of
from archsim.memory.parts import cut
from archsim.spec.load import load
from mapper import cores
from mapper.layers import Layers
from mapper.operands import OperandPlan
from mapper.options import Options, resolve_dtypes
from mapper.port_shares import busiest_share
from mapper.problem import Problem

HEAD = "schema: archsim.workload/1\nname: t\nlayers:\n"
PRODUCT = HEAD + "  - gemm: {{name: g, m: {m}, n: {n}, k: {k}}}\n"
SUM = HEAD.replace("layers", "inputs: {{x: [{m}, {n}], y: [{m}, {n}]}}\nlayers") + "  - add: {{inputs: [x, y]}}\n"
MESSAGE, PORTS = 4096, 16  # of mtia_v2i


def problem(path: Path, text: str) -> tuple[Layers, Problem]:
    """The one layer of a workload on mtia_v2i, whole."""
    (path / "w.yaml").write_text(text)
    chip = load("mtia_v2i")
    layers = Layers(load_model(path / "w.yaml"), chip, resolve_dtypes(chip, {}), Options())
    engine = "array" if "gemm" in text else "vector"
    return layers, layers.problem(0, layers.residency(frozenset()), engine)


def spread(whole: Problem, tiles: Mapping[str, int]) -> Problem:
    chip = load("mtia_v2i")
    return whole.of_core(cores.spread_of(whole, chip, tuple(tiles.items())))


def footprints(part: Problem, plan: OperandPlan) -> Iterator[Footprint]:
    """What each core moves of a two-dimensional operand; cores that share a tile move it once."""
    assert part.spread is not None
    dims = [axis.terms[0][0] for axis in plan.axes]
    tiles, seen = dict(part.spread.loops), set()
    for place in product(*(range(count) for count in part.spread.parts)):
        at = dict(zip(tiles, place, strict=True))
        starts = [at.get(dim, 0) * tiles.get(dim, 0) for dim in dims]
        offset = sum(start * stride for start, stride in zip(starts, plan.strides, strict=True))
        if offset in seen:
            continue
        seen.add(offset)
        size = plan.element_bytes
        axes = [(part.dims[dim], stride * size) for dim, stride in zip(dims, plan.strides, strict=True)]
        yield runs_of(offset * size, size, axes)


def counted(part: Problem, plan: OperandPlan) -> float:
    """The busiest port's share of the messages, one by one."""
    ports = Counter(
        (found.offset + message.offset) // MESSAGE % PORTS
        for found in footprints(part, plan)
        for message in cut(found, MESSAGE)
    )
    return max(ports.values()) / ports.total()


@pytest.mark.parametrize("tiles", [{"m": 64}, {"n": 64}, {"m": 128, "n": 128}, {"m": 8, "n": 256}, {"m": 512, "n": 8}])
@pytest.mark.parametrize(("m", "n", "k"), [(512, 512, 64), (512, 768, 512), (512, 3072, 96), (1024, 512, 8192)])
def test_shares_of_a_product_are_those_of_its_messages(
    tmp_path: Path, tiles: dict[str, int], m: int, n: int, k: int
) -> None:
    _, whole = problem(tmp_path, PRODUCT.format(m=m, n=n, k=k))
    part = spread(whole, tiles)
    for name in ("a", "b", "out"):
        plan = part.operand(name)
        assert busiest_share(part, plan, MESSAGE, PORTS) == pytest.approx(counted(part, plan)), name


def test_parts_that_step_by_all_ports_lie_behind_one(tmp_path: Path) -> None:
    """128 rows of 512 bytes are 16 messages: tiles of 8 x 512 lie behind all ports, tiles of 128 x 8 behind one."""
    _, whole = problem(tmp_path, SUM.format(m=512, n=512))
    rows, columns = (dim for dim in whole.groups["M"])
    assert busiest_share(spread(whole, {rows: 8}), whole.operand("out"), MESSAGE, PORTS) == 1 / PORTS
    assert busiest_share(spread(whole, {rows: 128, columns: 32}), whole.operand("out"), MESSAGE, PORTS) == 1


def test_spreads_behind_few_ports_are_not_the_first(tmp_path: Path) -> None:
    """Of an addition whose parts may be cut either way: in rows, which lie behind all ports."""
    layers, whole = problem(tmp_path, SUM.format(m=512, n=768))
    rows, _ = (dim for dim in whole.groups["M"])
    first = cores.spreads(whole, layers.chip, layers.dtypes)[0]
    assert [dim for dim, _ in first.loops] == [rows]
    assert busiest_share(whole.of_core(first), whole.operand("out"), MESSAGE, PORTS) == 1 / PORTS
