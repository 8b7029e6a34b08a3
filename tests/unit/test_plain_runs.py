"""A model whose names are an attack: run, written, exported, compared and explained without any of it taking effect."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fixtures_onnx import model, random, save
from onnx import helper

from archsim.base.errors import ModelError
from archsim.cli.app import main
from archsim.frontend.onnx.read import read_model
from tests.unit.fixtures_scenario import CHIP

NAMES = [
    "=cmd|' /C calc'!A0",
    "[bold red]x[/nothing]",
    "\x1b]0;title\x07\x1b[31m",
    "\u202e<img src=x onerror=alert(1)>",
    "@a|b\x00[c](javascript:alert(1))",
]


def call(*arguments: str) -> object:
    """The exit code of a command in this process."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a run of the model, and what it printed."""
    folder = tmp_path_factory.mktemp("evil")
    nodes, last = [], "x"
    for number, name in enumerate(NAMES):
        result = f"y{number}" if number == len(NAMES) - 1 else f"{name} out"
        nodes.append(helper.make_node("Conv", [last, f"{name} w"], [result], name=name, pads=[1, 1, 1, 1]))
        last = result
    weights = {f"{name} w": random(4, 4, 3, 3) for name in NAMES}
    path = save(folder, model(nodes, {"x": (1, 4, 8, 8)}, [last], weights))
    with pytest.MonkeyPatch.context() as patch:
        text = io.StringIO()
        patch.setattr("sys.stdout", text)
        call("run", str(path), "--on", str(CHIP), "--out", str(folder / "out"))
    return folder / "out", text.getvalue()


def hidden(text: str) -> list[str]:
    return [letter for letter in text if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp")]


def test_the_terminal_shows_the_names_as_they_are(out: tuple[Path, str]) -> None:
    assert not hidden(out[1])
    assert "[bold red]x[/nothing]" in out[1] and "\\u001b]0;" in out[1]


def test_csv_has_no_formula(out: tuple[Path, str]) -> None:
    rows = list(csv.reader((out[0] / "layers.csv").open(encoding="utf-8", newline="")))
    names = [row[0] for row in rows[1:]]
    assert "'=cmd|' /C calc'!A0" in names
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@", "\t", "\r")) or hidden(cell)]


def test_pages_hold_no_element_of_a_name(out: tuple[Path, str]) -> None:
    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag != "img"
            assert not [name for name, _ in attrs if name.startswith("on")]

    page = (out[0] / "report.html").read_text(encoding="utf-8")
    Tags().feed(page)
    assert not hidden(page.replace("\t", ""))
    assert "&lt;img src=x" in page


def test_markdown_holds_no_link_or_element_of_a_name(out: tuple[Path, str]) -> None:
    text = (out[0] / "report.md").read_text(encoding="utf-8")
    assert not hidden(text)
    assert "<img" not in text and "[c]\\(javascript" in text
    rows = [line for line in text.split("\n") if "Conv" in line and line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1


def test_json_keeps_the_names(out: tuple[Path, str]) -> None:
    found = json.loads((out[0] / "summary.json").read_text(encoding="utf-8"))
    assert set(NAMES) <= {layer["name"] for layer in found["layers"]}


@pytest.mark.parametrize("command", [["asm"], ["map"], ["run", "--format", "json"]], ids=lambda command: command[0])
def test_other_commands_print_nothing_hidden(
    command: list[str], out: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    call(command[0], str(out[0].parent / "model.onnx"), "--on", str(CHIP), *command[1:])
    text = capsys.readouterr().out
    assert not hidden(text)
    if command[1:]:
        assert set(NAMES) <= {layer["name"] for layer in json.loads(text)["layers"]}


def test_the_program_of_the_model_reads_back_and_its_pictures_can_be_drawn(out: tuple[Path, str]) -> None:
    from archsim.report.run import plots
    from archsim.report.run.summary import load

    summary = load(out[0])
    summary["layers"][0]["name"] = summary["details"]["timeline"][0]["layer"] = "$x^{$"
    summary["details"]["critical"]["$x^{$"] = {}
    for draw in (plots.timeline, plots.stalls, plots.energy, plots.waterfall):
        draw(summary).savefig(io.BytesIO(), format="svg")


def test_errors_show_names_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = helper.make_node("\x1b[31mNoSuchOp", ["x"], ["y"], name="[/red]\x00")
    path = save(tmp_path, model([node], {"x": (1, 4)}, ["y"]))
    assert call("run", str(path), "--on", str(CHIP)) == 2
    assert not hidden(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (b"a\x00b", r"at 'a\\x00b'; allowed paths without NUL"),
        (b"\xff\xfe\xfd", r"at b'\\xff\\xfe\\xfd'; allowed paths"),
    ],
    ids=["NUL", "no text"],
)
def test_an_external_location_that_is_no_path_is_an_error_in_words(tmp_path: Path, place: bytes, says: str) -> None:
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": (1, 4)}, ["y"], {"w": random(4, 4)})
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    tensor.external_data.add(key="location", value="###")
    path = save(tmp_path, proto)
    path.write_bytes(path.read_bytes().replace(b"###", place))
    with pytest.raises(ModelError, match=f"tensor 'w' has its data {says}"):
        read_model(path)
