"""Compiled functions are parts of entries: what is made, kept and called, and what of Numba that leans on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import event

from archsim.base import jit, linking
from archsim.base.jit import allocating, entry, inlined, njit

HOME = Path(__file__).resolve().parents[2]
# Runs a command line and prints what was compiled in it, the functions of the tree alone.
COUNTED = """
import sys
from numba.core import event
found = []
class Compiled(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith(("archsim.", "mapper.")):
            found.append(f"{function.__module__.rpartition('.')[2]}.{function.__name__}")
    def on_end(self, event):
        pass
event.register("numba:compile", Compiled())
from archsim.cli.app import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
print("compiled:", *sorted(found))
"""


@inlined
def _third(number: Any) -> Any:
    return number // 3


@njit
def _twice(number: Any) -> Any:
    return 2 * _third(number)


@njit
def _both(number: Any) -> Any:
    return _twice(number) + _third(number) + _twice(7)


@entry
@njit
def _called(number: Any) -> Any:
    return max(_both(number), _twice(number))


@entry
@njit
def _caller(number: Any) -> Any:
    return _called(number) + 1


@entry
@allocating
def _made(count: Any) -> Any:
    return np.arange(count)


@pytest.fixture(autouse=True)
def unkept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled here is kept nowhere."""
    for each in (_called, _caller, _made):
        monkeypatch.setattr(each, "_calls", {})
        monkeypatch.setattr(each, "_codes", {})
        monkeypatch.setattr(each, "place", None)
        monkeypatch.setattr(each, "_is_native", False)


class Compiled(event.Listener):
    """The functions that machine code is made of."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass


def test_an_entry_is_made_with_its_parts_and_these_are_made_for_types_alone() -> None:
    """Parts are typed once, whatever constants they are called with, and for whatever entries."""
    with event.install_listener("numba:compile", Compiled()) as compiled:
        assert _called(30) == 2 * 10 + 10 + 4
        assert _caller(30) == 35
    assert [name for name in compiled.names if name.startswith("_")] == ["_called", "_caller"]
    assert [len(each.dispatcher.overloads) for each in (_third, _twice, _both)] == [1, 1, 1]  # type: ignore[attr-defined]


def test_an_entry_may_make_arrays() -> None:
    assert _made(3).tolist() == [0, 1, 2]


def test_python_cannot_call_a_part() -> None:
    for part in (_third, _twice):
        with pytest.raises(TypeError, match="called by compiled code alone"):
            part(1)


def test_parts_have_no_machine_code_and_entries_link_each_once() -> None:
    """What is relied on of Numba: that a library whose finalize() makes no code is linked all the same."""
    _caller(30)
    (part,) = _both.dispatcher.overloads.values()  # type: ignore[attr-defined]
    (made,) = _caller.dispatcher.overloads.values()  # type: ignore[attr-defined]
    assert isinstance(part.library, linking.PartLibrary) and isinstance(made.library, linking.EntryLibrary)
    linked = made.library._linking_libraries
    assert len(linked) == len(set(linked)) and {part.library} <= {*linked}
    callers = {each: place for place, each in enumerate(linked)}
    for each in linked:
        if isinstance(each, linking.PartLibrary):
            assert all(callers[callee] > callers[each] for callee in each._linking_libraries)


def test_without_compiling_functions_are_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")

    def plus(number: int) -> int:
        return number + 1

    assert entry(njit(plus)) is plus and entry(inlined(plus)) is plus and jit.allocating(plus) is plus


def compiled_by(folder: Path, *command: str) -> list[str]:
    """What a process of its own compiles for a command."""
    env = {**os.environ, "ARCHSIM_CACHE": str(folder), "PYTHONPATH": str(HOME)}
    env.pop("ARCHSIM_NO_CACHE", None)
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *command], env=env, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


TRACE = "cycle,address,write\n0,0,R\n5,64,W\n"
ENTRIES = {
    ("dram", "trace.csv", "--standard", "ddr4", "--speed", "2400"): ["replay.replay"],
    ("run", "eye_tracking", "--on", "edge_npu"): [
        "compiled.clocks_at",
        "compiled.ended_before",
        "compiled.run_queues",
        "regions.count",
        "serve.advance",
        "slots.submit",
    ],
    ("run", "eye_tracking", "--on", "scalesim_32x32"): [
        "compiled.clocks_at",
        "compiled.ended_before",
        "compiled.run_queues",
        "constant_rate.advance",
        "constant_rate.submit",
    ],
    ("map", "resnet50", "--on", "edge_npu", "--explain", "conv_1_112x112x64"): [
        "bounds.fill_all_least",
        "bounds.fill_bounds",
        "bounds.fill_spatial",
        "join.solve",
        "keys.is_better",
        "narrow.fill_left",
        "regions.count",
        "serve.advance",
        "slots.submit",
        "tables.fill_table",
        "tilings.fill_tilings",
        "tilings.kind_of",
    ],
    ("noc", "--topology", "mesh", "--shape", "2x2", "--rates", "0.1"): ["run.run"],
}


@pytest.mark.parametrize("command", ENTRIES, ids=lambda command: command[0])
def test_a_command_compiles_the_entries_that_it_calls_and_the_next_process_none(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "trace.csv").write_text(TRACE, encoding="utf-8")
    assert compiled_by(tmp_path, *command) == ENTRIES[command]
    assert compiled_by(tmp_path, *command) == []
