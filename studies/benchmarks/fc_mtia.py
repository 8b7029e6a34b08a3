"""Fully connected layers on mtia_v2i against the published figures: every cycle above the ideal, cause by cause.

python studies/benchmarks/fc_mtia.py [LAYER[:DTYPE] ...]

Published (ISCA'25): FC 2048 x 2048 x 2048 with operands in the shared SRAM at more than 92 % of the peak; FC 512 x
26592 x 2048 with weights from LPDDR5 at more than 95 % of its bandwidth. The Program is compiled once for the chip as
it is described and simulated again and again, flit by flit and command by command, each time on a chip that differs
in one thing more (``LADDERS``): what the cycles fall by is the share of that cause. What is left above the ideal has
no parameter of the chip: launch, first tiles on their way in, last tiles on their way through arrays and out.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from archsim.ir.result import Result
from archsim.lab.run.job import BuiltJob, Job, build
from archsim.spec import load

CHIP = "mtia_v2i"
Values = Mapping[str, object]


class Row(NamedTuple):
    """A line of the table: ``cycles`` with this cause gone too, what it ``cost``, and the ``share`` of the ideal."""

    cause: str
    cycles: int
    cost: int
    share: float


@dataclass(frozen=True)
class Layer:
    """``text`` of a workload with a layer ``fc``; ``streamed``: bound by DRAM's pins, else by the arrays' peak."""

    text: str
    streamed: bool


def in_sram(m: int, n: int, k: int) -> Layer:
    """A product of what two layers before it have left in the shared SRAM, read there by the next one."""
    text = f"""schema: archsim.workload/1
name: fc_in_sram
inputs: {{x: [{m}, {k}], y: [{n}, {k}]}}
layers:
  - act: {{name: a, function: relu, input: x}}
  - act: {{name: b, function: relu, input: y}}
  - einsum: "m k, n k -> m n"
    name: fc
    inputs: [a, b]
  - layernorm: {{name: after, input: fc}}
outputs: [after]
"""
    return Layer(text, streamed=False)


def streamed(m: int, n: int, k: int) -> Layer:
    """Weights, and here inputs too, from LPDDR5."""
    text = f"""schema: archsim.workload/1
name: fc_streamed
inputs: {{a: [{m}, {k}]}}
layers:
  - dense: {{name: fc, input: a, out: {n}}}
outputs: [fc]
"""
    return Layer(text, streamed=True)


LAYERS = {"in_sram": in_sram(2048, 2048, 2048), "streamed": streamed(512, 2048, 26592)}
ASKED = ("in_sram:int8", "in_sram:fp16", "streamed:int8", "streamed:fp16")
LADDERS: Mapping[bool, Sequence[tuple[str, Values]]] = {
    False: (
        ("as described", {}),
        ("buffers of 8 flits: 64", {"mesh.buffer": 64}),
        ("other limits of routers: links reserved by packets", {"mesh.fidelity": "link"}),
        ("links of 128 B: 512 B", {"mesh.link": "512 B", "mesh.packet": "1024 B"}),
    ),
    True: (
        ("as described", {}),
        ("refreshes: none", {"lpddr.refresh": "none"}),
        ("streams close one another's rows: turns of 4096 bursts", {"lpddr.turn": 4096}),
        ("banks hashed with rows: plain", {"lpddr.address_map": "RoRaBaCoBg"}),
        ("flits: links reserved by packets", {"mesh.fidelity": "link"}),
    ),
}


def ladder(layer: Layer, dtype: str) -> Iterator[Row]:
    """The chip as described, then with one cause less each time."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "fc.yaml"
        model.write_text(layer.text)
        job = Job(model, CHIP, dtype=dtype)
        built = build(job)
    values: dict[str, object] = {}
    before = 0
    for cause, more in LADDERS[layer.streamed]:
        values |= more
        result = simulated(built, values)
        cycles, ideal = span(layer, result), ideal_cycles(layer, result, dtype, built)
        yield Row(cause, cycles, before - cycles if before else 0, ideal / cycles)
        before = cycles
    yield Row("launch, first and last tiles: the ideal", round(ideal), before - round(ideal), 1.0)


def simulated(built: BuiltJob, values: Values) -> Result:
    """The Program on the chip with ``values``; it was made for the chip without them."""
    from archsim.lab.run.account import assemble
    from archsim.system import simulate

    chip = load.load(CHIP, dict(values))
    activity = simulate(built.program, chip)
    return assemble(built.workload, chip, activity, built.mapping, options={}, seed=0)


def span(layer: Layer, result: Result) -> int:
    """Cycles of the run where DRAM bounds it, else of the layer alone, from when its operands are there."""
    if layer.streamed:
        return result.cycles_total
    rows = {row.name: row for row in result.layers}
    return rows["fc"].cycles_end - max(rows["a"].cycles_end, rows["b"].cycles_end)


def ideal_cycles(layer: Layer, result: Result, dtype: str, built: BuiltJob) -> float:
    """Of the bytes moved at the rate of the pins, or of the MACs at the peak of the dtype."""
    chip = built.architecture
    if layer.streamed:
        moved = sum(row.dram_read_bytes + row.dram_write_bytes for row in result.layers)
        return moved * chip.clock_hz / result.dram["peak_bytes_per_s"]
    macs = next(row.macs for row in result.layers if row.name == "fc")
    return macs / float(sum(array.rows * array.cols * array.copies * array.rate(dtype, dtype) for array in chip.arrays))


def main() -> None:
    """Print a table for each layer asked for."""
    for asked in sys.argv[1:] or ASKED:
        name, _, dtype = asked.partition(":")
        print(f"{name} {dtype or 'int8'}: cycles as causes go one after another, what each cost, share of the ideal")
        for row in ladder(LAYERS[name], dtype or "int8"):
            print(f"  {row.cause:56} {row.cycles:10,} {row.cost:9,} {100 * row.share:6.1f} %", flush=True)


if __name__ == "__main__":
    main()
