"""Front ends by the suffixes of their files: what a plugin may return, which options it is given, what it may bring."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, ModelError, NotBuiltError
from archsim.base.registry import PLUGINS_VARIABLE
from archsim.frontend import catalogue
from archsim.frontend.load import find_model, import_model, load_model, names

HEAD = """
from archsim.ir.graph import Graph, GraphNode, GraphValue
from archsim.frontend.load import load_model
SUFFIXES = (".mlir",)
OPTIONS = ()
def graph(rows):
    node = GraphNode("a", "Exp", ("x",), ("y",))
    return Graph("m", (node,), {"x": GraphValue("x", (rows, 3), "input")}, ("x",), ("y",))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.mlir"
    path.write_text("{}")
    return path


@pytest.fixture
def front_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a front end stands."""
    (tmp_path / "plugins" / "frontends").mkdir(parents=True)
    monkeypatch.setenv(PLUGINS_VARIABLE, str(tmp_path / "plugins"))
    return tmp_path / "plugins" / "frontends" / "mine.py"


def test_the_formats_of_the_tree() -> None:
    assert catalogue.suffixes() == {
        ".onnx": "onnx", ".csv": "scalesim_csv", ".json": "published_config", ".pt2": "torch_export",
        ".yaml": "workload_yaml", ".yml": "workload_yaml",
    }  # fmt: skip
    assert {name: catalogue.get(name).OPTIONS for name in catalogue.names()}["onnx"] == (
        "batch", "on_unsupported", "lookups",
    )  # fmt: skip


def test_a_format_that_nothing_reads_yet_may_be_a_plugins(model: Path, front_end: Path) -> None:
    with pytest.raises(NotBuiltError, match=r"\.mlir is not built yet"):
        load_model(model)
    front_end.write_text(HEAD + "def load(path, asked): return graph(2)\n")
    found = import_model(model)
    assert [layer.op for layer in found.workload.layers] == ["Exp"] and found.workload.batch == 2
    assert found.graph is not None and len(found.workload.sha256) == 64
    assert catalogue.stored(model) == {} and catalogue.native(model) is None


def test_a_workload_may_be_returned(model: Path, front_end: Path) -> None:
    front_end.write_text(HEAD + "def load(path, asked): return load_model('eye_tracking')\n")
    assert load_model(model) == load_model("eye_tracking")


@pytest.mark.parametrize(
    ("text", "options", "error", "says"),
    [
        ("def load(path, asked): return 3\n", {}, ConfigError, "mine.py: load returned int; allowed Graph, Workload"),
        ("def load(path, asked): return graph(2)\n", {"batch": 4}, ConfigError, "has no batch to set; .*in .onnx, .j"),
        ("def load(path, asked): return graph(2)\n", {"parameters": {"a": 1}}, ConfigError, "has no parameters to set"),
        ("def load(path, asked): return graph(2)\n", {"lookups": {"a": "x"}}, ConfigError, "has no lookups to set"),
        (
            "OPTIONS = ('batch',)\ndef load(path, asked): return graph(2)\n",
            {"batch": 4}, ModelError, "batch: found 4; the graph that was read has 2 rows",
        ),
        ("OPTIONS = ('batchh',)\ndef load(path, asked): ...\n", {}, ConfigError, "OPTIONS: found 'batchh'; allowed b"),
        ("SUFFIXES = ('.csv',)\ndef load(path, asked): ...\n", {}, ConfigError, "'mine' and 'scalesim_csv' both read"),
        ("def load(path, asked): ...\ndef models(): ...\n", {}, ConfigError, "does not define describe; .*NamedModels"),
        (
            "def load(path, asked): return Graph('m', (GraphNode('a', 'Nope', ('x',), ('y',)),),\n"
            "    {'x': GraphValue('x', (1,), 'input')}, ('x',), ('y',))\n",
            {}, ModelError, r"net\.mlir: node 'a' \(Nope\): operator 'Nope' has no rule",
        ),
    ],
)  # fmt: skip
def test_what_a_front_end_may_not_do(
    model: Path, front_end: Path, text: str, options: dict[str, object], error: type[Exception], says: str
) -> None:
    front_end.write_text(HEAD + text)
    with pytest.raises(error, match=says):
        load_model(model, **options)  # type: ignore[arg-type]


def test_models_by_name_and_numbers(model: Path, front_end: Path) -> None:
    front_end.write_text(
        f"from pathlib import Path\n{HEAD}def load(path, asked): return graph(2)\n"
        f"def models(): return {{'my_net': Path({str(model)!r})}}\ndef describe(path): return 'a net, ' + path.suffix\n"
        "def stored(path): return {'w': 1}\n"
        "def runtime(): return 'theirs 1'\ndef execute(path, replaced, inputs, wanted): return {'y': path}\n"
    )
    assert names()["my_net"] == "a net, .mlir" and find_model("My-Net") == ("my_net", model, "")
    assert catalogue.stored(model) == {"w": 1}
    native = catalogue.native(model)
    assert native is not None and native.runtime() == "theirs 1"
    assert native.execute(model, {}, {}, ()) == {"y": model}
