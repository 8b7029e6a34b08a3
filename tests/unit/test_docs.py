"""README and docs: links lead somewhere, the promise table is the one of the reports, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archsim.cli_options import LATER_COMMANDS
from archsim.report.markdown import table
from archsim.report.promise import HEADINGS, PROMISES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def test_readme_carries_the_promise_table() -> None:
    assert table(HEADINGS, "llll", PROMISES) in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [link for link in targets if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_readme_uses_only_commands_that_exist() -> None:
    used = set(re.findall(r"^\s{4}archsim (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert used == {"show", "run", "map", "asm", "validate", "report"}
    assert not used & set(LATER_COMMANDS)


def test_every_law_asserted_is_listed() -> None:
    listed = {int(number) for number in re.findall(r"^(\d+)\. ", (ROOT / "docs" / "laws.md").read_text(), re.MULTILINE)}
    cited = {
        int(number)
        for path in (ROOT / "tests").rglob("*.py")
        for number in re.findall(r"\b[Ll]aw (\d+)", path.read_text())
    }
    assert cited <= listed | {28, 29, 30, 31}
