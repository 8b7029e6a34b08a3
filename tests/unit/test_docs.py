"""README and docs: links lead somewhere, the promise table is the one of the reports, commands exist."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.report.kit.promises import HEADINGS, PROMISES
from archsim.report.kit.table_markdown import table
from tests.laws.statements import GROUPS, WAITING
from tests.laws_page import Claim, cases_by_law, claims
from tests.laws_page import page as page_of_laws
from tests.tools import area_page
from tests.tools.models_page import models_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_readme_carries_the_promise_table() -> None:
    assert table(HEADINGS, "llll", PROMISES) in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [link for link in targets if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_readme_uses_only_commands_that_exist() -> None:
    used = set(re.findall(r"^\s{4}archsim (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    known = {"show", "run", "map", "asm", "validate", "report", "verify", "dram", "noc", "sweep", "compare", "import"}
    assert used == known


def test_the_page_of_laws_is_what_the_tests_say() -> None:
    """To the last character: ``python -m tests.laws_page`` writes it."""
    assert (ROOT / "docs" / "laws.md").read_text(encoding="utf-8") == page_of_laws(list(claims()))


@pytest.mark.slow
def test_the_page_of_models_is_what_they_are() -> None:
    """To the last character: ``make models-page`` writes it."""
    assert (ROOT / "docs" / "models.md").read_text(encoding="utf-8") == models_page()


def test_the_page_of_areas_is_what_the_suite_says() -> None:
    """To the last character: ``make area-page`` writes it."""
    assert (ROOT / "docs" / "area.md").read_text(encoding="utf-8") == area_page.page()


def test_cases_of_laws_are_those_of_the_tests_that_assert_them() -> None:
    one = [Claim("a::test_x", "Laws 1 and 2: x", (1, 2), 3), Claim("b::test_y", "Law 2: y", (2,), 4)]
    assert cases_by_law(one) == {1: 3, 2: 7}


def test_every_law_is_asserted_or_waits() -> None:
    stated = {number for laws in GROUPS.values() for number in laws}
    assert stated == {*range(1, 50), *range(51, 60), 61}
    page = (ROOT / "docs" / "laws.md").read_text()
    waiting = {int(number) for number in re.findall(r"^\*\*(\d+)\.\*\* \*", page, re.MULTILINE)}
    assert waiting <= set(WAITING)


def extras() -> dict[str, tuple[str, str]]:
    """The README's table of extras: what each brings, and what needs it."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    return {name: (brings, needed) for name, brings, needed in rows}


def test_the_table_of_extras_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = project["optional-dependencies"]
    assert list(extras()) and extras().keys() == stated.keys()
    for name, (brings, _) in extras().items():
        packages = [re.split(r"[\[>=]", package)[0] for package in stated[name]]
        assert name == "dev" or brings.split(", ") == packages
    beside = {package for name in ("search", "verify", "cluster") for package in stated[name]}
    assert beside <= set(stated["dev"])
    assert project["requires-python"] == ">=3.11" and "Python 3.11 or newer" in (ROOT / "README.md").read_text()


def _search() -> None:
    from archsim.lab.explore.learner import check_installed

    check_installed("nsga2")


def _verify() -> None:
    from archsim.frontend.onnx import runtime

    runtime.version()


def _cluster() -> None:
    from archsim.lab.sweep import clusters

    clusters.crew("tcp://127.0.0.1:9")


def _studies() -> None:
    from archsim.lab.kit import tabular

    tabular.need("duckdb", "SQL")


@pytest.mark.parametrize(
    ("extra", "modules", "work"),
    [
        ("search", ("optuna",), _search),
        ("verify", ("onnxruntime",), _verify),
        ("cluster", ("distributed", "dask_jobqueue"), _cluster),
        ("studies", ("duckdb",), _studies),
    ],
)
def test_a_command_that_lacks_an_extra_names_it(
    extra: str, modules: tuple[str, ...], work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=rf"pip install 'archsim\[{extra}\]'"):
        work()
    needing = {name for name, (_, needed) in extras().items() if "archsim " in needed}
    assert needing == {"search", "verify", "cluster", "studies"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_and_modules_that_a_page_names_exist(page: Path) -> None:
    """Files and folders of the tree between backticks, and modules of the two packages in imports and ``python -m``."""
    text = page.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:archsim|mapper|tests|studies|configs|docs)/[\w./-]+)`", text)
    modules = re.findall(r"\b(?:from|python -m|import) ((?:archsim|mapper|tests)(?:\.\w+)+)", text)
    stand_ins = ("NODE", "STANDARD", "NAME", "FILE")
    found = [path for path in paths if Path(path).stem not in stand_ins and not (ROOT / path).exists()]
    found += [name for name in modules if not _is_module(ROOT.joinpath(*name.split(".")))]
    assert found == []


def _is_module(place: Path) -> bool:
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()
