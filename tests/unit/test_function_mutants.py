"""The campaign over functions: which mistakes there are, which are chosen, which tests they meet, what is kept."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path

import pytest

from tests.tools import function_mutants
from tests.tools.function_calls import Calls
from tests.tools.function_mutants import Campaign, Test, Verdict, affordable, in_order
from tests.tools.function_mutations import Function, Mutant, chosen, functions

PRODUCT = {
    "archsim/jit.py": "import numba\ndef njit(function):\n    return numba.njit(function)\n",
    "archsim/lab/run.py": '''
from archsim.noc import core


class Runs:
    def __init__(self, core):
        self._core = core

    def total(self, cycles: list[int], unit: str = "ms") -> int:
        """Of all: 3 words, none of which changes."""
        if unit not in ("s", "ms"):
            raise ValueError(f"unit {unit!r} of {2 + 2}")
        found = sum(each + 1 for each in cycles if each > 0)
        return found * 2

    def busy(self) -> bool:
        return self._core.step(1)
''',
    "archsim/noc/__init__.py": "",
    "archsim/noc/core.py": """
from archsim.jit import njit
from archsim.noc.part import half


@njit
def step(at):
    return half(at) - 1


@njit
def alone(at):
    return at - 1
""",
    "archsim/noc/part.py": "from archsim.jit import njit\n\n\n@njit\ndef half(at):\n    return at // 2\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small product: a class that counts, and compiled code in two files."""
    for name, text in PRODUCT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def named(tree: Path) -> dict[str, Function]:
    """Functions by name."""
    return {function.name: function for function in functions(tree)}


def test_each_kind_of_mistake_changes_one_expression(tree: Path) -> None:
    found = {(each.kind, each.before, each.after) for each in named(tree)["Runs.total"].mutations()}
    assert found == {
        ("comparison", 'unit not in ("s", "ms")', "(unit in ('s', 'ms'))"),
        ("condition", 'unit not in ("s", "ms")', "(not (unit not in ('s', 'ms')))"),
        ("operator", "each + 1", "(each - 1)"),
        ("constant", "1", "2"),
        ("constant", "0", "1"),
        ("comparison", "each > 0", "(each >= 0)"),
        ("condition", "each > 0", "(not (each > 0))"),
        ("operator", "found * 2", "(found // 2)"),
        ("constant", "2", "3"),
        ("return", "found * 2", "None"),
    }
    busy = {each.after for each in named(tree)["Runs.busy"].mutations()}
    assert busy == {"2", "(not (self._core.step(1)))"}
    half = named(tree)["half"]
    assert half.is_compiled and {each.kind for each in half.mutations()} == {"operator", "constant"}


def test_every_mutant_is_a_file_of_python_that_means_something_else(tree: Path) -> None:
    for mutant in chosen(functions(tree), 100, seed=0):
        text = mutant.function.source
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(text))


def test_the_choice_is_the_same_wherever_the_functions_lie(tree: Path) -> None:
    before = {mutant.key for mutant in chosen(functions(tree), 3, seed=5)}
    assert len(before) == 3
    assert before != {mutant.key for mutant in chosen(functions(tree), 3, seed=6)}
    moved = tree / "archsim" / "lab" / "deeper" / "walk.py"
    moved.parent.mkdir()
    (tree / "archsim" / "lab" / "run.py").rename(moved)
    assert before == {mutant.key for mutant in chosen(functions(tree), 3, seed=5)}


def test_rooms_share_by_size_and_the_first_come_first(tree: Path) -> None:
    rooms = [mutant.function.room for mutant in chosen(functions(tree), 4, seed=0)]
    assert rooms[0] == "lab" and {*rooms} == {"jit", "lab", "noc"} and rooms == sorted(rooms, key=lambda r: r != "lab")


def test_compiled_functions_are_seen_by_those_of_python_that_call_them(tree: Path) -> None:
    calls, by_name = Calls(functions(tree)), named(tree)
    assert [found.name for found in calls.entries(by_name["half"])] == ["Runs.busy"]
    assert calls.compiled_files(by_name["half"]) == ["archsim/noc/core.py", "archsim/noc/part.py"]
    assert {found.name for found in calls.entries(by_name["alone"])} == {"Runs.__init__", "Runs.total", "Runs.busy"}
    assert calls.entries(by_name["Runs.total"]) == [by_name["Runs.total"]]


def test_tests_named_like_the_file_come_first_then_the_cheapest_of_each_file(tree: Path) -> None:
    tests = [Test("a.py::x", 1.0), Test("a.py::y", 0.1), Test("b.py::x", 0.2), Test("a.py::w", 0.3)]
    tests += [Test("test_run.py::slow", 9.0), Test("test_run.py::z", 0.2)]
    ordered = in_order(named(tree)["Runs.total"], tests)
    assert [test.name for test in ordered] == [
        "test_run.py::z",
        "a.py::y",
        "b.py::x",
        "a.py::w",
        "test_run.py::slow",
        "a.py::x",
    ]
    assert [test.name for test in affordable(ordered, 1.9)] == [
        "test_run.py::z",
        "a.py::y",
        "b.py::x",
        "a.py::w",
        "a.py::x",
    ]


def test_hits_are_read_with_what_a_file_reaches_while_it_is_collected(tree: Path) -> None:
    mutants = chosen(functions(tree), 2, seed=0)
    told = "hit 0 a.py::x\nhit 1 b.py\ntook 0.5 passed a.py::x\ntook 1.0 passed b.py::y z\ntook 1.0 failed b.py::w\n"
    found = function_mutants._read_hits(told, mutants)
    assert found == {mutants[0].key: [Test("a.py::x", 0.5)], mutants[1].key: [Test("b.py::y z", 1.0)]}


def test_what_failed_is_read_from_the_summary() -> None:
    said = "..F\nFAILED a.py::x[two words] - AssertionError: 1 - 2\nERROR b.py\nFAILED c.py::y\n1 failed in 0.1s\n"
    assert function_mutants._failed(said) == ["a.py::x[two words]", "b.py", "c.py::y"]


def test_a_campaign_goes_on_where_it_was_and_counts(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is kept is not judged again; those that survive are named with their place."""
    judged: list[str] = []
    work = tmp_path / "work"

    def judge(_: Path, mutant: Mutant, *rest: object) -> Verdict:
        judged.append(mutant.key)
        if len(judged) == 2:
            while not (work / "verdicts.jsonl").stat().st_size:  # the first is kept by another thread
                time.sleep(0.01)
            raise KeyboardInterrupt
        return Verdict(mutant.key, "survived" if mutant.function.name == "Runs.total" else "caught")

    monkeypatch.setattr(function_mutants, "WORKERS", 1)
    monkeypatch.setattr(function_mutants, "copied", lambda target: tree)
    monkeypatch.setattr(function_mutants, "reaching", lambda work, mutants, *_: {each.key: [] for each in mutants})
    monkeypatch.setattr(function_mutants, "judge", judge)
    with pytest.raises(KeyboardInterrupt):
        Campaign(work, 5, 1, ["tests"], 1.0).run()
    again = Campaign(work, 5, 1, ["tests"], 1.0)
    kept = {*again.verdicts}
    assert 0 < len(kept) < 5
    judged[:] = ["", ""]
    again.run()
    assert again.report() == 1 and kept.isdisjoint(judged) and {*kept, *judged[2:]} == {*again.verdicts}
    said = capsys.readouterr().out
    assert "caught: 4 of 5 (80.0%)" in said and "archsim/lab/run.py:" in said
    assert json.loads((work / "asked.json").read_text())["number"] == 5
    with pytest.raises(SystemExit, match="take another folder"):
        Campaign(work, 6, 1, ["tests"], 1.0)
