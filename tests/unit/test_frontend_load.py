"""Models by name and path, workload files and SCALE-Sim topologies, and what each says when something does not fit."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, ModelError, NotBuiltError
from archsim.frontend.load import load_model, names
from archsim.frontend.workload_yaml.expression import evaluate
from archsim.ir.check.workload import check_workload
from archsim.ir.text import workload_from_yaml, workload_to_yaml

ROOT = Path(__file__).parents[2]
HEAD = (
    "schema: archsim.workload/1\nname: t\nparameters: {batch: 1, size: 8}\n"
    "inputs: {x: [batch, 3, size, size]}\nlayers:\n"
)


def write(path: Path, text: str, name: str = "w.yaml") -> Path:
    (path / name).write_text(text)
    return path / name


# --- names -----------------------------------------------------------------------------------------------------------


def test_names_and_tolerant_spelling() -> None:
    known = names()
    assert len(known) >= 13 and all(known.values()) and list(known) == sorted(known)
    assert load_model("Inception-V1").name == load_model("inception_v1").name == "inception_v1"
    for name in ("gemm_4096", "bert_base_block", "eye_tracking", "hand_tracking"):
        check_workload(load_model(name))


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model 'resnet5'.*did you mean 'resnet50'"):
        load_model("resnet5")
    with pytest.raises(ModelError, match="no such file"):
        load_model(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match=r"unknown format; allowed files ending in \.onnx"):
        load_model(write(tmp_path, "x", "model.bin"))
    with pytest.raises(NotBuiltError, match=r"format \.mlir is not built yet"):
        load_model("model.mlir")
    with pytest.raises(ConfigError, match="batch: found 0; allowed 1 or more"):
        load_model("resnet50", batch=0)
    with pytest.raises(ConfigError, match="has no parameters to set"):
        load_model("resnet50", parameters={"seq": 3})


def test_onnx_is_imported_in_one_room_only() -> None:
    for path in sorted((ROOT / "archsim").rglob("*.py")):
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
        }
        assert "onnx" not in imported or path.parent == ROOT / "archsim" / "frontend" / "onnx", path


def test_a_workload_file_needs_no_onnx() -> None:
    script = "import sys; from archsim.frontend.load import load_model, names; names(); load_model('gemm_4096'); "
    subprocess.run([sys.executable, "-c", script + "assert 'onnx' not in sys.modules"], check=True, cwd=ROOT)


# --- workload files --------------------------------------------------------------------------------------------------


def test_shipped_workloads_count_what_their_sources_say() -> None:
    """BERT-base: 85,054,464 / 12 parameters a block; its products 12 H^2 S + 2 S^2 H."""
    block = load_model("bert_base_block")
    assert block.parameters == 85_054_464 // 12
    assert block.macs == 12 * 768**2 * 128 + 2 * 128**2 * 768
    longer = load_model("bert_base_block", batch=2, parameters={"seq": 512})
    assert longer.macs == 2 * (12 * 768**2 * 512 + 2 * 512**2 * 768)
    assert all(layer.kind != "copy" for layer in block.layers)
    assert load_model("gemm_4096").macs == 4096**3
    eye = load_model("eye_tracking")
    largest = max(t.elements for t in eye.tensors.values() if t.kind == "activation")
    assert eye.parameters + largest < 2 * 2**20
    hand = load_model("hand_tracking")
    assert [layer.dims["g"] for layer in hand.layers if "g" in layer.dims][:3] == [32, 96, 144]


def test_every_kind_of_entry(tmp_path: Path) -> None:
    text = HEAD + (
        "  - conv: {name: c, out_channels: size * 2, kernel: [3, 3], stride: 2, pad: same, act: relu6}\n"
        "  - conv: {name: d, groups: depthwise, kernel: 3, pad: 1, bias: false}\n"
        "  - pool: {kind: average, kernel: 2}\n"
        "  - split: {into: [lo, hi], sizes: [4, 12]}\n"
        "  - concat: {name: j, inputs: [hi, lo]}\n"
        "  - act: gelu_tanh\n"
        "    input: j\n"
        "  - reshape: {name: r, shape: [batch, size * 2, -1]}\n"
        "  - transpose: {name: t, order: [0, 2, 1]}\n"
        "  - rmsnorm:\n"
        "  - dense: {name: e, out: 10, act: swish}\n"
        "  - einsum: 'b m k, k n -> b m n'\n"
        "    sizes: {n: size - 3}\n"
        "    name: f\n"
        "    bias: true\n"
        "    act: tanh\n"
        "  - mul: [f, f]\n"
        "  - softmax: {}\n"
    )
    workload = load_model(write(tmp_path, text))
    check_workload(workload)
    assert workload_from_yaml(workload_to_yaml(workload)) == workload
    ops = [layer.op for layer in workload.layers]
    names = "Conv Conv AveragePool Concat Concat Gelu RMSNormalization Einsum Einsum Mul Softmax"
    assert ops == names.split()
    assert [view.op for view in workload.views] == ["Split", "Reshape", "Transpose"]
    steps = [[step.function for step in layer.steps] for layer in workload.layers if layer.kind == "matmul"]
    assert steps == [["requantise+clip"], ["requantise"], ["requantise", "swish"], ["requantise", "tanh"]]


def example(heading: str) -> str:
    """The indented text of a section of the page of operators."""
    section = (ROOT / "docs" / "operators.md").read_text().partition(heading)[2].partition("\n## ")[0]
    return "\n".join(line[4:] for line in section.splitlines() if line.startswith("    "))


def test_the_documented_block_loads(tmp_path: Path) -> None:
    workload = load_model(write(tmp_path, example("## Blocks in the full text form")))
    assert [layer.name for layer in workload.layers] == [f"mlp[{number}].up" for number in range(4)]
    assert [layer.inputs[0].tensor for layer in workload.layers] == ["x", "mlp[0].y", "mlp[1].y", "mlp[2].y"]
    assert workload.parameters == sum(each.elements for each in workload.tensors.values() if each.kind == "weight")
    assert workload.tensors["mlp[3].y"].kind == "output" and workload_from_yaml(workload_to_yaml(workload)) == workload


def test_the_documented_example_loads(tmp_path: Path) -> None:
    workload = load_model(write(tmp_path, example("## Workload files")))
    assert [layer.op for layer in workload.layers] == [
        *("Conv", "Conv", "GlobalAveragePool", "Einsum"),
        *("Einsum", "Einsum") * 2,  # the second of which adds
        "Einsum",
    ]


def test_the_full_text_form_is_read_too(tmp_path: Path) -> None:
    workload = load_model("eye_tracking")
    path = write(tmp_path, workload_to_yaml(workload))
    assert load_model(path) == workload
    with pytest.raises(ConfigError, match="states every extent"):
        load_model(path, batch=2)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "  - conv: {out_channels: 4, kernal: 3}",
            r":6:\d+: layers\[0\]\.conv: key 'kernel' is missing \(did you mean it by 'kernal'\?\)",
        ),
        ("  - conv: {out_channels: 4, kernel: 3, strid: 2}", r"unknown key 'strid'.*did you mean 'stride'"),
        ("  - conv: {out_channels: 4, kernel: 0}", r"layers\[0\]\.conv\.kernel: found 0; allowed 1 or more"),
        ("  - conv: {out_channels: 4, kernel: [1, 2, 3]}", "found 3 sizes; allowed 1 or 2"),
        ("  - conv: {out_channels: many, kernel: 3}", "'many' is no parameter"),
        ("  - conv: {out_channels: 2.5, kernel: 3}", "found 2.5; allowed a whole number"),
        ("  - conv: {out_channels: 4, kernel: 3, act: rellu}", "found 'rellu'.*did you mean 'relu'"),
        ("  - conv: {out_channels: 4, kernel: 3, groups: 2}", "do not divide into 2 groups"),
        ("  - conv: {out_channels: 4, kernel: 9, name: big}", r"node 'big' \(Conv\): window.*larger than its input"),
        ("  - conv: {out_channels: 4, kernel: 3, input: y}", "nothing is called 'y'; known: x"),
        ("  - conv: 3", r"layers\[0\]\.conv: found 3; allowed options in braces"),
        ("  - convv: {kernel: 3}", "found 'convv'; allowed one of.*did you mean 'conv'"),
        ("  - relu", "found 'relu'; allowed one of"),
        ("  - conv: {out_channels: 4, kernel: 3}\n    act: relu", "'act' stands beside 'conv'"),
        ("  - softmax: {name: x}", "the name 'x' is used before"),
        ("  - softmax: {axis: 7}", "axis 7; allowed -4 to 3"),
        ("  - einsum: 'n c h w -> n c'", "allowed two operands and a result"),
        ("  - einsum: 'n c h w, c k -> n k h w'", "the size of 'k' is not known; give it under 'sizes'"),
        ("  - einsum: 'n c h, c k -> n k h'", r"has 3 names, but 'x' has the shape \[1, 3, 8, 8\]"),
        ("  - add: {inputs: [x, 3]}", "allowed a list of names"),
        ("  - dense: {out: 1000000 * 1000000 * 1000000}", "larger than 2"),
        ("  - dense: {out: 4 // 0}", "a division by 0"),
        ("  - dense: {out: __import__('os')}", "only whole numbers, parameters"),
        ("  - dense: {out: 4, bias: perhaps}", "allowed true, false"),
        ("  - split: {}", "key 'into' is missing"),
        ("  - split: {into: [a, b], axis: 1, sizes: [1, 1]}", "do not divide axis 1"),
        ("  - act: {function: hard}", "did you mean 'hard_swish'|allowed"),
        ("  []", "has no layers"),
        (
            "  - conv: {out_channels: 4, kernel: 3}\n  - conv: {out_channels: 4, kernel: 3}\noutputs: [q]",
            "nothing is called 'q'",
        ),
        ("  - softmax: {}\nsurprise: 1", "workload.surprise: unknown key 'surprise'"),
    ],
)
def test_mistakes_name_line_key_and_what_is_allowed(tmp_path: Path, entry: str, message: str) -> None:
    path = write(tmp_path, HEAD + entry + "\n")
    with pytest.raises(ConfigError, match=message) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}:")


def test_mistakes_in_the_head(tmp_path: Path) -> None:
    body = "layers:\n  - gemm: {m: 2, n: 3, k: 4}\n"
    for head, message in [
        ("name: t\n", "key 'schema' is missing"),
        ("schema: archsim.workload/2\n", "found 'archsim.workload/2'; allowed archsim.workload/1"),
        ("schema: archsim.workload/1\ninputs: [x]\n", "inputs: found no mapping"),
        ("schema: archsim.workload/1\nparameters: {batch: -1}\n", "found -1; allowed 0 or more"),
        ("schema: archsim.workload/1\nname: !!python/name:os.system x\n", "tag"),
        ("schema: archsim.workload/1\nname: a\nname: b\n", "duplicate key 'name'"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_model(write(tmp_path, head + body))
    path = write(tmp_path, "schema: archsim.workload/1\nname: t\n" + body)
    assert load_model(path, batch=1).macs == 24
    with pytest.raises(ConfigError, match="no parameter 'batch'"):
        load_model(path, batch=2)
    with pytest.raises(ConfigError, match="no parameter 'sek'.*did you mean 'seq'"):
        load_model("bert_base_block", parameters={"sek": 2})


def test_expressions() -> None:
    names = {"a": 6, "b": 4}
    assert evaluate("(a + b) * 2 - -a // b", names) == 22
    for text in (
        "a ** b",
        "a if b else 1",
        "[a]",
        "a.b",
        "f(a)",
        "1.5",
        "True",
        "'x'",
        "a +",
        "a" * 300,
        "(" * 90 + "a",
    ):
        with pytest.raises(ValueError):
            evaluate(text, names)


# --- SCALE-Sim topologies ------------------------------------------------------------------------------------

CONV = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
GEMM = "Layer,M,N,K,\n"


def test_rows_with_and_without_commas_comments_and_blanks(tmp_path: Path) -> None:
    text = CONV + "\nA , 8, 9, 3, 3, 4, 5, 2,\n\nB,8,8,1,1,4,5,1\nC,8,8,1,1,4,5,1,#dw\nA,8,8,1,1,4,5,1, 2,\n"
    workload = load_model(write(tmp_path, text, "net.csv"))
    check_workload(workload)
    assert [layer.name for layer in workload.layers] == ["A", "B", "C", "A#7"]
    assert workload.layers[0].dims == {"n": 1, "p": 4, "q": 4, "k": 5, "c": 4, "r": 3, "s": 3}
    assert (workload.layers[3].dims["p"], workload.layers[3].dims["q"]) == (8, 5)
    assert {t.kind for t in workload.tensors.values()} == {"input", "weight", "output"}
    assert workload.name == "net" and workload.parameters == 4 * 5 * 9 + 3 * 20


def test_columns_are_what_their_header_says(tmp_path: Path) -> None:
    """Sizes in the order of their names; a column with another name is no stride."""
    text = "Layer, M, K, N, batch,\na,2,3,4,5,\n"
    gemm = load_model(write(tmp_path, text, "gemm.csv"))
    assert (gemm.layers[0].macs, gemm.parameters) == (2 * 3 * 4 * 5, 5 * 3 * 4)
    dims = gemm.layers[0].dims
    assert (dims["m"], dims["k"], dims["n"]) == (2, 3, 4)
    workload = load_model(write(tmp_path, CONV.replace("Strides,", "Strides, Padding, Groups,") + ROW, "net.csv"))
    assert (workload.layers[0].dims["p"], workload.layers[0].dims["q"]) == (6, 6)
    assert workload.warnings == tuple(
        f"{tmp_path}/net.csv:2: {name} '{text}' of 'a' is not known: ignored"
        for name, text in (("Padding", "2"), ("Groups", "3"))
    )
    strides = load_model(write(tmp_path, CONV.replace("Strides,", "Strides, Stride Width,") + ROW, "net.csv"))
    assert (strides.layers[0].dims["p"], strides.layers[0].dims["q"]) == (6, 4)
    assert strides.warnings == (f"{tmp_path}/net.csv:2: column 10 '3' of 'a' is not known: ignored",)


ROW = "a,8,8,3,3,4,5,1,2,3,\n"


def test_output_size_is_rounded_up(tmp_path: Path) -> None:
    """OH = ceil((IH - FH + S) / S): 224, 7, 2 gives 110 (a floor gives 109); the last window is padded."""
    workload = load_model(write(tmp_path, CONV + "conv1,224,224,7,7,3,64,2,\n", "net.csv"))
    assert workload.macs == 110 * 110 * 7 * 7 * 3 * 64


def test_zeros_of_each_side(tmp_path: Path) -> None:
    """As the topology: 224 values, 7 taps, steps of 2, one zero behind: 110 windows."""
    conv = "inputs: {x: [1, 3, 224, 224]}\nlayers:\n  - conv: {out_channels: 4, kernel: 7, stride: 2, pad: PADS}\n"
    head = "schema: archsim.workload/1\nname: one\n"
    found = load_model(write(tmp_path, head + conv.replace("PADS", "[0, 0, 1, 1]"), "net.yaml"))
    assert (found.layers[0].dims["p"], found.layers[0].dims["q"]) == (110, 110)
    with pytest.raises(ConfigError, match="found 3 sizes; allowed 1, 2 or 4"):
        load_model(write(tmp_path, head + conv.replace("PADS", "[0, 0, 1]"), "net.yaml"))


def test_depthwise_rows(tmp_path: Path) -> None:
    """Law 18: C * OH * OW * 9 MACs, whatever the file's number of filters times it."""
    workload = load_model(write(tmp_path, CONV + "conv2_DP,12,12,3,3,32,1,1,\n", "net.csv"))
    assert workload.layers[0].dims == {"n": 1, "g": 32, "p": 10, "q": 10, "k": 1, "c": 1, "r": 3, "s": 3}
    assert workload.layers[0].batch == ("g",) and workload.macs == 32 * 100 * 9


def test_gemm_rows_batches_and_sparsity(tmp_path: Path) -> None:
    workload = load_model(write(tmp_path, GEMM + "a,2,3,4,\nb,2,3,4,1:4,\nc,2,3,4,5,\nd,2,3,4,2:2,", "net.csv"))
    assert [layer.macs for layer in workload.layers] == [24, 24, 120, 24]
    assert workload.warnings == (f"{tmp_path}/net.csv:3: sparsity 1:4 of 'b' is not modelled: computed dense",)
    assert workload.layers[2].batch == ("b0",)
    assert load_model(tmp_path / "net.csv", batch=3).macs == 3 * workload.macs


def test_a_file_without_header_loses_no_row(tmp_path: Path) -> None:
    assert len(load_model(write(tmp_path, "a,2,3,4,\nb,2,3,4,\n", "net.csv")).layers) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONV + "a,8,8,3,3,4,5,\n", r"net\.csv:2: stride: found ''"),
        (CONV + "a,8,8,3,3,4,five,1,\n", "filters: found 'five'; allowed whole numbers from 1"),
        (CONV + "a,8,8,3,3,0,5,1,\n", "channels: found '0'"),
        (CONV + "a,2,8,3,3,4,5,1,\n", "filter 3x3 is larger than its input 2x8"),
        (GEMM + "a,2,3\n", "found 2 sizes; allowed name, M, N, K"),
        (GEMM, "has no layer"),
        ("", "has no layer"),
    ],
)
def test_broken_topologies(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_model(write(tmp_path, text, "net.csv"))


def test_binary_topologies(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="cannot be read as text"):
        load_model(tmp_path / "net.csv")


@pytest.mark.parametrize(
    ("row", "batch", "macs"),
    [("fc,16,8,4,", 1, 512), ("fc,16,8,4,", 2, 1024), ("fc,16,8,4,2", 1, 1024), ("fc,16,8,4,2", 2, 2048)],
)
def test_a_batch_and_several_products_multiply_a_product(row: str, batch: int, macs: int, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(f"Layer,M,N,K,\n{row}\n", encoding="utf-8")
    found = load_model(tmp_path / "one.csv", batch=batch)
    assert found.macs == macs and found.parameters == 8 * 4 * (2 if row.endswith("2") else 1)
