"""The .pt2 front end, without torch: stored programs, what is read of an archive, open sizes, refusals."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archsim
from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.load import import_model
from archsim.frontend.torch.numbers import of_archive
from archsim.frontend.torch.program import TorchGraph, TorchProgram
from archsim.frontend.torch.sizes import OpenSizes
from tests.tools.mutation_seeds import GOLDEN

FOLDER = GOLDEN / "torch"


def members(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(FOLDER / f"{name}.pt2") as archive:
        return {item.filename: archive.read(item) for item in archive.infolist()}


def packed(path: Path, found: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in found.items():
            archive.writestr(name, data)
    return path


def changed(path: Path, name: str, change: Callable[[Any], None]) -> Path:
    """A stored program with a change to its document."""
    found = members(name)
    member = f"{name}/models/model.json"
    document = json.loads(found[member])
    change(document)
    return packed(path, {member: json.dumps(document).encode()})


def nodes(document: Any) -> Any:
    return document["graph_module"]["graph"]["nodes"]


def tensors(document: Any) -> Any:
    return document["graph_module"]["graph"]["tensor_values"]


def test_an_image_network_has_the_layers_macs_and_parameters_of_its_modules() -> None:
    found = import_model(FOLDER / "images.pt2").workload
    assert [(layer.name, layer.op, layer.macs) for layer in found.layers] == [
        ("conv", "Conv", 2 * 16 * 16 * 8 * 3 * 9),
        ("pool", "MaxPool", 0),
        ("adaptive_avg_pool2d", "ReduceMean", 0),
        ("head", "Gemm", 2 * 8 * 5),
    ]
    assert found.layers[0].fused == ("norm", "act")
    assert found.parameters == 8 * 27 + 8 + 8 + 8 * 5 + 5
    assert found.batch == 2


def test_a_block_of_llama_is_put_together() -> None:
    """Rows 16, width 32, 4 heads of queries of 8 elements over 2 of keys and values, 48 hidden."""
    found = import_model(FOLDER / "block.pt2").workload
    products = {layer.name: layer.macs for layer in found.layers if layer.op == "MatMul"}
    linear = {"q": 32 * 32, "k": 32 * 16, "v": 32 * 16, "o": 32 * 32, "gate": 32 * 48, "up": 32 * 48, "down": 48 * 32}
    scores = 4 * (16 * 17 // 2) * 8  # each row of queries sees the keys up to its own
    attention = {f"scaled_dot_product_attention.{part}": scores for part in ("scores", "context")}
    assert products == {name: 16 * each for name, each in linear.items()} | attention
    kinds = Counter(layer.op for layer in found.layers)
    assert kinds == {"MatMul": 9, "RMSNormalization": 2, "RotaryEmbedding": 2, "Softmax": 1}
    assert found.parameters == sum(linear.values()) + 2 * 32


def test_bags_of_rows_and_rows_that_are_picked() -> None:
    found = import_model(FOLDER / "bags.pt2").workload
    assert sum(layer.macs for layer in found.layers) == 4 * 2 * 2 * 8
    assert [layer.op for layer in found.layers if layer.name.startswith("tables.0")] == ["EmbeddingBag"]
    assert found.parameters == 2 * 50 * 8


def test_nothing_but_the_program_is_read(tmp_path: Path) -> None:
    """Other members may be anything, and pickles in them are never opened."""
    found = members("block")
    wanted = import_model(FOLDER / "block.pt2").workload
    kept = ("models/model.json", "_config.json")
    spoiled = {name: data if name.endswith(kept) else b"\x80\x04cos\nsystem\n" for name, data in found.items()}
    for number, other in enumerate((spoiled, {"block/models/model.json": found["block/models/model.json"]})):
        again = import_model(packed(tmp_path / f"{number}.pt2", other)).workload
        assert (again.layers, again.tensors, again.parameters) == (wanted.layers, wanted.tensors, wanted.parameters)


def numbers_file(tmp_path: Path, spoil: Callable[[dict[str, bytes]], None]) -> Path:
    """The block with two of its stored tensors as an index list and a constant."""
    found = members("bags")
    entry = {"path_name": "tensor_0", "is_param": False, "use_pickle": False, "tensor_meta": {
        "dtype": 5, "sizes": [{"as_int": 3}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7,
        "device": {"type": "cpu"}}}  # fmt: skip
    found["bags/data/constants/model_constants_config.json"] = json.dumps({"config": {"list": entry}}).encode()
    found["bags/data/constants/tensor_0"] = np.asarray([2, 0, 1]).tobytes()
    spoil(found)
    return packed(tmp_path / "numbers.pt2", found)


def test_small_constants_are_read(tmp_path: Path) -> None:
    path = numbers_file(tmp_path, lambda found: None)
    with zipfile.ZipFile(path) as archive:
        listed = json.loads(archive.read("bags/data/constants/model_constants_config.json"))
        found = of_archive(archive, "/data/constants/", listed, is_constant=True)
        assert {name: data.tolist() for name, data in found.items()} == {"list": [2, 0, 1]}
        listed["config"]["list"]["is_param"] = True
        assert of_archive(archive, "/data/constants/", listed, is_constant=True) == {}


@pytest.mark.parametrize("spoil", [lambda found: found.pop("bags/data/constants/tensor_0"),
                                   lambda found: found.update({"bags/data/constants/tensor_0": b"1234"})])  # fmt: skip
def test_small_constants_that_are_not_there_are_said(tmp_path: Path, spoil: Callable[[dict[str, bytes]], None]) -> None:
    with pytest.raises(ModelError, match=r"'list' of shape \[3\] needs 24 bytes at /data/constants/tensor_0"):
        import_model(numbers_file(tmp_path, spoil))


@pytest.mark.parametrize("asked", [{"batch": 3}, {"parameters": {"s77": 3}}])
def test_an_open_dimension_is_stated(asked: dict[str, Any]) -> None:
    found = import_model(FOLDER / "images_open.pt2", **asked).workload
    assert found.batch == 3
    assert sum(layer.macs for layer in found.layers) == 3 * (16 * 16 * 8 * 27 + 8 * 5)


@pytest.mark.parametrize(
    ("name", "asked", "said"),
    [
        ("images_open", {}, "'x': its dimension 's77' is open; state it, as in --parameter s77=8"),
        ("images_open", {"parameters": {"s77": 65}}, "--parameter s77: found 65; allowed 1 to 64"),
        ("images_open", {"parameters": {"s7": 2}}, "no dimension is called 's7' (did you mean 's77'?); there are: s77"),
        ("images", {"parameters": {"rows": 2}}, "no dimension is called 'rows'; all its dimensions are fixed"),
        ("images", {"batch": 3}, "batch: found 3; the graph that was read has 2 rows of inputs"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(name: str, asked: dict[str, Any], said: str) -> None:
    with pytest.raises((ModelError, ConfigError)) as refused:
        import_model(FOLDER / f"{name}.pt2", **asked)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("formula", "number"),
    [
        ("Symbol('n', positive=True, integer=True)", 6),
        ("Mul(Integer(2), Symbol('n'))", 12),
        ("Add(Integer(-1), Pow(Symbol('n'), Integer(2)))", 35),
        ("Max(Integer(4), Mod(Symbol('n'), Integer(4)))", 4),
        ("Add(FloorDiv(Symbol('n'), Integer(4)), CeilDiv(Symbol('n'), Integer(4)))", 3),
        (17, 17),
    ],
)
def test_formulas_of_sizes(formula: str | int, number: int) -> None:
    program = TorchProgram(TorchGraph((), (), (), {}), {}, {"n": (1, None)})
    assert OpenSizes(program, {"rows": 6}, {"n": "rows"}).size(formula, "x") == number


@pytest.mark.parametrize("formula", ["__import__('os')", "Pow(Integer(9), Integer(99999))", "f(", "Integer(1.5)", "n"])
def test_what_is_no_formula_is_refused(formula: str) -> None:
    with pytest.raises(ModelError, match="'x': its size"):
        OpenSizes(TorchProgram(TorchGraph((), (), (), {}), {}), {}, {}).size(formula, "'x'")


def _target(name: str) -> Callable[[Any], None]:
    return lambda document: nodes(document)[0].update(target=name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_target("torch.ops.aten.kthvalue.default"), "'conv' (aten.kthvalue.default): there is no rule for it"),
        (_target("torch.ops.mine.op.default"), "'conv' (aten.mine.op.default): there is no rule for it"),
        (lambda found: found["schema_version"].update(major=9), "schema version 9; allowed 8"),
        (lambda found: found.pop("graph_module"), "allowed an object with 'graph_module'"),
        (lambda found: nodes(found)[0]["inputs"].pop(1), "'conv' (aten.conv2d.default): 'weight' is not a tensor"),
        (lambda found: nodes(found).pop(0), "'conv2d' is read, but no call makes it"),
        (
            lambda found: tensors(found)["conv2d"]["sizes"].__setitem__(1, {"as_int": 9}),
            "makes [2, 8, 16, 16], but the program states [2, 9, 16, 16]",
        ),
        (
            lambda found: nodes(found)[1]["inputs"][5]["arg"].update(as_bool=True),
            "takes mean and variance of the batch; call eval() on the module",
        ),
        (
            lambda found: tensors(found)["x"].update(dtype=10),
            "tensor_values.x.dtype: found 10; allowed a type of real numbers",
        ),
    ],
)  # fmt: skip
def test_programs_that_do_not_fit_are_refused_by_name(tmp_path: Path, change: Callable[[Any], None], said: str) -> None:
    path = changed(tmp_path / "bad.pt2", "images", change)
    with pytest.raises(ModelError) as refused:
        import_model(path)
    assert said in str(refused.value) and str(refused.value).startswith(str(path))


def test_a_call_without_a_rule_may_run_on_the_host(tmp_path: Path) -> None:
    def act(document: Any) -> None:
        nodes(document)[2]["target"] = "torch.ops.aten.special_i0.default"

    found = import_model(changed(tmp_path / "host.pt2", "images", act), on_unsupported="host").workload
    assert [layer.name for layer in found.layers if layer.kind == "host"] == ["act"]
    assert sum(layer.macs for layer in found.layers) == 2 * (16 * 16 * 8 * 27 + 8 * 5)


def test_writing_into_what_has_a_view_is_refused(tmp_path: Path) -> None:
    """relu_ of a tensor whose view is read afterwards changes the view too."""

    def view(document: Any) -> None:
        graph = document["graph_module"]["graph"]
        norm, act = nodes(document)[1], nodes(document)[2]
        seen = {"name": "self", "arg": {"as_tensor": {"name": norm["outputs"][0]["as_tensor"]["name"]}}, "kind": 1}
        graph["nodes"].insert(2, {**act, "target": "torch.ops.aten.alias.default", "inputs": [seen],
                                  "outputs": [{"as_tensor": {"name": "seen"}}], "name": "seen"})  # fmt: skip
        graph["tensor_values"]["seen"] = graph["tensor_values"]["x"] | {
            "sizes": graph["tensor_values"][act["outputs"][0]["as_tensor"]["name"]]["sizes"]
        }
        graph["outputs"].append({"as_tensor": {"name": "seen"}})

    with pytest.raises(ModelError, match="writes into memory that 'seen' is a view of, or has a view of"):
        import_model(changed(tmp_path / "views.pt2", "images", view))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no archive of torch.export"),
        (b"PK\x03\x04 and so on", "no archive of torch.export"),
    ],
)
def test_files_that_are_no_archive(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "bad.pt2"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=said):
        import_model(path)


def test_archives_without_one_program(tmp_path: Path) -> None:
    program = members("images")["images/models/model.json"]
    for found, said in (
        ({"images/data/x": b""}, "holds none; allowed one models/NAME.json"),
        ({"models/a.json": program, "models/b.json": program}, "holds 'models/a.json', 'models/b.json'; allowed one"),
        ({"models/a.json": b"{"}, "the program in it is no JSON"),
        ({"models/a.json": b"[" * 200_000}, "the program in it is no JSON"),
    ):
        with pytest.raises(ModelError) as refused:
            import_model(packed(tmp_path / "bad.pt2", found))
        assert said in str(refused.value)


def test_tied_weights_are_one(tmp_path: Path) -> None:
    """Two tables whose numbers lie in one member are one parameter."""
    found = members("bags")
    name = next(name for name in found if name.endswith("model_weights_config.json"))
    config = json.loads(found[name])
    for entry in config["config"].values():
        entry["path_name"] = "weight_0"
        entry["tensor_meta"]["device"] = {"type": "cpu", "index": None}
    tied = import_model(packed(tmp_path / "tied.pt2", {**found, name: json.dumps(config).encode()})).workload
    assert tied.parameters == 50 * 8
    assert import_model(FOLDER / "bags.pt2").workload.parameters == 2 * 50 * 8


def test_without_torch_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ConfigError, match=r"from_torch needs torch, which is not installed: pip install torch==2\.13\.0"
    ):
        archsim.from_torch(object())


@pytest.mark.parametrize("inputs", [3, "x", {"x": 1}])
def test_example_inputs_are_a_tuple_or_a_list(inputs: Any) -> None:
    """A tensor alone would be taken as a list of its rows."""
    with pytest.raises(ConfigError, match=f"example_inputs: found {type(inputs).__name__}; allowed a tuple or list"):
        archsim.from_torch(object(), inputs)


def test_stored_programs_are_small_and_name_no_folder() -> None:
    for path in FOLDER.glob("*.pt2"):
        assert path.stat().st_size < 30_000
        assert b"stack_trace" not in members(path.stem)[f"{path.stem}/models/model.json"]
        assert zipfile.is_zipfile(io.BytesIO(path.read_bytes()))
