"""Text from files is data: what each form makes of it."""

from __future__ import annotations

import ast
import csv
import io
import json
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from archsim.base import plain
from archsim.report.kit.console import PlainConsole

HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs")
ROOT = Path(__file__).resolve().parents[2]
EVIL = [
    "\x1b[31mred\x1b[0m",
    "a\x00b",
    "\u202eevil",
    "\u200bhidden",
    "\x9b31m",
    "[bold]no[/italic]",
    ":smiley:",
    "=1+1",
    "\t=1+1",
    "\r=1+1",
    "-cmd|x",
    "<script>alert(1)</script>",
    "[a](http://b)",
    "![a](http://b)",
    "\U000e0041tag",
    "$x^{$",
]


def test_every_hidden_character_of_unicode_becomes_an_escape_and_no_other_changes() -> None:
    for point in range(0x110000):
        category, shown = unicodedata.category(chr(point)), plain.visible(chr(point))
        if category != "Cn":  # not assigned, by the Unicode of this Python
            assert (shown != chr(point)) == (category in HIDDEN), f"U+{point:04X}"
        assert shown.isascii() or shown == chr(point)


@given(st.text())
@settings(max_examples=60)
def test_visible_text_in_json_is_the_same_json(text: str) -> None:
    said = json.dumps({"name": text}, ensure_ascii=False)
    assert json.loads(plain.visible(said, keep="\n")) == {"name": text}
    assert plain.visible(plain.visible(text)) == plain.visible(text)


@pytest.mark.parametrize("text", EVIL)
def test_a_terminal_shows_text_as_it_stands(text: str) -> None:
    out = io.StringIO()
    console = PlainConsole()
    console.file = out
    grid = Table(text)
    grid.add_row(text)
    grid.add_row(Text(text))
    console.print(grid)
    console.print(text)
    console.print(Text(text, style="bold"))
    found = out.getvalue()
    assert all(unicodedata.category(letter) not in HIDDEN for letter in found.replace("\n", ""))
    assert found.count(plain.visible(text)) >= 3  # of five; in a Text of its own Rich itself drops tabs and returns
    lines = found.split("\n")[:4]
    assert len({len(line) for line in lines}) == 1  # columns stay columns


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("@x", "'@x"),
        ("\uff1d1", "'\uff1d1"),
        ("\t=1", "\\u0009=1"),
        ("\r=1", "\\u000d=1"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("a=1", "a=1"),
        ("conv-1", "conv-1"),
        (-5, -5),
        (None, None),
    ],
)
def test_cells_of_spreadsheets_are_no_formulas(text: object, shown: object) -> None:
    assert plain.cell(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<b>", "&lt;b>"),
        ("[a](b)", "[a]\\(b)"),
        ("[a]: b", "[a]\\: b"),
        ("core[2].array", "core[2].array"),
        ("+14.4 %", "+14.4 %"),
        ("*a*", "\\*a\\*"),
        ("_a_ b_c", "\\_a\\_ b_c"),
        ("`a`", "\\`a\\`"),
        ("&lt;", "&amp;lt;"),
        ("a & b", "a & b"),
        ("# a", "\\# a"),
        ("- a", "\\- a"),
        ("1. a", "1\\. a"),
        ("1.5 a", "1.5 a"),
        ("a\nb", "a b"),
        ("\x1b[0m", "\\\\u001b[0m"),
    ],
)
def test_markdown_has_no_meaning_in_texts(text: str, shown: str) -> None:
    assert plain.markdown(text) == shown


def test_code_and_html_and_labels() -> None:
    assert plain.code("a`b") == "`` a`b ``"
    assert plain.code("l1.size") == "`l1.size`"
    assert plain.html("<a b=\"c\" d='e'>\x00&") == "&lt;a b=&quot;c&quot; d=&#x27;e&#x27;&gt;\\u0000&amp;"
    assert plain.label("$x$") == r"\$x\$"


def test_exports_of_a_sweep_hold_no_formulas(tmp_path: Path) -> None:
    from openpyxl import load_workbook

    from archsim.lab.kit.tabular import plain as without_formulas

    rows = without_formulas(pd.DataFrame({"=head": EVIL, "number": range(len(EVIL))}))
    rows.to_excel(tmp_path / "t.xlsx", index=False)
    sheet = load_workbook(tmp_path / "t.xlsx").active
    assert {cell.data_type for column in sheet.iter_cols() for cell in column} <= {"s", "n"}
    found = list(csv.reader(io.StringIO(rows.to_csv(index=False))))
    assert not [cell for row in found for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_everything_is_printed_through_the_two_places_that_make_it_plain() -> None:
    """No other module of the program prints, writes to stdout, or makes a console of its own."""
    allowed = {"printing.py", "console.py", "entries.py"}  # the last: made plain there
    wrong = []
    for path in (ROOT / "archsim").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and path.name not in allowed:
                name = ast.unparse(node.func)
                if name in ("print", "sys.stdout.write", "sys.stderr.write", "Console", "html.escape", "escape"):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")
    assert not wrong


def test_only_what_moves_the_cursor_stays_as_it_is() -> None:
    """Control codes of a progress bar are this program's own; the same characters in a text are made visible."""
    console = PlainConsole()
    (moved,) = console.render(Control.move_to(1, 2))
    assert moved.control and moved.text == "\x1b[3;2H"
    (segment,) = console.render(_Raw())
    assert (segment.text, segment.style) == ("bell\\u0007\n", Style(bold=True))


class _Raw:
    """Puts a segment on the terminal without a Text."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment("bell\x07\n", Style(bold=True))
