"""Tutorials, how-to pages and explanations are worked through as a reader would, block by block, each in its folder.

What a command prints has to be what its page shows; ``python -m tests.tools.pages --write PAGE`` renews the pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.commands import ROOT, cache_of_its_own
from tests.tools.pages import Block, Command, Session, blocks, commands, tidy, work_through

pytestmark = pytest.mark.slow

PAGES = [
    page for part in ("tutorials", "how-to", "explanation") for page in sorted((ROOT / "docs" / part).glob("*.md"))
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all pages: what is in it changes no output, and mappings are searched once."""
    return cache_of_its_own(tmp_path_factory.mktemp("pages") / "cache")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_prints_what_it_shows(page: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCHSIM_CACHE", str(cache))
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("ARCHSIM_PLUGINS", "ARCHSIM_CONFIGS"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "reader"
    folder.mkdir()
    for shown, printed in work_through(page, Session(folder, cache)).items():
        assert tidy(printed) == tidy(shown)


def test_every_tutorial_has_blocks_that_run() -> None:
    tutorials = [page for page in PAGES if page.parent.name == "tutorials" and page.stem != "index"]
    assert len(tutorials) >= 6
    for page in tutorials:
        assert any(block.language == "console" for block in blocks(page.read_text(encoding="utf-8"))), page.name


def test_blocks_and_commands_are_found() -> None:
    text = 'words\n```yaml title="a.yaml"\nx: 1\n```\n```console\n$ archsim a\none\n$ ls\n```\n'
    found = blocks(text)
    assert found == [Block("yaml", "a.yaml", "x: 1\n", 2), Block("console", None, "$ archsim a\none\n$ ls\n", 5)]
    assert list(commands(found[1].body)) == [Command("archsim a", "one\n"), Command("ls", "")]


def test_a_page_that_shows_something_else_is_found(tmp_path: Path, cache: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('```console\n$ printf "one\\ntwo\\n"\none\n```\n')
    assert work_through(page, Session(tmp_path, cache)) == {
        '$ printf "one\\ntwo\\n"\none\n': '$ printf "one\\ntwo\\n"\none\ntwo\n'
    }
    page.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        work_through(page, Session(tmp_path, cache))
    page.write_text("```console\n$ false\n```\n")
    with pytest.raises(AssertionError, match="exit code 1"):
        work_through(page, Session(tmp_path, cache))
    page.write_text("```perl\nprint 1\n```\n")
    with pytest.raises(AssertionError, match="nothing runs"):
        work_through(page, Session(tmp_path, cache))
