"""ZigZag's best mappings beside ours on the same memories: prints the tables of studies/validation/mapping/zigzag.md.

    python studies/validation/mapping_zigzag.py > studies/validation/mapping/zigzag.md

Every mapping is priced by one cost model (convention zigzag), so that a ratio tells mappings apart, not models; what
the models count differently is in a table of its own, by operand and memory. Takes about ten CPU minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from archsim.lab.validate.suite import default_reference
from mapper.looptree.conventions import ZIGZAG
from mapper.looptree.search.found import Budget
from mapper.looptree.search.objective import OBJECTIVES
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Space
from tests.oracles.zigzag.compare import ANY_DIMS, PricedMapping, best, better_of, price
from tests.oracles.zigzag.files import ZigzagAccelerator, ZigzagBest, ZigzagLayer, einsum_of, read

FILES = ("gemm__gemm_l1", "bert_base_block_s128__meta_prototype", "resnet18__tpu_like")
SECONDS = 2.0  # CPU time of a search, of which there is one for each memory that may hold partial sums
SAME = 1e-3
DEPTHWISE: Mapping[str, Any] = {  # MobileNetV2, second bottleneck (Sandler et al., CVPR 2018, table 2: 24 x 6 channels)
    "name": "MobileNetV2 depthwise 3x3",
    "equation": "O[b][g][oy][ox] = W[g][fy][fx] * I[b][g][iy][ix]",
    "dimension_relations": ["IX = 1*OX + 1*FX", "IY = 1*OY + 1*FY"],
    "loop_dims": {"B": 1, "G": 144, "OX": 56, "OY": 56, "FX": 3, "FY": 3},
    "operand_precision_bits": {"W": 8, "I": 8, "O": 16, "O_final": 8},
}

Levels = dict[tuple[str, str], list[float]]


def main() -> None:
    """Print the page."""
    print(HEAD)
    for name in FILES:
        accelerator, layers = read(default_reference("mapping") / "zigzag" / f"{name}.json")
        levels: Levels = {}
        print(f"\n## {name}\n\n{COLUMNS}")
        for layer, count in distinct(layers):
            print(*_rows(accelerator, layer, count, levels), sep="\n", flush=True)
        print("\n" + "\n".join(_differences(accelerator, levels)), flush=True)
    print(f"\n## A depthwise layer on meta_prototype\n\n{depthwise_row()}")


def distinct(layers: list[ZigzagLayer]) -> Iterator[tuple[ZigzagLayer, int]]:
    """Layers that differ in shape, and how many there are of each."""
    keys = [(layer.einsum.operands, tuple(layer.einsum.extents.items())) for layer in layers]
    for at, layer in enumerate(layers):
        if keys[at] not in keys[:at]:
            yield layer, keys.count(keys[at])


def depthwise() -> ZigzagLayer:
    """A layer of which ZigZag recorded nothing."""
    bits = DEPTHWISE["operand_precision_bits"]
    return ZigzagLayer(DEPTHWISE["name"], einsum_of(DEPTHWISE), {}, {}, 0.0, bits["O"], bits["O_final"])


def depthwise_row() -> str:
    """Energy, cycles and utilization of the depthwise layer, nodes in the order of the memories."""
    accelerator, _ = read(default_reference("mapping") / "zigzag" / f"{FILES[1]}.json")
    lines = ["| objective | energy, uJ | latency, cycles | MACs used, % |", "|---|---|---|---|"]
    layer = depthwise()
    hierarchy = accelerator.hierarchy(dict.fromkeys(accelerator.holding("O"), layer.partial_bits))
    space = Space(layer.einsum, hierarchy, ZIGZAG, in_order=True)
    for objective in ("latency", "edp"):
        found = price(accelerator, layer, search(space, OBJECTIVES[objective], Budget(SECONDS)).nest)
        figures = f"{found.energy_pj / 1e6:.3f} | {found.cycles:,.0f} | {100 * found.utilization:.1f}"
        lines.append(f"| {objective} | {figures} |")
    return "\n".join([*lines, "", DEPTHWISE_WHY])


def _rows(accelerator: ZigzagAccelerator, layer: ZigzagLayer, count: int, levels: Levels) -> Iterator[str]:
    for objective, recorded in layer.best.items():
        theirs = price(accelerator, layer, recorded.nest)
        _add(levels, recorded, theirs, count)
        same = best(accelerator, layer, objective, layer.axis_dims, SECONDS)
        free = _any_dims(accelerator, layer, objective, same) if objective == "edp" else None
        yield " | ".join(
            (
                f"| {layer.name} x {count}",
                objective,
                f"{recorded.energy_pj / 1e6:.3f}",
                f"{recorded.latency_cycles:,.0f}",
                f"{100 * theirs.utilization:.1f}",
                f"{theirs.energy_pj / recorded.energy_pj:.3f}, {theirs.cycles / recorded.latency_cycles:.3f}",
                *(_against(theirs, ours) if ours else "" for ours in (same, free)),
                "",
            )
        ).rstrip()


def _any_dims(accelerator: ZigzagAccelerator, layer: ZigzagLayer, objective: str, same: PricedMapping) -> PricedMapping:
    """Of the larger space; a search of it that is stopped may miss what lies in the smaller one."""
    free = best(accelerator, layer, objective, ANY_DIMS, SECONDS)
    return replace(better_of(objective, free, same), stopped=free.stopped)


def _against(theirs: PricedMapping, ours: PricedMapping) -> str:
    ratios = ours.energy_pj / theirs.energy_pj, ours.cycles / theirs.cycles
    return f"{ratios[0]:.3f}, {ratios[1]:.3f}, {100 * ours.utilization:.1f}{' *' if ours.stopped else ''}"


def _add(levels: Levels, recorded: ZigzagBest, theirs: PricedMapping, count: int) -> None:
    for key, pj in recorded.level_pj.items():
        both = levels.setdefault(key, [0.0, 0.0])
        both[0] += pj * count
        both[1] += theirs.level_pj.get(key, 0.0) * count


def _differences(accelerator: ZigzagAccelerator, levels: Levels) -> Iterator[str]:
    yield "| operand, memory | ZigZag, uJ | ours, uJ | ours / ZigZag | why |"
    yield "|---|---|---|---|---|"
    for (operand, memory), (recorded, ours) in levels.items():
        ratio = ours / recorded
        why = cause(accelerator, operand, memory) if abs(ratio - 1) > SAME else "equal"
        yield f"| {operand}, {memory} | {recorded / 1e6:.3f} | {ours / 1e6:.3f} | {ratio:.4f} | {why} |"


def cause(accelerator: ZigzagAccelerator, operand: str, memory: str) -> str:
    """Why energy differs at an operand's level."""
    inner = accelerator.memory_of(operand, accelerator.holding(operand)[0])
    if operand == "O":
        return FIRST if memory == inner else FINAL
    if memory == inner and not accelerator.outermost_holds_all:
        return FILLED
    return NARROW if memory == inner else PADDED


FIRST = "the first partial sum of an accumulator is not read"
FINAL = "the first partial sum is not read; finished values leave at the width of partial sums"
FILLED = "the data are written into the outermost memory before"
NARROW = "an access of less than a port's least width (64 bits) counts as what it takes; padding is written"
PADDED = "the window's padding is read"
DEPTHWISE_WHY = """Every multiply-accumulate of a depthwise layer takes another input, and the port of `sram_32KB`
gives 256 bits a cycle: 32 inputs for 1024 MACs, 3.1 %, is the most that these memories allow. (Windows that overlap are
not shared between PEs.)"""
COLUMNS = (
    "| layer x times | objective | ZigZag: energy, uJ | ZigZag: latency, cycles | MACs used, % "
    "| here / recorded: energy, cycles | its fan-outs: energy ratio, cycles ratio, MACs used % "
    "| any dims: energy ratio, cycles ratio, MACs used % |\n|---|---|---|---|---|---|---|---|"
)
HEAD = f"""# ZigZag's best mappings and ours on the same memories

Written by `python studies/validation/mapping_zigzag.py > studies/validation/mapping/zigzag.md`. Data: `zigzag/`, ZigZag
3.9.1 (best of its search by energy, latency and EDP; its README says what the files hold).

Its accelerators are read as chains of memories and fan-outs (archsim/lab/validate/zigzag_files.py), its mappings as
LoopTrees, and both its mappings and ours are priced by one model (convention `zigzag`: single slots, exact reuse).

- `ZigZag`: as recorded; `MACs used`: of its mapping, in our model, on average over all cycles;
- `here / recorded`: its mapping in our model over what ZigZag recorded (1: the models agree);
- `its fan-outs`: the best that our search finds with the same dims on the fan-outs, over ZigZag's mapping, both in our
  model (below 1: a better mapping);
- `any dims`: the same with every dim on every fan-out, which ZigZag's input fixes; objective EDP alone;
- `*`: a search used up its {SECONDS:g} s of CPU time (there is one for each memory in which the output may change from
  partial to final width), and better mappings may be left. Under `any dims` it may have found nothing better than
  `its fan-outs`, of which every mapping is one of its own: the better of the two is shown.

What the models count differently, in latency:
- ZigZag adds the first load, the last store and the wave through a systolic array to the steady state; ours overlaps
  them with it: `here / recorded` below 1;
- ZigZag stalls where a single slot is refilled; ours lets all memories work at once, as with a second slot: below 1;
- a port that operands share takes the sum of their words here, of ZigZag's first loads the longest counts: above 1
  where the outermost memory is the slowest part (the 1x1 layers with stride 2, the fully connected one).

In energy: by operand and memory below each table, summed over its layers and objectives."""

if __name__ == "__main__":
    main()
