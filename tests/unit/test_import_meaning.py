"""What values of other tools come to mean on the chip that is written: energies, rates, widths, memories of units."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, NotBuiltError
from archsim.energy.chip import tables_for
from archsim.frontend.foreign.ledger import APPROXIMATED, ASSUMED, IGNORED, READ, REFUSED, STATES
from archsim.frontend.foreign.load import ImportedFiles, bring
from archsim.frontend.load import load_model
from archsim.spec.nodes import parse
from tests.tools.imported import FOLDER, brought, chip


def edited(tmp_path: Path, tool: str, names: tuple[str, ...], **changes: str) -> ImportedFiles:
    """Files of the folder with texts replaced: ``old=new`` of pairs that stand in ``OLD``."""
    paths = []
    for name in names:
        text = (FOLDER / tool / name).read_text(encoding="utf-8")
        for old, new in changes.items():
            text = text.replace(OLD.get(old, old), new)
        paths.append(tmp_path / name)
        paths[-1].write_text(text, encoding="utf-8")
    return bring(paths)


OLD = {
    "top": "system_top_level.",
    "one": "[1..1]",
    "bandwidth": "Bandwidth : 24\n",
    "presets": "[run_presets]",
    "leak": "{name: leak, arguments: {}, energy: 0}",
}
EYERISS = ("eyeriss_v4.arch.yaml", "eyeriss_v4.ert.yaml", "gemm.prob.yaml")


def test_energies_are_found_below_parts_with_instances(tmp_path: Path) -> None:
    as_it_is = chip(brought("timeloop", EYERISS))
    for change in ({"top": "system.PE[1..256].", "one": "[1..1]"}, {"top": "system.PE[0..255].", "one": ""}):
        found = chip(edited(tmp_path, "timeloop", EYERISS, **change))
        assert found.arrays[0].energy_pj == as_it_is.arrays[0].energy_pj
        assert len(found.arrays[0].energy_pj) > 5


def test_what_leaks_in_a_cycle_is_leakage_and_no_action_is_read_that_costs_nothing_here(tmp_path: Path) -> None:
    """2 pJ in a cycle of 1 ns are 2 mW, of each of 168 units with two files, of one buffer."""
    actions = "{name: leak, energy: 2}\n    - {name: idle, energy: 3}\n    - {name: gated_compute, energy: 4}"
    found = edited(tmp_path, "timeloop", EYERISS, leak=actions)
    made = chip(found)
    array, buffer = made.arrays[0], made.memory("GlobalBuffer")
    assert array.leakage_w is not None
    assert buffer.leakage_w is not None
    assert (array.leakage_w.value, buffer.leakage_w.value) == pytest.approx((3 * 168 * 2e-3, 2e-3))
    keys = {entry.key.split(".actions")[1]: entry.state for entry in found.ledger.of(READ, IGNORED, REFUSED)
            if ".tables[1].actions" in entry.key}  # fmt: skip
    assert (keys["[2].energy"], keys["[3].energy"], keys["[4].energy"]) == (READ, REFUSED, IGNORED)


def said_of(found: ImportedFiles, key: str) -> str:
    """State and text of a key."""
    entry = next(entry for entry in found.ledger.of(*STATES) if entry.key.endswith(key))
    return f"{entry.state}: {entry.said}"


def test_scalesim_reads_each_operand_over_an_interface_of_its_own(tmp_path: Path) -> None:
    """10 words of inputs, 30 of weights read; of several bandwidths the first one is that of outputs."""
    layout = "[layout]\nIfmapSRAMBankBandwidth = 10\nFilterSRAMBankBandwidth = 30\n[run_presets]"
    names = ("small_os.cfg",)
    found = edited(tmp_path, "scalesim", names, presets=layout, bandwidth="Bandwidth : 20,7,5\n")
    assert chip(found).memories[0].bytes_per_cycle == 60
    for key in ("Bandwidth", "IfmapSRAMBankBandwidth", "FilterSRAMBankBandwidth"):
        assert said_of(found, f".{key}").startswith("approximated: 20 written, 10 of inputs read, 30 of weights read")
    assert "of several SCALE-Sim takes the first" in said_of(found, ".Bandwidth")
    calc = edited(tmp_path, "scalesim", names, presets=layout, bandwidth="Bandwidth : 20,7,5\n", USER="CALC")
    assert chip(calc).memories[0].bytes_per_cycle is None
    assert said_of(calc, "IfmapSRAMBankBandwidth").startswith("ignored: with InterfaceBandwidth CALC")


def test_a_zigzag_write_costs_a_word_of_the_port_that_writes(tmp_path: Path) -> None:
    """Of a memory that reads 2048 b and writes 512 b at a time, a bit written costs w_cost / 512."""
    text = (FOLDER / "zigzag" / "gemm_l1.yaml").read_text(encoding="utf-8")
    at = text.index("w_bw: 2048")
    (tmp_path / "gemm_l1.yaml").write_text(f"{text[:at]}w_bw: 512{text[at + 10 :]}", encoding="utf-8")
    as_it_is, found = chip(brought("zigzag", ("gemm_l1.yaml",))), chip(bring([tmp_path / "gemm_l1.yaml"]))
    costs = []
    for made in (as_it_is, found):
        buffer = made.memories[1]
        costs.append({way: buffer.energy_pj[way].value / buffer.word_bytes for way in ("read", "write")})
    assert costs[1]["write"] == pytest.approx(4 * costs[0]["write"])
    assert costs[1]["read"] == pytest.approx(costs[0]["read"])


def test_words_of_memories_decide_the_bytes(tmp_path: Path) -> None:
    found = edited(tmp_path, "timeloop", EYERISS, **{"datawidth: 8": "datawidth: 16"})
    made = chip(found)
    assert {made.dtypes[role] for role in ("inputs", "weights", "outputs")} == {"int16"}
    assert said_of(found, "multiplier_width").startswith("approximated: ")
    assert "words of memories decide the bytes" in said_of(found, "multiplier_width")


SIMPLE = ("simple2.arch.yaml",)
READS = "read, energy: 1e-12, throughput: 2048e9"
WRITES = READS.replace("read", "write")


@pytest.mark.parametrize("way", ["read", "write"])
def test_a_limit_of_one_direction_is_none_of_the_other(way: str, tmp_path: Path) -> None:
    """128 b a cycle one way; the other way has so many ports more that 16 x 16 units are never limited."""
    bound, free = (READS, WRITES) if way == "read" else (WRITES, READS)
    changes = {bound: bound.replace("2048e9", "128e9"), free: free.replace("2048e9", "inf")}
    found = edited(tmp_path, "accelforge", SIMPLE, **changes)
    buffer = chip(found).memory("GlobalBuffer")
    unit = buffer.banks * buffer.word_bytes
    rates = {"read": unit * buffer.ports.read, "write": unit * buffer.ports.write}
    assert rates.pop(way) == 16
    assert min(rates.values()) >= 2 * (16 + 129 + 4 * 16)
    assert not found.ledger.of(APPROXIMATED)


def test_what_a_direction_loses_is_said(tmp_path: Path) -> None:
    """Shared ports have one rate; a dram of constant rate has one bandwidth for both directions."""
    half = {"8e-12, throughput: 256e9, latency: 0}\n\n": "8e-12, throughput: 128e9, latency: 0}\n\n"}
    found = edited(tmp_path, "accelforge", SIMPLE, **{WRITES: WRITES.replace("2048e9", "1024e9")}, **half)
    lost = {entry.key: entry.said for entry in found.ledger.of(APPROXIMATED)}
    assert list(lost) == [f"arch.nodes[{node}].actions[0].throughput" for node in (0, 1)]
    assert all(said.endswith("cycles are too many") for said in lost.values())
    alone = edited(tmp_path, "accelforge", SIMPLE, **{"read, energy: 8e-12, throughput: 256e9": READS_FREE})
    assert "writes alone have a limit in the source" in said_of(alone, "nodes[0].actions[1].throughput")


READS_FREE = "read, energy: 8e-12, throughput: inf"


@pytest.mark.parametrize(
    ("shared", "read", "write", "together", "said"),
    [
        (32, 16, 16, False, "ignored: reads and writes together never reach it"),
        (16, 16, 16, True, "read: GlobalBuffer.ports"),
        (20, 16, 16, False, "approximated: reads and writes have a bandwidth each here"),
    ],
)
def test_a_shared_bandwidth_beside_those_of_directions(
    shared: int, read: int, write: int, together: bool, said: str, tmp_path: Path
) -> None:
    stated = f"read_bandwidth: {read}, write_bandwidth: {write}, shared_bandwidth: {shared}"
    found = edited(tmp_path, "timeloop", EYERISS, **{"read_bandwidth: 16, write_bandwidth: 16": stated})
    assert said_of(found, ".shared_bandwidth").startswith(said)
    assert chip(found).memory("GlobalBuffer").ports.shared == together
    if together:
        assert said_of(found, "nodes[3].attributes.read_bandwidth").startswith("ignored: ")


def test_a_latency_beside_a_throughput_is_not_read(tmp_path: Path) -> None:
    found = edited(tmp_path, "accelforge", SIMPLE, **{"2048e9, latency: 0": "2048e9, latency: 1e-9"})
    assert said_of(found, "nodes[1].actions[0].latency").startswith("refused: a latency beside a throughput")
    assert said_of(found, "nodes[0].actions[0].latency").startswith("ignored: ")


def test_instances_of_a_workload_multiply_its_result_and_are_refused(tmp_path: Path) -> None:
    text = (FOLDER / "accelforge" / "gemm64.workload.yaml").read_text(encoding="utf-8")
    path = tmp_path / "gemm64.workload.yaml"
    path.write_text(text.replace("workload:\n", "workload:\n  n_instances: 12\n"), encoding="utf-8")
    assert said_of(bring([path]), "workload.n_instances").startswith(
        "refused: each layer is written once, not 12 times"
    )


def test_a_column_that_is_not_known_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "net.csv"
    path.write_text("Layer, M, K, N, colour,\nfc, 2, 3, 4, 5,\n", encoding="utf-8")
    found = bring([path])
    assert said_of(found, "[0].unread.colour").startswith("refused: a column that is not known")
    assert found.work is not None
    assert found.work.tasks[0].extents == {"m": 2, "k": 3, "n": 4}


def test_images_of_a_topology_keep_their_size(tmp_path: Path) -> None:
    """224 values, 7 taps, steps of 2: the last window reaches past the edge by one value, which is no value."""
    head = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
    (tmp_path / "net.csv").write_text(head + "conv1, 224, 224, 7, 7, 3, 64, 2,\n", encoding="utf-8")
    text = bring([tmp_path / "net.csv"]).files["net.yaml"]
    written = parse(text)
    assert written.mapping["inputs"].plain() == {"conv1_input": [1, 3, 224, 224]}
    assert written.mapping["layers"].plain()[0]["conv"]["pad"] == [0, 0, 1, 1]
    (tmp_path / "written.yaml").write_text(text, encoding="utf-8")
    ours, theirs = (load_model(tmp_path / name) for name in ("written.yaml", "net.csv"))
    assert ours.layers[0].dims == theirs.layers[0].dims
    assert sum(prod(each.shape) for each in ours.tensors.values()) == sum(
        prod(each.shape) for each in theirs.tensors.values()
    )


def test_the_first_tensor_of_a_role_has_its_own_width(tmp_path: Path) -> None:
    """T0 has 8 b; a later input with 16 b is told, and changes nothing."""
    path = tmp_path / "two.yaml"
    path.write_text(
        "workload:\n  rank_sizes: {M: 4, K: 4, N: 4}\n  bits_per_value: {All: 8, T1: 16, W1: 4}\n  einsums:\n"
        "  - 'T9[m, n] = T0[m, k] * W0(weight)[k, n]'\n  - 'T8[m, n] = T1[m, k] * W1(weight)[k, n]'\n",
        encoding="utf-8",
    )
    found = bring([FOLDER / "accelforge" / SIMPLE[0], path])
    assert {chip(found).dtypes[role] for role in ("inputs", "weights", "outputs")} == {"int8"}
    assert said_of(found, "bits_per_value.T1").startswith("approximated: 'T1' has 8 b here as the first of inputs")
    assert said_of(found, "bits_per_value.W1").startswith("approximated: 'W1' has 8 b here")
    assert said_of(found, "bits_per_value.All").startswith("read: ")


def test_widths_of_a_zigzag_layer_are_judged_one_by_one(tmp_path: Path) -> None:
    layer = (
        "- id: {id}\n  operator_type: {kind}\n  equation: {equation}\n  loop_dims: [B, C, K]\n  loop_sizes: [4, 4, 4]\n"
        "  operand_precision: {{{widths}}}\n"
    )
    path = tmp_path / "layers.yaml"
    gemm = "O[b][k]+=I[b][c]*W[c][k]"
    path.write_text(
        layer.format(id=0, kind="Gemm", equation=gemm, widths="I: 8, W: 8, O: 32, O_final: 8")
        + layer.format(id=1, kind="Gemm", equation=gemm, widths="I: 8, W: 4, O: 32, O_final: 8")
        + layer.format(id=2, kind="Add", equation="O[b][k]=X[b][k]+Y[b][k]", widths="X: 16, Y: 8, Z: 8, O_final: 8"),
        encoding="utf-8",
    )
    found = bring([path])
    states = {
        (entry.mark.line, entry.key.rpartition(".")[2]): entry.state
        for entry in found.ledger.of(*STATES)
        if "operand_precision" in entry.key
    }
    assert [key for key, state in states.items() if state == REFUSED] == [(12, "W"), (18, "X")]
    assert [key for key, state in states.items() if state == IGNORED] == [(18, "Z")]


def test_units_and_files_of_timeloop_1_are_refused_for_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="units are not allowed in these files: a plain number, without 'uJ'"):
        edited(tmp_path, "accelforge", SIMPLE, **{"8e-12": "38.4 uJ"})
    path = tmp_path / "arch.yaml"
    path.write_text("arch:\n  arithmetic: {instances: 4}\n  storage: [{name: RF}]\n", encoding="utf-8")
    for tool in ("", "timeloop"):
        with pytest.raises(NotBuiltError, match="the format of Timeloop 1; allowed that of version 3"):
            bring([path], tool)


def test_registers_that_the_source_does_not_have_cost_nothing() -> None:
    """Where a tool states energies; those of SCALE-Sim, which has none, are the technology table's."""
    found = brought("accelforge", SIMPLE)
    tables = tables_for(chip(found))
    for action in ("register_read", "register_write", "wire"):
        assert [tables.pj("MAC", f"{action}.{operand}") for operand in ("a", "b", "acc")] == [0, 0, 0]
    assumed = {entry.key: entry.said for entry in found.ledger.of(ASSUMED)}
    assert assumed["MAC.energy.register_read"] == "0 pJ: AccelForge has no register of it in the array"
    array = chip(brought("scalesim", ("small_os.cfg",))).arrays[0]
    assert array.energy_pj == {}


PE_SPAD = """architecture:
  version: 0.3
  subtree:
  - name: system
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 64, word-bits: 16}}
    subtree:
    - name: PE[0..167]
      local:
      - {name: spad, class: regfile, attributes: {depth: 224, width: 16, word-bits: 16, meshX: 14}}
      - {name: mac, class: intmac, attributes: {datawidth: 16, meshX: 14}}
ERT:
  tables:
  - {name: "system.PE[0..167].spad", actions: [{name: read, energy: 2}, {name: write, energy: 3}]}
  - {name: "system.PE[0..167].mac", actions: [{name: compute, energy: 1}]}
"""


def test_a_memory_of_each_unit_is_there_once(tmp_path: Path) -> None:
    """224 words of 16 b of each of 168 PEs are its registers: of an MAC 1 pJ and a sum read and written."""
    (tmp_path / "pe.yaml").write_text(PE_SPAD, encoding="utf-8")
    found = bring([tmp_path / "pe.yaml"])
    made = chip(found)
    assert [memory.name for memory in made.memories] == ["DRAM", "streams"]
    array = made.arrays[0]
    assert [(file.size_bytes, file.keeps) for file in array.registers] == [(448, ("inputs", "weights", "partials"))]
    streams = made.memory("streams")
    assert (streams.capacity_bytes, streams.area_mm2.value if streams.area_mm2 else None) == (168 * 448, 0)
    energy = {key: figure.value for key, figure in array.energy_pj.items()}
    assert (energy["mac"], energy["register_read_weights"], energy["register_write_inputs"]) == (6, 2, 3)


def test_a_register_file_of_each_zigzag_unit_is_in_the_array() -> None:
    """128 B of weights, 2 B of sums in each of 1024 units; the way of weights from the dram costs nothing."""
    found = chip(brought("zigzag", ("tpu_like.yaml", "resnet_head.yaml")))
    array = found.arrays[0]
    assert [(file.name, file.keeps, file.size_bytes) for file in array.registers] == [
        ("rf_2B", ("partials",), 2),
        ("rf_128B", ("weights",), 128),
    ]
    energy = {key: figure.value for key, figure in array.energy_pj.items()}
    assert energy["register_read_weights"] == pytest.approx(0.095)
    assert energy["register_write_partials"] == pytest.approx(0.021)
    assert energy["mac"] == pytest.approx(0.04)


def test_what_stands_behind_the_sizes_of_a_topology_is_told(tmp_path: Path) -> None:
    head = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
    (tmp_path / "net.csv").write_text(head + "conv1, 8, 8, 2, 2, 3, 4, 1, 2, 7,\n", encoding="utf-8")
    found = bring([tmp_path / "net.csv"])
    assert said_of(found, "[0].extra") == "read: the stride along the width, behind the sizes"
    assert said_of(found, "[0].unread.column 10").startswith("refused: ")


def test_what_the_energy_of_memories_in_the_array_leaves_out_is_told(tmp_path: Path) -> None:
    """A second file below the first one; fewer instances than units without a memory above them."""
    latch = "      - {name: latch, class: regfile, attributes: {depth: 1, width: 16, word-bits: 16, meshX: 14}}\n"
    mac = "      - {name: mac, class"
    (tmp_path / "two.yaml").write_text(PE_SPAD.replace(mac, latch + mac), encoding="utf-8")
    two = bring([tmp_path / "two.yaml"])
    assert "values pass from memory to memory inside the array" in said_of(two, "tables[0].actions[0].energy")
    assert chip(two).arrays[0].energy_pj["mac"].value == 1
    assumed = {entry.key: entry.said for entry in two.ledger.of(ASSUMED)}
    assert assumed["mac.energy.register_read_weights"].endswith("the source states none of latch")
    several = PE_SPAD.replace("name: mac,", 'name: "mac[0..3]",').replace("224", "22400")
    (tmp_path / "few.yaml").write_text(several, encoding="utf-8")
    few = bring([tmp_path / "few.yaml"])
    assert chip(few).memory("spad").capacity_bytes == 168 * 44800
    assert said_of(few, "tables[0].actions[0].energy").startswith(
        "approximated: spad.energy.read: 168 instances are one"
    )


def test_a_rule_of_latency_divides_by_numbers(tmp_path: Path) -> None:
    """A unit that does 4 actions a cycle of 3e8 a second does 12e8."""
    npu, unit = ("npu.arch.yaml", "chain.workload.yaml"), "energy: 0.2e-12, throughput: clock}]"
    rule = f"{unit}\n    total_latency: compute_actions / 4 / 3e8"
    assert chip(edited(tmp_path, "accelforge", npu, **{unit: rule})).clock_hz == 12 * 10**8
    for wrong in ("1.2.3", "0"):
        with pytest.raises(ConfigError, match=r"total_latency: found '/ .*'; allowed division by numbers > 0"):
            edited(tmp_path, "accelforge", npu, **{unit: f"{unit}\n    total_latency: compute_actions / {wrong}"})


def test_bounds_of_a_rank_are_a_size(tmp_path: Path) -> None:
    """Of ``1 <= r < 4`` it is 3, of ``0 <= s <= 4`` 5; a rank without a place is refused."""
    npu, bounds = ("npu.arch.yaml", "chain.workload.yaml"), "[0 <= r < 3, 0 <= s < 3]"
    found = edited(tmp_path, "accelforge", npu, **{bounds: "[1 <= r < 4, 0 <= s <= 4]"})
    assert macs(found)["Depthwise"] == 48 * 14 * 14 * 3 * 5
    assert macs(brought("accelforge", npu))["Depthwise"] == 48 * 14 * 14 * 3 * 3
    for wrong in ("2 <= r < 2", "0 <= r < 0"):
        with pytest.raises(ConfigError, match=r"found '. <= r < .'; allowed 1 or more"):
            edited(tmp_path, "accelforge", npu, **{bounds: f"[{wrong}, 0 <= s < 3]"})


def macs(found: ImportedFiles) -> dict[str, int]:
    """Of each layer."""
    assert found.work is not None
    return {task.name: task.macs for task in found.work.tasks}


def test_networks_of_a_container_are_refused_by_name(tmp_path: Path) -> None:
    found = edited(tmp_path, "timeloop", EYERISS, **{"name: column": "name: column\n    networks: {x: 1}"})
    (entry,) = [entry for entry in found.ledger.of(REFUSED) if "networks" in entry.key]
    assert "add a `noc` part yourself" in entry.said


def test_a_chip_without_a_name_is_called_after_its_file(tmp_path: Path) -> None:
    found = edited(tmp_path, "zigzag", ("tpu_like.yaml",), **{"name: tpu_like\n": ""})
    assert chip(found).name == "tpu_like"
    (tmp_path / "tpu_like.yaml").rename(tmp_path / "mine.of_today.yaml")
    assert chip(bring([tmp_path / "mine.of_today.yaml"])).name.startswith("mine")
