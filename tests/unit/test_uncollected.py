"""Runs pause Python's collector of cyclic garbage and leave it as they found it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from archsim.lab.kit import gc_pause as module
from archsim.lab.kit.gc_pause import collect_stopped, uncollected
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute


class Part:
    """A part of a machine: knows the others."""

    def __init__(self) -> None:
        self.others = [self]


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """The collector as a user finds it, with nothing frozen; as it was afterwards, whatever a test does."""
    enabled, thresholds, frozen = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()
    gc.enable()
    gc.unfreeze()
    yield
    if frozen:
        gc.freeze()
    gc.set_threshold(*thresholds)
    (gc.enable if enabled else gc.disable)()


def test_it_pauses_and_goes_on_also_after_an_error() -> None:
    gc.set_threshold(701, 11, 12)
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled() and gc.get_threshold() == (701, 11, 12) and gc.get_freeze_count() == 0


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    with uncollected():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_what_the_user_has_frozen_stays_so() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with uncollected():
            kept = [Part() for _ in range(10)]
        assert gc.get_freeze_count() in range(frozen - 100, frozen + 1) and len(kept) == 10
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("inside", [False, True])
def test_stopped_machines_are_given_back_once_they_have_made_enough(
    inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped() -> weakref.ref[Part]:
        with uncollected():
            made = [Part() for _ in range(5000)]
            return weakref.ref(made[0])

    def ask() -> bool:
        found = stopped()
        collect_stopped()
        return found() is None

    gc.set_threshold(10**9)
    monkeypatch.setattr(module._Made, "objects", 0)
    monkeypatch.setattr(module, "ENOUGH", 10**9)
    assert not ask()
    monkeypatch.setattr(module, "ENOUGH", 1000)
    if inside:
        with uncollected():
            assert ask()
    assert ask()


def test_a_run_leaves_the_collector_on() -> None:
    execute(Job("eye_tracking", "edge_npu", fidelity="fast"))
    assert gc.isenabled()
