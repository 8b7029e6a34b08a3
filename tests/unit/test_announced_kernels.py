"""That kernels are compiled is said of those that are not in the cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from numba.core.registry import CPUDispatcher as Dispatcher

from archsim import caches, kernels
from archsim.lab import compiling

TOLD = "compiling kernels (kept in the cache for later runs)\n"


def test_each_kernel_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """The machine's kernel in the cache says nothing of the one for traces."""
    monkeypatch.setattr(kernels, "PLACE", tmp_path)
    monkeypatch.setenv(caches.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(caches.OFF_VARIABLE, raising=False)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "serve.advance-57.py311.nbi").touch()
    compiling.announce(compiling.MACHINE, print)
    assert capsys.readouterr() == ("", "")
    compiling.announce(compiling.TRACE, print)
    assert capsys.readouterr() == ("", TOLD)
    (tmp_path / "kernel" / "replay.replay-15.py311.nbi").touch()
    compiling.announce(compiling.TRACE, print)
    assert capsys.readouterr() == ("", "")
    caches.switch_off()
    compiling.announce(compiling.MACHINE, print)
    assert capsys.readouterr() == ("", TOLD)
    monkeypatch.setenv(caches.OFF_VARIABLE, "0")


def test_the_names_are_those_of_kernels() -> None:
    """File and function, as the cache names its entries."""
    from archsim.memory.dram.kernel import replay, serve
    from archsim.noc.kernel import reserve, run

    kernels = (serve.advance, replay.replay, run._advance, reserve.advance)
    assert all(isinstance(kernel, Dispatcher) for kernel in kernels)
    found = [f"{kernel.__module__.rsplit('.', 1)[1]}.{kernel.__name__}" for kernel in kernels]
    assert found == [compiling.MACHINE, compiling.TRACE, *compiling.NETWORK.values()]
