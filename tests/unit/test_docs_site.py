"""What makes the pages of the documentation's site: the Python reference, the plan of rooms, links that leave docs/.

MkDocs itself is not needed here; `make docs` builds the whole site and fails on any warning.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tests.tools.commands import ROOT

GENERATOR = ROOT / "docs" / "generator"


def load(name: str) -> Any:
    """A file of docs/generator as a module; MkDocs loads it by its path too."""
    spec = importlib.util.spec_from_file_location(f"docs_generator_{name}", GENERATOR / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(tree: Path, **texts: str) -> Path:
    """A tree of files: ``archsim__pe__core`` is archsim/pe/core.py; every folder becomes a package."""
    for name, text in texts.items():
        file = tree.joinpath(*name.split("__")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        for folder in file.relative_to(tree).parents:
            if folder.name and not (tree / folder / "__init__.py").exists():
                (tree / folder / "__init__.py").write_text(f'"""About {folder.name}."""\n')
    return tree


def test_a_new_module_and_a_new_package_appear_by_themselves(tmp_path: Path) -> None:
    reference = load("reference")
    tree = write(tmp_path, archsim__pe__core='"""Core."""', mapper__search='"""Search."""')
    assert list(reference.packages(tree)) == ["archsim", "archsim.pe", "mapper"]
    assert "::: archsim.pe.array" not in reference.package_page(tree, "archsim.pe")
    write(tree, archsim__pe__array='"""Array."""', archsim__pe___hidden="", archsim__pe__new__one='"""One."""')
    page = reference.package_page(tree, "archsim.pe")
    assert "::: archsim.pe.array" in page and "_hidden" not in page
    assert "| [`archsim.pe.new`](archsim.pe.new.md) | About new. |" in page
    assert "archsim.pe.new" in list(reference.packages(tree))
    inside = {"archsim.pe": ["api/archsim.pe.md", {"archsim.pe.new": "api/archsim.pe.new.md"}]}
    assert reference.menu(tree, "archsim") == {"archsim": ["api/archsim.md", inside]}


def test_the_front_door_shows_what_archsim_exports() -> None:
    import archsim

    page = load("reference").front_page(ROOT)
    shown = re.findall(r"^::: archsim\.(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(archsim.__all__)
    assert shown[: shown.index("Architecture")] == [name for name in archsim.__all__ if name[0].islower()]


def test_links_that_leave_docs_are_followed(tmp_path: Path) -> None:
    neighbours = load("neighbours")
    for name, text in {
        "README.md": "[a](docs/a.md) [table](data/t.csv) [gone](gone.md)",
        "docs/a.md": "[deep](../study) [out](https://example.org)\n```text\n[no](../hidden.csv)\n```\n",
        "study/README.md": "[raw](raw.csv)",
        "study/raw.csv": "1",
        "data/t.csv": "2",
        "hidden.csv": "3",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert neighbours.neighbours(tmp_path) == {"README.md", "data/t.csv", "study/README.md", "study/raw.csv"}
    for path, place in {"README.md": "index.md", "docs/a.md": "a.md", "study/raw.csv": "tree/study/raw.csv"}.items():
        assert neighbours.place_in_site(path) == place and neighbours.place_in_tree(place) == path
    assert neighbours.moved("[x](../study#top)", tmp_path, "a.md") == "[x](tree/study/README.md#top)"
    assert neighbours.moved("[x](docs/a.md) [y](https://a.b)", tmp_path, "index.md") == "[x](a.md) [y](https://a.b)"


def test_the_plan_follows_imports_wherever_they_stand(tmp_path: Path) -> None:
    plan = load("plan")
    tree = write(
        tmp_path,
        archsim__base__units="",
        archsim__spec__load="from archsim.base import units\n",
        archsim__ir__nodes="def late():\n    import archsim.spec.load\n",
        archsim__lab__run="from archsim.ir import nodes\nfrom archsim.base.units import x\nfrom mapper import search\n",
        mapper__search="from archsim.ir import nodes\n",
    )
    (tree / "archsim" / "__main__.py").write_text("from archsim.lab import run\n")
    graph = plan.uses(tree)
    assert {room: sorted(graph[room]) for room in graph} == {
        "base": [],
        "ir": ["spec"],
        "lab": ["base", "ir", "mapper"],
        "spec": ["base"],
        "mapper": ["ir"],
    }
    assert plan.floors(graph) == {
        "base": 0,
        "spec": 1,
        "ir": 2,
        "mapper": 3,
        "lab": 4,
    }
    assert plan.arrows(graph) == [
        ("ir", "spec"),
        ("lab", "mapper"),
        ("mapper", "ir"),
        ("spec", "base"),
    ]
    assert plan.drawn(graph).count("<path") == 4 and plan.drawn(graph).count("<rect") == 5
    assert "| 4 | `lab` | About lab. | base, ir, mapper |" in plan.listed(tree / "archsim", graph)


def test_the_plan_of_the_mapper_is_of_its_own_rooms(tmp_path: Path) -> None:
    plan = load("plan")
    tree = write(
        tmp_path,
        mapper__cost__grid="",
        mapper__search__space="from mapper.cost import grid\nfrom archsim.ir import nodes\n",
        mapper__layers='"""One layer after another."""\ndef late():\n    import mapper.search.space\n',
        archsim__ir__nodes="",
    )
    graph = plan.uses_in_mapper(tree)
    assert graph == {"cost": frozenset(), "layers": frozenset({"search"}), "search": frozenset({"cost"})}
    assert plan.arrows(graph) == [("layers", "search"), ("search", "cost")]
    assert "| 2 | `layers` | One layer after another. | search |" in plan.listed(tree / "mapper", graph)


def test_rooms_of_a_circle_share_a_floor() -> None:
    plan = load("plan")
    graph = {"a": frozenset("b"), "b": frozenset("ac"), "c": frozenset()}
    assert plan.floors(graph) == {"a": 1, "b": 1, "c": 0}


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("Cells x[i][j] of ``a[b]`` * 2.", r"Cells x\[i\]\[j\] of ``a[b]`` \* 2."),
        ("Use it so:\n    ax.run(*all)", "Use it so:\n\n    ax.run(*all)"),
        ("One.\n\n    code[*]\n\nTwo_a.", "One.\n\n    code[*]\n\nTwo\\_a."),
    ],
)
def test_docstrings_are_shown_letter_by_letter(docstring: str, markdown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    griffe = types.ModuleType("griffe")
    griffe.Extension = griffe.Object = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "griffe", griffe)
    assert load("docstrings").plain(docstring) == markdown


def test_every_page_is_in_the_menu() -> None:
    menu = set(re.findall(r"^ +- (?:[\w ]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= menu


def test_every_decision_has_a_date_and_a_reason() -> None:
    entries = re.split(r"^### ", (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(entries) >= 203
    for entry in entries:
        title, _, body = entry.partition("\n")
        assert re.match(r"\s\*\d{4}-\d\d-\d\d\.\* [\w`(]", body), title


def test_links_of_the_finished_site_are_followed(tmp_path: Path) -> None:
    links = load("links")
    (tmp_path / "in").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="in/#top">x</a><a href="https://a.org">x</a><a href="gone.html">x</a>'
    )
    (tmp_path / "in" / "index.html").write_text('<h1 id="top"></h1><a href="#low">x</a><a href="../index.html">x</a>')
    (tmp_path / "404.html").write_text('<a href="/nowhere">x</a><script src="https://cdn.org/x.js"></script>')
    assert list(links.problems(tmp_path)) == [
        "404.html: loads https://cdn.org/x.js",
        "in/index.html: no #low",
        "index.html: no gone.html",
    ]
