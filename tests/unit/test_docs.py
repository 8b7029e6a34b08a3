"""README and docs: links lead somewhere, the promise table is the one of the reports, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from archsim.report.markdown import table
from archsim.report.promise import HEADINGS, PROMISES
from tests.laws.statements import GROUPS, WAITING
from tests.laws_page import claims

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
    known = {"show", "run", "map", "asm", "validate", "report", "verify", "dram", "noc", "sweep", "compare", "import"}
    assert used == known


def test_the_page_of_laws_names_the_tests_that_exist() -> None:
    """Cases may be stale (``make laws`` counts them anew); tests, their statements and the laws may not."""
    listed = dict(re.findall(r"^- `([^`]+)`: (.*)$", (ROOT / "docs" / "laws.md").read_text(), re.MULTILINE))
    assert listed == {claim.place: claim.text for claim in claims()}


def test_every_law_is_asserted_or_waits() -> None:
    stated = {number for laws in GROUPS.values() for number in laws}
    assert stated == {*range(1, 49), 61}
    page = (ROOT / "docs" / "laws.md").read_text()
    waiting = {int(number) for number in re.findall(r"^\*\*(\d+)\.\*\* \*", page, re.MULTILINE)}
    assert waiting <= set(WAITING)
