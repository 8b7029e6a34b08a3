"""What is imported means what its tool computes: figures that others recorded come out of the imported files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import pytest

import archsim
from archsim.energy.chip import tables_for
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest
from archsim.frontend.foreign.design import ForeignDesign
from archsim.frontend.foreign.load import bring
from archsim.frontend.load import load_model
from archsim.ir.mapping import Keep, Loop
from archsim.lab.validate.mapping_files import RecordedMapping, read
from archsim.lab.validate.suite import default_reference
from archsim.spec.load import load
from mapper.looptree.conventions import ACCELFORGE
from mapper.looptree.cost import evaluate
from mapper.looptree.hierarchy import READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.nest import Nest as Tree
from tests.oracles.zigzag.files import ZigzagAccelerator, einsum_of
from tests.oracles.zigzag.files import read as read_zigzag
from tests.tools.imported import FOLDER, brought, einsum, hierarchy, number

NAMES = {"inputs": "I", "weights": "W", "outputs": "O"}
EIGHT = dict.fromkeys(NAMES, 8)
MAPPING = default_reference("mapping")
CLOCK_HZ = 1e9
SAME = 1e-6


def on_axes(recorded: RecordedMapping, names: dict[str, str]) -> Tree:
    """The recorded mapping with the fan-outs' names as imported."""
    nodes = [node if isinstance(node, Keep) or not node.axis else Loop(node.dim, node.tile, names[node.axis])
             for node in recorded.nest.nodes]  # fmt: skip
    return replace(recorded.nest, nodes=tuple(nodes))


def agrees(recorded: RecordedMapping, ours: Hierarchy, names: dict[str, str]) -> None:
    """The recorded mapping has the recorded figures."""
    cost = evaluate(on_axes(recorded, names), ours, ACCELFORGE)
    assert cost.energy_j == pytest.approx(recorded.energy_j, rel=SAME)
    assert cost.latency_s == pytest.approx(recorded.latency_s, rel=SAME)
    counted = {key: count for key, count in cost.actions.items() if count}
    assert counted == pytest.approx({key: count for key, count in recorded.actions.items() if count}, rel=SAME)


def test_a_recorded_mapping_costs_the_same_on_the_imported_accelforge_chip() -> None:
    found = brought("accelforge", ("simple2.arch.yaml", "gemm64.workload.yaml"))
    assert found.design is not None
    assert found.work is not None
    recorded = read(MAPPING / "accelforge" / "simple2_gemm_64_64_64_edp.json")
    theirs = einsum(found.work.tasks[0], NAMES, EIGHT)
    assert (theirs.extents, theirs.operands) == (recorded.einsum.extents, recorded.einsum.operands)
    agrees(recorded, hierarchy(found.design, NAMES, CLOCK_HZ), {"X": "PE_X", "Y": "PE_Y"})


def test_it_costs_the_same_on_the_chip_file_that_is_written(tmp_path: Path) -> None:
    """Rates, capacities, energies and units are taken from the chip as archsim loads it."""
    found = brought("accelforge", ("simple2.arch.yaml", "gemm64.workload.yaml"))
    path = tmp_path / "simple2.yaml"
    path.write_text(found.files["simple2.yaml"], encoding="utf-8")
    chip, every = load(path), frozenset(NAMES.values())
    tables = tables_for(chip)
    outer, buffer = chip.memories
    array = chip.arrays[0]
    assert outer.bytes_per_cycle is not None
    word = buffer.word_bytes * 8
    pj = {
        name: {way: chip.memory(name).energy_pj[way].value for way in (READ, WRITE)}
        for name in (outer.name, buffer.name)
    }
    rates = {outer.name: float(outer.bytes_per_cycle) * 8, buffer.name: buffer.banks * word * buffer.ports.read}
    bits = {outer.name: 1, buffer.name: word}
    memories = [
        Memory(
            memory.name,
            None if memory is outer else memory.capacity_bytes * 8.0,
            every,
            frozenset(),
            {way: Action(pj[memory.name][way] * 1e-12 / bits[memory.name], rates[memory.name] * chip.clock_hz)
             for way in (READ, WRITE)},
        )
        for memory in (outer, buffer)
    ]  # fmt: skip
    axes = [Axis("X", array.cols, every), Axis("Y", array.rows, every)]
    mac = Compute(
        "MAC", Action(tables.pj(array.name, "mac") * 1e-12, float(array.rate("int8", "int8")) * chip.clock_hz, 0)
    )
    recorded = read(MAPPING / "accelforge" / "simple2_gemm_64_64_64_edp.json")
    agrees(recorded, Hierarchy("chip", (*memories, *axes), mac), {"X": "X", "Y": "Y"})


def test_a_recorded_mapping_costs_the_same_on_the_imported_timeloop_chip() -> None:
    found = brought("timeloop", ("eyeriss_v4.arch.yaml", "eyeriss_v4.ert.yaml", "gemm.prob.yaml"))
    assert found.design is not None
    assert found.work is not None
    recorded = read(MAPPING / "accelforge" / "tl_eyeriss_gemm_128_768_3072_edp.json")
    theirs = einsum(found.work.tasks[0], NAMES, EIGHT)
    assert (theirs.extents, theirs.operands) == (recorded.einsum.extents, recorded.einsum.operands)
    agrees(recorded, hierarchy(found.design, NAMES, CLOCK_HZ), {"X": "column_X", "Y": "PE_Y"})


def test_a_run_on_the_written_chip_spends_on_its_spads_what_was_recorded(tmp_path: Path) -> None:
    """Energy of a MAC with what it reads and writes in its PE.

    Each MAC reads a weight and an input as recorded; moving sums from PE to PE and filling PEs again is left out.
    """
    found = brought("timeloop", ("eyeriss_v4.arch.yaml", "eyeriss_v4.ert.yaml", "gemm.prob.yaml"))
    paths = [tmp_path / name for name in found.files]
    for path, text in zip(paths, found.files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    data = json.loads((MAPPING / "accelforge" / "tl_eyeriss_gemm_128_768_3072_edp.json").read_text(encoding="utf-8"))
    tables, macs = tables_for(load(paths[0])), data["shape"]["macs"]
    for operand, spad, action in (("W", "WeightSpad", "register_read.b"), ("I", "IfmapSpad", "register_read.a")):
        level = next(level for level in data["levels"] if level["name"] == spad)
        bits = data["actions_bits"][f"GEMM|action|{spad}|{operand}|read"]
        assert tables.pj("MAC", action) == pytest.approx(bits / macs * level["actions"]["read"]["energy_j"] * 1e12)
    result = archsim.run(archsim.load_model(paths[1]), on=archsim.load_chip(paths[0]))
    found_j = result.result.energy_breakdown_j
    ours = found_j["MAC"] + found_j["PsumSpad"]
    theirs = sum(data["energy_per_component"][name] for name in ("MAC", "IfmapSpad", "WeightSpad", "PsumSpad"))
    assert result.result.macs == macs
    assert 0.9 * theirs < ours < theirs


def figures(memory: Memory) -> tuple[object, ...]:
    """What a memory is, with actions of one bit."""
    prices = [round(action.energy_j / (action.bits or 1) * 1e18) for _, action in sorted(memory.actions.items())]
    rates = [action.per_s * (action.bits or 1) for _, action in sorted(memory.actions.items())]
    return memory.name, memory.keep, prices, rates, memory.combine


def matches(design: ForeignDesign, accelerator: ZigzagAccelerator, output_bits: dict[str, int]) -> None:
    """Parts are those of the recorded accelerator, but latches of its model and what is outside."""
    ours = hierarchy(design, NAMES, 1.0)
    theirs = accelerator.hierarchy(output_bits)
    known = [part for part in theirs.memories if not part.name.startswith(("latch_", "outside"))]
    assert [figures(memory) for memory in ours.memories] == [figures(memory) for memory in known]
    sizes = {memory.name: memory.size_bits for memory in known}
    assert {store.name: float(store.bits.value) for store in design.stores if store.bits} == sizes
    assert [(axis.name, axis.fanout) for axis in ours.axes] == [(axis.name, axis.fanout) for axis in theirs.axes]
    assert ours.compute.action.energy_j == pytest.approx(theirs.compute.action.energy_j, rel=SAME)
    assert design.macs == accelerator.peak


@pytest.mark.parametrize(
    ("files", "record"),
    [
        (("tpu_like.yaml", "resnet_head.yaml"), "resnet18__tpu_like"),
        (("gemm_l1.yaml", "gemm.yaml"), "gemm__gemm_l1"),
    ],
)
def test_an_imported_zigzag_accelerator_is_the_recorded_one(files: tuple[str, ...], record: str) -> None:
    path = MAPPING / "zigzag" / f"{record}.json"
    accelerator, _ = read_zigzag(path)
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["layers"][0]["layer"]
    found = brought("zigzag", files)
    assert found.design is not None
    assert found.work is not None
    assert found.design.macs == accelerator.peak
    memories = accelerator.data["memories"]
    assert {store.name for store in found.design.stores} == set(memories)
    for store in found.design.stores:
        recorded = memories[store.name]
        assert [number(store.bits), number(store.read_pj), number(store.write_pj)] == [
            recorded[key] for key in ("size", "r_cost", "w_cost")
        ]
        served = [
            accelerator.data["operational_array"]["dimensions"].index(axis) for axis in recorded["served_dimensions"]
        ]
        sizes = accelerator.data["operational_array"]["sizes"]
        assert found.design.instances(store) == prod(size for at, size in enumerate(sizes) if at not in served)
    theirs = einsum_of(data)
    bits = {role: int(found.design.value_bits[role].value) for role in NAMES}
    ours = einsum(found.work.tasks[0], NAMES, bits)
    assert ours.macs == theirs.macs == int(data["macs"])
    assert {each.name: each for each in ours.operands} == {each.name: each for each in theirs.operands}


def test_its_chain_of_memories_is_the_recorded_one() -> None:
    """Rates, energies of a bit, operands and fan-outs; ports of gemm_l1 are recorded in another form."""
    accelerator, layers = read_zigzag(MAPPING / "zigzag" / "resnet18__tpu_like.json")
    found = brought("zigzag", ("tpu_like.yaml", "resnet_head.yaml"))
    assert found.design is not None
    matches(found.design, accelerator, dict.fromkeys(accelerator.data["memories"], layers[0].partial_bits))


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_an_imported_array_takes_the_recorded_cycles(dataflow: str, tmp_path: Path) -> None:
    text = (FOLDER / "scalesim" / "array128.cfg").read_text(encoding="utf-8")
    (tmp_path / "array.cfg").write_text(text.replace("Dataflow = ws", f"Dataflow = {dataflow}"), encoding="utf-8")
    found = bring([tmp_path / "array.cfg", FOLDER / "scalesim" / "alexnet.csv"])
    for name, written in found.files.items():
        (tmp_path / name).write_text(written, encoding="utf-8")
    array = load(tmp_path / "array128.yaml").arrays[0]
    fold = catalogue.get(array.dataflow).fold
    layers = load_model(tmp_path / "alexnet.yaml").layers
    with open(default_reference("systolic") / "cases.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["case"].startswith(f"alexnet_{dataflow}_128_CALC/")]
    assert len(rows) == len(layers) == 5
    for row, layer in zip(rows, layers, strict=True):
        assert row["case"].endswith(f"/{layer.name}")
        n = layer.dims["k"]
        k = layer.dims["c"] * layer.dims["r"] * layer.dims["s"]
        extents = {"m": layer.macs // (n * k), "n": n, "k": k}
        nest = Nest(batch=(), m=("m",), n=("n",), k=("k",))
        cycles = fold(nest, extents, ArrayShape(array.rows, array.cols), accumulate=False).cycles
        assert (extents["m"], cycles) == (int(row["M"]), int(row["cycles"]))
