"""Imported designs and layers as the LoopTree models take them, to compare with what other tools recorded."""

from __future__ import annotations

from math import inf
from pathlib import Path

from archsim.frontend.foreign.design import ForeignDesign, ForeignFanout, ForeignMemory
from archsim.frontend.foreign.load import ImportedFiles, bring
from archsim.frontend.foreign.section import SourceQuantity
from archsim.frontend.foreign.work import ForeignLayer
from archsim.spec.architecture import Architecture
from archsim.spec.load import loads
from mapper.looptree.einsum import Einsum, Operand
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory

FOLDER = Path(__file__).resolve().parents[2] / "studies" / "validation" / "import"
SETS = {
    "accelforge": (("simple2.arch.yaml", "gemm64.workload.yaml"), ("npu.arch.yaml", "chain.workload.yaml")),
    "timeloop": (
        ("eyeriss_v4.arch.yaml", "eyeriss_v4.ert.yaml", "gemm.prob.yaml"),
        ("pe_array_v3.arch.yaml", "conv_v3.prob.yaml"),
    ),
    "zigzag": (("tpu_like.yaml", "resnet_head.yaml"), ("gemm_l1.yaml", "gemm.yaml")),
    "scalesim": (("small_os.cfg", "topology.csv"), ("sparse_ws.cfg",), ("array128.cfg", "alexnet.csv")),
}
CASES = [(tool, files) for tool, sets in SETS.items() for files in sets]
IDS = [f"{tool}-{files[0].partition('.')[0]}" for tool, files in CASES]


def brought(tool: str, files: tuple[str, ...]) -> ImportedFiles:
    """Files of ``studies/validation/import``, imported together."""
    return bring([FOLDER / tool / name for name in files])


def number(quantity: SourceQuantity | None, default: float = 0.0) -> float:
    """A quantity, or what it is where nothing is stated."""
    return default if quantity is None else float(quantity.value)


def hierarchy(design: ForeignDesign, operands: dict[str, str], clock_hz: float) -> Hierarchy:
    """Memories and fan-outs of a design; ``operands``: role -> operand. Actions are of one bit."""
    parts: list[Memory | Axis] = []
    for level in design.levels:
        if isinstance(level, ForeignFanout):
            parts.append(Axis(level.name, int(level.size.value), frozenset(operands.values())))
        else:
            parts.append(_memory(level, operands, clock_hz))
    action = Action(number(design.units.pj) * 1e-12, number(design.units.rate, 1.0) * clock_hz, 0.0)
    return Hierarchy(design.name, tuple(parts), Compute(design.units.name, action))


def _memory(store: ForeignMemory, operands: dict[str, str], clock_hz: float) -> Memory:
    bits = number(store.access_bits)
    rates = {READ: number(store.read_bits, inf) * clock_hz, WRITE: number(store.write_bits, inf) * clock_hz}
    prices = {READ: number(store.read_pj) * 1e-12 / bits, WRITE: number(store.write_pj) * 1e-12 / bits}
    kept = frozenset(operands[role] for role in store.roles)
    size = None if store.bits is None or store.offchip else float(store.bits.value)
    widths = {operands[role]: width for role, width in store.value_bits.items() if role == "outputs"}
    actions = {way: Action(prices[way], rates[way]) for way in (READ, WRITE)}
    return Memory(store.name, size, kept, frozenset(), actions, "sum" if store.shared else "max", bits=widths)


def einsum(task: ForeignLayer, operands: dict[str, str], bits: dict[str, int]) -> Einsum:
    """A layer with dims in lower case; ``operands``, ``bits``: by role."""
    found = [
        Operand(
            operands[access.role],
            tuple(tuple((dim.lower(), step) for dim, step in terms) for terms in access.coordinates),
            access.role == "outputs",
            bits[access.role],
        )
        for access in (*task.operands, task.result)
    ]
    return Einsum(task.name, {dim.lower(): extent for dim, extent in task.extents.items()}, tuple(found))


def chip(found: ImportedFiles) -> Architecture:
    """The chip that is written."""
    text = next(text for text in found.files.values() if "archsim.chip/1" in text)
    return loads(text)
