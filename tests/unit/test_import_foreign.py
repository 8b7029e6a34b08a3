"""Files of other tools: every key in the ledger, figures by hand, what is refused, mistakes with their place."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from archsim.base.errors import ArchsimError, ConfigError, NotBuiltError
from archsim.frontend.foreign.accelforge_parts import AccelforgeReader
from archsim.frontend.foreign.emit import decimal
from archsim.frontend.foreign.expression import evaluate
from archsim.frontend.foreign.ledger import APPROXIMATED, ASSUMED, IGNORED, READ, REFUSED, UNKNOWN
from archsim.frontend.foreign.load import bring
from archsim.frontend.foreign.names import plain_name
from archsim.frontend.foreign.sets import _LONGEST, roles_of
from archsim.frontend.foreign.template import rendered
from archsim.frontend.foreign.workload import _ordered
from archsim.frontend.load import load_model
from archsim.spec.nodes import FileNode, parse, parse_foreign
from tests.tools.imported import CASES, FOLDER, IDS, brought, chip

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


def leaf_count(node: FileNode) -> int:
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


def test_a_tensor_of_one_role_has_the_width_of_it() -> None:
    one, both = frozenset(("inputs",)), frozenset(("inputs", "weights"))
    bits = {"inputs": SimpleNamespace(value=Fraction(16)), "weights": SimpleNamespace(value=Fraction(4))}
    facts: Any = SimpleNamespace(roles={"image": one, "either": both}, bits=bits)
    names = AccelforgeReader(facts, {})._names
    assert names["image.bits_per_value"] == names["input.bits_per_value"] == 16
    assert names["weight.bits_per_value"] == 4 and names["output.bits_per_value"] == 8
    assert "either.bits_per_value" not in names


def test_a_set_expression_has_a_longest_length() -> None:
    text = "All" + " " * (_LONGEST - 3)
    assert roles_of(text, {}) == roles_of("All", {})
    with pytest.raises(ConfigError):
        roles_of(text + " ", {})


def test_of_two_operands_the_weights_come_second_and_two_activations_stay() -> None:
    def task(*roles: str) -> Any:
        return SimpleNamespace(operands=tuple(SimpleNamespace(role=role, place=at) for at, role in enumerate(roles)))

    def order(*roles: str) -> list[int]:
        return [found.place for found in _ordered(task(*roles))]  # type: ignore[attr-defined]

    assert order("weights", "inputs") == [1, 0]
    assert order("inputs", "weights") == order("inputs", "inputs") == order("weights", "weights") == [0, 1]


def test_lanes_of_another_tool_keep_their_energy() -> None:
    found = chip(brought("accelforge", ("npu.arch.yaml", "chain.workload.yaml")))
    assert found.vectors[0].energy_pj["lane_op"].value == pytest.approx(0.2)
    assert found.sources["Scalar.energy.lane_op"].startswith("npu.arch.yaml: arch.nodes[3].actions[0].energy")
