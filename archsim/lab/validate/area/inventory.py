"""What is on a die in mm2, made of the same structures as chips.

MACs of several formats share one array, of which the dearest counts, and their PEs hold three operands and the sum;
those to which SIMT sub-cores issue stand in trees of products. Lanes are there for each format.
"""

from __future__ import annotations

from collections.abc import Iterator

from archsim.energy.structures import DieArea, load_structures
from archsim.energy.technology import load_technology
from archsim.lab.validate.area.dies import STRUCTURE, Die
from archsim.spec.part import FILL, SEQUENCERS

MACS, LANES, FLIP_FLOPS, SCALAR_CORES, SUBCORES = "MACs", "lanes", "flip-flops", "scalar cores", "SIMT sub-cores"
LOGIC = (MACS, LANES, FLIP_FLOPS, SCALAR_CORES, SUBCORES, SEQUENCERS)
_OPERANDS = 3  # of a PE: an input, a weight, and the next weight
_SUMS = {"fp64": "fp64"}
_BITS = {"fp64": 64, "fp32": 32, "int32": 32, "fp16": 16, "bf16": 16, "int16": 16, "int4": 4}


def parts(die: Die) -> dict[str, float]:
    """Part -> mm2 without fill; raises ConfigError for a node, format or interface that no table has."""
    made = DieArea(load_technology(f"{die.node_nm:g}nm"), load_structures())
    found = dict(_memories(die, made))
    found |= {name: made.logic(gates) for name, gates in _gates(die, made).items() if gates}
    table = made.structures
    if die.dram is not None:
        found[f"DRAM interface {die.dram.kind}"] = made.interface(table.memory(die.dram.kind), die.dram.units)
    for link in die.links:
        name = f"link {link.kind}"
        found[name] = found.get(name, 0.0) + made.interface(table.link(link.kind), link.lanes)
    return found


def logic(areas: dict[str, float]) -> float:
    """mm2 of the logic of cores and control."""
    return sum(areas.get(name, 0.0) for name in LOGIC)


def filled(areas: dict[str, float], factor: float) -> dict[str, float]:
    """The same with the fill of a class."""
    return areas if factor == 1 else areas | {FILL: (factor - 1) * logic(areas)}


def _memories(die: Die, made: DieArea) -> Iterator[tuple[str, float]]:
    for number, memory in enumerate(die.sram, 1):
        structure = STRUCTURE[memory.kind]
        name = f"memory {number} ({structure.replace('_', ' ')})"
        yield name, made.sram(memory.kib, memory.macro_kib, memory.ports_factor, structure)


def _gates(die: Die, made: DieArea) -> dict[str, float]:
    table, simt = made.structures, die.simt_subcores > 0
    macs = max((count * _mac(dtype, made, simt=simt) for dtype, count in die.macs.items()), default=0.0)
    bits = 0 if simt else _OPERANDS
    lanes = sum(count * made.lane_gates(dtype, bits * width(dtype)) for dtype, count in die.lanes.items())
    return {
        MACS: macs,
        LANES: lanes,
        FLIP_FLOPS: die.flip_flops_kib * 1024 * 8 * table.flip_flop_gates.value,
        SCALAR_CORES: die.scalar_cores * table.scalar_core_gates.value,
        SUBCORES: die.simt_subcores * made.subcore_gates(die.simt_lanes),
        SEQUENCERS: 0.0 if simt else table.fixed_function_share.value * (macs + lanes),
    }


def _mac(dtype: str, made: DieArea, *, simt: bool) -> float:
    sums = "int32" if "int" in dtype else _SUMS.get(dtype, "fp32")
    bits = made.structures.tree_register_bits.value if simt else _OPERANDS * width(dtype) + width(sums)
    return made.mac_gates((dtype, dtype), sums, bits)


def width(dtype: str) -> int:
    """Bits of a number format of a die; 8 of those that are not told apart."""
    return _BITS.get(dtype, 8)
