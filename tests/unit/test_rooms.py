"""The contract of the rooms: few of them, imports that point down, no circles; only sim runs on SimPy."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.tools.rooms import FLOORS, FRONT_DOOR, LOOSE, ROOT, Import, floor, outside, plan, room

MOST_ROOMS = 18
FEW_FILES = 5  # of ours; to load fewer takes no time worth an import inside a function
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


def test_no_circle_of_rooms_inside_the_mapper() -> None:
    assert plan().circles_in_mapper() == []


def test_imports_inside_functions_save_start_up_time() -> None:
    """Each spares the file that has it a library or several files of ours; in cli/, which every command loads, one
    file is enough. The front door is made of such imports."""
    inside = [each for each in plan().imports if each.kind == "lazy" and each.source != FRONT_DOOR]
    assert not sorted(each for each in inside if not _saves(each))


def _saves(found: Import) -> bool:
    held = plan().loaded_with(found.source)
    more = plan().loaded_with(found.target) - held
    few = 1 if room(found.source) == "cli" else FEW_FILES
    return len(more) >= few or bool(_libraries(more) - _libraries(held))


def _libraries(modules: set[str]) -> set[str]:
    found = {name for module in modules for name in outside(plan().files[module], top=True)}
    return found - sys.stdlib_module_names - {"archsim", "mapper"}


def test_the_compiler_does_not_see_the_machine() -> None:
    assert not {target for source, target in plan().arrows() if source == "mapper"} & MACHINE


def test_only_sim_imports_simpy() -> None:
    assert {room(module) for module, path in plan().files.items() if "simpy" in outside(path)} == {"sim"}


def test_dataflows_are_pure_python() -> None:
    """Compiler and machine call them for every tile; they hold formulas alone."""
    files = [path for module, path in plan().files.items() if module.startswith("archsim.facts.dataflows.")]
    assert len(files) > 5 and not {name for path in files for name in outside(path)} & {"numpy", "numba", "simpy"}


def test_a_circle_of_rooms_inside_the_mapper_is_found(tmp_path: Path) -> None:
    """Where no files make one, and whatever kind of import closes it."""
    for name, text in {
        "mapper/cost/rates": "import mapper.options\n",
        "mapper/cost/grid": "",
        "mapper/lower/frame": "import mapper.cost.rates\n",
        "mapper/lower/item": "",
        "mapper/options": "def f():\n    import mapper.lower.item\n",
        "mapper/layers": "import mapper.cost.grid\nimport mapper.lower.frame\nimport archsim.a\n",
        "archsim/a": "",
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert plan(tmp_path).circles() == []
    assert plan(tmp_path).circles_in_mapper() == [["cost", "lower", "options"]]
    assert plan(tmp_path).rooms_of_mapper()["layers"] == {"cost", "lower"}


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
