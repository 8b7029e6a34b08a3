"""The pages of a run and of a comparison, word for word: tests/golden/pages/ holds them without styles and pictures.

``python -m tests.golden.test_pages`` writes all anew; look at the difference before you keep it.
"""

from __future__ import annotations

import copy
import io
import re
from pathlib import Path
from typing import Any

import pytest

from archsim.lab.compare.runs import compare
from archsim.report.compare import page as compare_page
from archsim.report.compare import terminal as compare_terminal
from archsim.report.kit.console import PlainConsole
from archsim.report.run import html, markdown, notebook, terminal
from archsim.report.run.summary import summarise
from tests.unit.fixtures_result import WHY, make_result

HERE = Path(__file__).parent / "pages"
LEFT_OUT = re.compile(r"<(style|script|svg)\b.*?</\1>", re.DOTALL)
LAYERS = 3


def run() -> dict[str, Any]:
    """The summary of a run of three layers."""
    return summarise(make_result(LAYERS), WHY)


def changed(summary: dict[str, Any]) -> dict[str, Any]:
    """Another run: two layers take as many cycles more, and other energy; a third less."""
    other = copy.deepcopy(summary)
    for place, (cycles, energy) in enumerate(((5000, 1.5), (5000, 3.0), (-200, 1.0))):
        row = other["layers"][place]
        row["cycles_total"] += cycles
        row["cycles_critical"] += cycles
        row["energy_j"] *= energy
    other["cycles_total"] += 9800
    other["energy_j"] *= 1.01
    return other


def printed(shown: Any, what: Any) -> str:
    console = PlainConsole()
    console.file, console.width = io.StringIO(), 100
    shown(what, console)
    return console.file.getvalue()


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    summary = run()
    told = compare([summary, changed(summary)], ["base", "other"]).told
    made = {
        "run.html": html.render(summary),
        "run.md": markdown.render(summary),
        "run.txt": printed(terminal.show, summary),
        "card.html": notebook.card(summary),
        "compare.html": compare_page.html(told),
        "compare.md": compare_page.markdown(told),
        "compare.txt": printed(compare_terminal.show, told),
    }
    return {name: LEFT_OUT.sub(r"<\1/>", text) for name, text in made.items()}


@pytest.mark.parametrize("path", sorted(HERE.iterdir()), ids=lambda path: path.name)
def test_a_page_says_what_it_said(path: Path) -> None:
    assert pages()[path.name] == path.read_text(encoding="utf-8")


def test_every_page_is_among_them() -> None:
    assert set(pages()) == {path.name for path in HERE.iterdir()}


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for each, text in pages().items():
        (HERE / each).write_text(text, encoding="utf-8")
