"""Files of other tools: every key in the ledger, figures by hand, what is refused, mistakes with their place."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path

import pytest

from archsim.energy.chip import tables_for
from archsim.errors import ArchsimError, ConfigError, NotBuiltError
from archsim.frontend.foreign.emit import decimal
from archsim.frontend.foreign.expression import evaluate
from archsim.frontend.foreign.ledger import APPROXIMATED, ASSUMED, IGNORED, READ, REFUSED, STATES, UNKNOWN
from archsim.frontend.foreign.load import Brought, bring
from archsim.frontend.foreign.names import plain_name
from archsim.frontend.foreign.sets import roles_of
from archsim.frontend.foreign.template import rendered
from archsim.frontend.load import load_model
from archsim.spec.architecture import Architecture
from archsim.spec.load import loads
from archsim.spec.nodes import Node, parse, parse_foreign
from tests.tools.imported import CASES, FOLDER, IDS, brought

# Keys of the files counted by hand or by grep: (keys, read, approximated, ignored, refused), none of them unknown.
COUNTS = {
    "simple2.arch.yaml": (52, 47, 0, 5, 0),
    "npu.arch.yaml": (94, 83, 0, 6, 5),
    "eyeriss_v4.arch.yaml": (135, 97, 3, 31, 4),
    "pe_array_v3.arch.yaml": (111, 94, 0, 8, 9),
    "tpu_like.yaml": (136, 98, 0, 38, 0),
    "gemm_l1.yaml": (53, 34, 2, 17, 0),
    "small_os.cfg": (42, 33, 1, 8, 0),
    "sparse_ws.cfg": (18, 9, 0, 7, 2),
    "array128.cfg": (68, 49, 0, 19, 0),
}


def chip(found: Brought) -> Architecture:
    """The chip that is written."""
    text = next(text for text in found.files.values() if "archsim.chip/1" in text)
    return loads(text)


def leaf_count(node: Node) -> int:
    """Leaves of a tree, counted without the ledger."""
    if node.mapping:
        return sum(leaf_count(child) for child in node.mapping.values())
    if any(item.mapping or item.items for item in node.items):
        return sum(leaf_count(item) for item in node.items)
    return 1


@pytest.mark.parametrize(("tool", "files"), CASES, ids=IDS)
def test_every_key_is_read_ignored_or_refused(tool: str, files: tuple[str, ...]) -> None:
    found = brought(tool, files)
    counts = found.ledger.counts()
    keys, *states = COUNTS[files[0]]
    assert [counts[state] for state in (READ, APPROXIMATED, IGNORED, REFUSED, UNKNOWN)] == [*states, 0]
    assert keys == sum(states)
    if tool not in ("scalesim",):
        texts = [(FOLDER / tool / name).read_text(encoding="utf-8") for name in files]
        assert keys == sum(leaf_count(parse_foreign(rendered(text, "x"), "x")) for text in texts)
    assert found.left_out == ()
    assert all(entry.said for entry in found.ledger.of(READ, IGNORED, REFUSED, ASSUMED))


@pytest.mark.parametrize(("tool", "files"), CASES, ids=IDS)
def test_every_number_of_the_chip_has_a_source(tool: str, files: tuple[str, ...]) -> None:
    found = chip(brought(tool, files))
    bare = [path for path, source in found.sources.items() if source in ("user", "")]
    assert bare == []
    stated = [source for source in found.sources.values() if not source.startswith(("estimated:", "default"))]
    assert any(files[0] in source for source in stated)


def test_a_key_that_no_reader_knows_is_unknown(tmp_path: Path) -> None:
    text = (FOLDER / "zigzag" / "gemm_l1.yaml").read_text(encoding="utf-8")
    path = tmp_path / "odd.yaml"
    path.write_text(text.replace("    size: 32\n", "    size: 32\n    colour: red\n"), encoding="utf-8")
    found = bring([path])
    assert [entry.key for entry in found.ledger.of(UNKNOWN)] == ["memories.reg_O.colour"]
    assert not found.complete
    assert "unknown: odd.yaml:" in found.files["gemm_l1.yaml"]
    assert str(tmp_path) not in found.files["gemm_l1.yaml"]


def test_a_timeloop_chip_by_hand() -> None:
    """Version 4: 16 Ki words of 64 b, 16 words of 8 b a cycle, 168 accumulators of 16 x 16 b; pJ of 64, of 16 bits."""
    found = chip(brought("timeloop", ("eyeriss_v4.arch.yaml", "eyeriss_v4.ert.yaml", "gemm.prob.yaml")))
    outer, buffer, sums, weights = found.memories
    assert (outer.kind, outer.bytes_per_cycle, outer.energy_pj["read"].value) == ("dram", None, 8.0)
    assert (buffer.capacity_bytes, buffer.banks * buffer.word_bytes) == (131072, 16)
    assert (buffer.ports.read, buffer.ports.write, buffer.ports.shared) == (1, 1, False)
    assert buffer.energy_pj["read"].value == pytest.approx(0.284122328125 * 64)
    assert (weights.name, weights.keeps, weights.capacity_bytes) == ("streams", ("weights",), 65536)
    assert (weights.energy_pj["read"].value, weights.area_mm2.value if weights.area_mm2 else None) == (0, 0)
    assert (sums.keeps, sums.capacity_bytes) == (("partials",), 168 * 32)
    array = found.arrays[0]
    assert (array.cols, array.rows, found.clock_hz) == (14, 12, 10**9)
    assert array.energy_pj["mac"].value == pytest.approx(0.207692 + 0.2513 + 0.2191)
    assert array.energy_pj["register_read_weights"].value == pytest.approx(1.976602 / 2)
    assert [(file.name, file.keeps, file.size_bytes) for file in array.registers] == [
        ("IfmapSpad", ("inputs",), 24),
        ("WeightSpad", ("weights",), 384),
    ]
    assert found.dtypes["accumulate"] == "int16"


def test_a_timeloop_3_chip_by_hand() -> None:
    """192 PEs in 16 columns; 4 words of 16 b of DRAM a cycle; 16 words read, 8 written a cycle of the buffer."""
    found = brought("timeloop", ("pe_array_v3.arch.yaml", "conv_v3.prob.yaml"))
    made = chip(found)
    assert (made.arrays[0].rows, made.arrays[0].cols) == (12, 16)
    assert made.memories[0].bytes_per_cycle == 8
    buffer = made.memory("shared_glb")
    unit = buffer.banks * buffer.word_bytes
    assert (unit * buffer.ports.read, unit * buffer.ports.write) == (32, 16)
    assert buffer.keeps == ("inputs", "outputs", "tables", "kv")
    assert "DummyBuffer" not in {memory.name for memory in made.memories}
    assert made.dtypes["weights"] == "int16"
    assert found.work is not None
    assert found.work.tasks[0].macs == 16 * 32 * 3 * 5 * 14 * 7


def test_an_accelforge_chip_by_hand() -> None:
    """25.6 GB/s at 800 MHz; 64 KiB; 2 actions of 128 b read, 1 written a cycle; rows add, columns share inputs."""
    found = brought("accelforge", ("npu.arch.yaml", "chain.workload.yaml"))
    made = chip(found)
    assert made.clock_hz == 800_000_000
    assert made.memories[0].bytes_per_cycle == 32
    buffer = made.memory("Buffer")
    unit = buffer.banks * buffer.word_bytes
    assert (buffer.capacity_bytes, unit * buffer.ports.read, unit * buffer.ports.write) == (65536, 32, 16)
    assert (buffer.word_bytes, buffer.energy_pj["read"].value) == (16, 12.8)
    assert buffer.area_mm2 is not None
    assert buffer.area_mm2.value == pytest.approx(0.4)
    array = made.arrays[0]
    assert (array.rows, array.cols) == (32, 16)
    assert array.area_mm2 is not None
    assert array.area_mm2.value == pytest.approx(512 * (3e-4 + 1e-6))
    assert made.vectors[0].lanes["int8"] == 32
    assert made.technology == "45nm"
    refused = {entry.key.split(".")[1] for entry in found.ledger.of(REFUSED)}
    assert refused == {"nodes[2]", "bits_per_value"}  # the toll; outputs that are wider than inputs


def test_a_zigzag_chip_by_hand() -> None:
    """3 ports of 2048 b for both directions; eight PEs add to one sum; what begins on the chip comes from outside."""
    found = chip(brought("zigzag", ("gemm_l1.yaml", "gemm.yaml")))
    outer, buffer = found.memories
    assert (outer.name, outer.bytes_per_cycle, outer.energy_pj["read"].value) == ("outside", None, 0.0)
    assert (buffer.capacity_bytes, buffer.banks * buffer.word_bytes, buffer.ports.read) == (524288, 256, 3)
    assert buffer.ports.shared
    assert buffer.energy_pj["write"].value == pytest.approx(52.01)
    assert (found.arrays[0].rows, found.arrays[0].cols, found.dtypes["accumulate"]) == (8, 64, "int32")


def test_a_scalesim_chip_is_as_the_one_that_comes_with_archsim() -> None:
    found = chip(brought("scalesim", ("small_os.cfg", "topology.csv")))
    assert [(memory.name, memory.capacity_bytes) for memory in found.memories[1:]] == [
        ("ifmap", 131072),
        ("filter", 65536),
        ("ofmap", 32768),
    ]
    assert [memory.keeps for memory in found.memories[1:]] == [
        ("inputs", "tables", "kv"),
        ("weights",),
        ("outputs", "partials"),
    ]
    assert found.memories[0].bytes_per_cycle == 3 * 24  # three interfaces of as many words a cycle
    array = found.arrays[0]
    assert (array.rows, array.cols, array.dataflow, array.form) == (8, 16, "output_stationary", "systolic")


@pytest.mark.parametrize(("tool", "files"), [case for case in CASES if len(case[1]) > 1], ids=str)
def test_macs_of_the_layers_that_are_written(tool: str, files: tuple[str, ...], tmp_path: Path) -> None:
    """As the loops of the source count them; pools and sums have none on the array."""
    found = brought(tool, files)
    name, text = list(found.files.items())[-1]
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert found.work is not None
    tasks = {task.name: task for task in found.work.tasks if task.kind == "product"}
    written = {layer.name: layer for layer in load_model(tmp_path / name).layers}
    assert tasks
    for label, task in tasks.items():
        layer = written[plain_name(label, "layer")]
        zeros = any(sum(pads) for pads in task.padding.values())
        assert layer.macs == task.macs or (zeros and layer.macs < task.macs), label


def test_layers_read_what_those_before_them_made() -> None:
    text = brought("zigzag", ("tpu_like.yaml", "resnet_head.yaml")).files["resnet_head.yaml"]
    layers = parse(text).mapping["layers"].plain()
    assert layers[0]["conv"]["pad"] == [3, 3]
    assert layers[1]["pool"]["input"] == "conv1"
    assert layers[2]["conv"]["input"] == "layer1"
    assert layers[3]["add"]["inputs"] == ["layer1", "layer2"]
    chain = parse(brought("accelforge", ("npu.arch.yaml", "chain.workload.yaml")).files["chain.yaml"])
    assert chain.mapping["layers"].items[2].plain()["einsum"]["inputs"] == ["A"]


MISTAKES = [
    (
        "timeloop",
        "eyeriss_v4.arch.yaml",
        "depth: 16384",
        "depth: -1",
        ":22:18: architecture.nodes[3].attributes.depth: found -1",
    ),
    ("timeloop", "eyeriss_v4.arch.yaml", "!Parallel", "!Paralel", "found !Paralel; allowed !Component"),
    ("timeloop", "eyeriss_v4.arch.yaml", "meshX: 14", "meshX: 0.5", "allowed a whole number from 1"),
    ("timeloop", "pe_array_v3.arch.yaml", "PE[0..191]", "PE[0..190]", "instances below 16; allowed a multiple"),
    (
        "timeloop",
        "gemm.prob.yaml",
        "projection: [[[M]], [[K]]]",
        "projection: [[[M]], [[L]]]",
        "found 'L'; allowed [DIM]",
    ),
    ("timeloop", "gemm.prob.yaml", "read_write: True", "read_write: False", "no data space is written"),
    ("accelforge", "simple2.arch.yaml", "keep: All", "keep: Al", "no tensor or memory 'Al'"),
    ("accelforge", "simple2.arch.yaml", "1024 * 1024", "1024 ** 1024", "found '1024 ** 1024'"),
    ("accelforge", "simple2.arch.yaml", "fanout: 16", "fanout: __import__('os')", "no arithmetic that is understood"),
    ("accelforge", "gemm64.workload.yaml", "K: 64, ", "", "no size of 'k'"),
    ("zigzag", "tpu_like.yaml", "[D1, D2]\n  dram", "[D1, D7]\n  dram", "no dimension 'D7'; allowed D1, D2"),
    ("zigzag", "tpu_like.yaml", "size: 16777216", "size: 1e40", ": as a chip of archsim: sram_2MB.size: found"),
    ("zigzag", "gemm.yaml", "O[d0][d1]+=", "O[d0][d1]~=", "allowed O[b][k]+=I[b][c]*W[c][k]"),
    ("scalesim", "small_os.cfg", "Dataflow : os", "Dataflow : oz", "found 'oz'; allowed os, ws, is"),
    ("scalesim", "small_os.cfg", "[general]", "general", "allowed [section], or 'key: value' below one"),
    (
        "scalesim",
        "small_os.cfg",
        "ArrayHeight:    8",
        "ArrayHeight:    70000",
        "allowed a list of 2 whole numbers 1 to 65536",
    ),
]


@pytest.mark.parametrize(("tool", "name", "old", "new", "said"), MISTAKES)
def test_mistakes_have_one_message_with_their_place(
    tool: str, name: str, old: str, new: str, said: str, tmp_path: Path
) -> None:
    text = (FOLDER / tool / name).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ArchsimError) as error:
        bring([path], tool)
    assert said in str(error.value)
    assert str(error.value).startswith(f"{path}:")
    assert error.value.exit_code == 2


def test_templates_are_rendered_where_they_are_constants() -> None:
    text = '{% set A = A | default(3) %}\n{# note #}\nsize: {{A}} * {{ B | default("2") }}\n'
    assert rendered(text, "x.yaml").split("\n")[2] == "size: 3 * 2"
    for wrong in ("{% for i in range(3) %}", "x: {{A + 1}}", "{% include 'secret' %}"):
        with pytest.raises(NotBuiltError, match=r"x.yaml:2:.*render the template first"):
            rendered(f"a: 1\n{wrong}\n", "x.yaml")


def test_tags_are_text_and_only_here() -> None:
    root = parse_foreign("a: !Component {b: 1}\nc: !!python/object/apply:os.system [x]\nd: {<<: {e: 1}, f: 2}\n", "x")
    assert root.mapping["a"].tag == "!Component"
    assert root.mapping["c"].plain() == ["x"]
    assert root.mapping["d"].plain() == {"e": 1, "f": 2}
    with pytest.raises(ConfigError, match="tag '!Component' is refused"):
        parse("a: !Component {b: 1}\n", "x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8e-12", Fraction(8, 10**12)),
        ("1 / (8 * 614e9)", Fraction(1, 8 * 614 * 10**9)),
        ("1024*1024", Fraction(2**20)),
        ("2 ** 10 - min(3, a)", Fraction(1022)),
        ("w.bits if w else 0", Fraction(8)),
        ("0.1 + 0.2", Fraction(3, 10)),
    ],
)
def test_arithmetic_is_exact(text: str, expected: Fraction) -> None:
    assert evaluate(text, {"a": Fraction(2), "w": Fraction(1), "w.bits": Fraction(8)}) == expected


def test_what_is_no_arithmetic_is_refused() -> None:
    def bad() -> Iterator[str]:
        yield from ("open('x')", "a.__class__", "[1]", "9**9**9", "1/0", "'a'*9", "lambda: 1", "1e999999", "(" * 150)

    for text in bad():
        with pytest.raises(ConfigError):
            evaluate(text)


def test_sets_are_roles() -> None:
    names = {"Buffer": frozenset(("inputs",))}
    assert roles_of("~Buffer & All", names) == {"weights", "outputs"}
    assert roles_of("(input | output) - Outputs", names) == {"inputs"}
    assert roles_of("Inputs if len(All) > 3 else Buffer.tensors", names) == {"inputs"}


def test_numbers_are_written_exactly_where_they_are_short() -> None:
    assert [decimal(Fraction(text)) for text in ("16", "0.284122328125", "1/3", "1e-18")] == [
        "16",
        "0.284122328125",
        "0.333333333333",
        "0.000000000000000001",
    ]


def test_equal_files_give_equal_text() -> None:
    once, again = (brought("timeloop", ("pe_array_v3.arch.yaml", "conv_v3.prob.yaml")) for _ in range(2))
    assert once.files == again.files
    assert once.report() == again.report()


def test_files_of_several_tools_are_refused() -> None:
    with pytest.raises(ConfigError, match="files of several tools"):
        bring([FOLDER / "zigzag" / "gemm_l1.yaml", FOLDER / "timeloop" / "gemm.prob.yaml"])
    with pytest.raises(ConfigError, match="allowed timeloop, accelforge, zigzag, scalesim"):
        bring([FOLDER / "zigzag" / "gemm_l1.yaml"], "zigzagg")


def test_layers_without_counterpart_are_left_out_with_their_reason(tmp_path: Path) -> None:
    text = (FOLDER / "accelforge" / "chain.workload.yaml").read_text(encoding="utf-8")
    path = tmp_path / "odd.workload.yaml"
    path.write_text(text.replace("WB(weight)[t, u]", "WB(weight)[n, u]"), encoding="utf-8")
    found = bring([path])
    assert len(found.left_out) == 1
    assert "layer 'Last': a sum over 'n', which one operand alone has" in found.left_out[0]
    assert not found.complete
    assert "left out: " in found.files["odd.yaml"]
    alone = tmp_path / "alone.workload.yaml"
    alone.write_text("workload:\n  rank_sizes: {M: 4}\n  einsums: ['O[m] = A[m] * B[m] * C[m]']\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="a product of 3 operands; archsim has products of two"):
        bring([alone])


def test_long_names_stay_apart(tmp_path: Path) -> None:
    text = (FOLDER / "zigzag" / "gemm.yaml").read_text(encoding="utf-8")
    path = tmp_path / "long.yaml"
    path.write_text(text.replace("- id: 0", f"- id: {'1' * 80}"), encoding="utf-8")
    written = tmp_path / "written.yaml"
    written.write_text(bring([path]).files["long.yaml"], encoding="utf-8")
    assert len(load_model(written).layers) == 1


def edited(tmp_path: Path, tool: str, names: tuple[str, ...], **changes: str) -> Brought:
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


def said_of(found: Brought, key: str) -> str:
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
