"""The contract of the rooms: few of them, imports that point down, no circles; only sim runs on SimPy."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.tools.rooms import FLOORS, LOOSE, ROOT, floor, plan, room

MOST_ROOMS = 18
MACHINE = {"pe", "memory", "noc", "host", "sim", "frontend", "report"}  # what the compiler never sees


def test_few_rooms_and_hardly_a_loose_file() -> None:
    folders = {path.parent.name for path in (ROOT / "archsim").glob("*/__init__.py")}
    assert len(folders) <= MOST_ROOMS
    assert {path.stem for path in (ROOT / "archsim").glob("*.py")} == LOOSE
    assert {room(module) for module in plan().files} == {name for rooms in FLOORS for name in rooms}


def test_imports_point_down() -> None:
    """Of every kind: inside functions, for the type checker and by string too. Rooms of one floor are strangers."""
    up = [each for each in plan().imports if room(each.source) != room(each.target) and _up(each.source, each.target)]
    assert not up


def _up(source: str, target: str) -> bool:
    return floor(room(target)) >= floor(room(source))


def test_no_circle_of_files() -> None:
    assert plan().circles() == []


def test_the_compiler_does_not_see_the_machine() -> None:
    assert not {target for source, target in plan().arrows() if source == "mapper"} & MACHINE


def test_only_sim_imports_simpy() -> None:
    assert {room(module) for module, path in plan().files.items() if "simpy" in _outside(path)} == {"sim"}


def _outside(path: Path) -> set[str]:
    """The packages that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names}


def test_dataflows_are_pure_python() -> None:
    """Compiler and machine call them for every tile; they hold formulas alone."""
    files = [path for module, path in plan().files.items() if module.startswith("archsim.facts.dataflows.")]
    assert len(files) > 5 and not {name for path in files for name in _outside(path)} & {"numpy", "numba", "simpy"}


def test_every_kind_of_import_is_read(tmp_path: Path) -> None:
    """A statement at the top, inside a function and for the type checker, and a string, each make an arrow."""
    for name, text in {
        "archsim/__init__": "",
        "archsim/a": "import archsim.b\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import archsim.c\n",
        "archsim/b": "def f():\n    from archsim import d\n",
        "archsim/c": 'NAME = "archsim.a"\n',
        "archsim/d": "",
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = plan(tmp_path)
    assert {(i.source[8:], i.target[8:], i.kind) for i in found.imports} == {
        ("a", "b", "top"), ("a", "c", "type"), ("b", "d", "lazy"), ("c", "a", "string"),
    }  # fmt: skip
    assert found.circles() == [["archsim.a", "archsim.c"]]
    assert found.arrows() == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "a")}
