"""Which machine a Program runs on: by what is compiled, kept and loaded, and by what a process has run."""

from __future__ import annotations

import pytest

from archsim.sim import machine_choice
from archsim.sim.machine_choice import COMPILED_FROM, KEPT_FROM, LOADED_FROM, MachineChoice


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_choice, "_is_kept", lambda: False)


def test_what_is_worth_compiling_is_compiled(nothing_kept: None) -> None:
    choice = MachineChoice()
    assert not choice.is_compiled(COMPILED_FROM - 1)
    assert choice.is_compiled(COMPILED_FROM)


def test_then_smaller_programs_run_there_too(nothing_kept: None) -> None:
    choice = MachineChoice()
    assert choice.is_compiled(COMPILED_FROM)
    assert choice.is_compiled(LOADED_FROM) and not choice.is_compiled(LOADED_FROM - 1)


def test_many_small_programs_are_worth_as_much_as_a_large_one(nothing_kept: None) -> None:
    choice = MachineChoice()
    runs = [choice.is_compiled(KEPT_FROM) for _ in range(COMPILED_FROM // KEPT_FROM + 1)]
    assert runs == [False] * (COMPILED_FROM // KEPT_FROM) + [True]


def test_what_is_on_disk_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_choice, "_is_kept", lambda: True)
    choice = MachineChoice()
    assert not choice.is_compiled(KEPT_FROM - 1)
    assert choice.is_compiled(KEPT_FROM)
