"""What ends a long search from outside: memory and interrupts. What was found is kept, and said."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from archsim.base import progress
from archsim.base.errors import ConfigError
from archsim.cli.meter import ProgressMeter
from archsim.lab.kit import memory_limit
from archsim.lab.run.job import Job, build
from mapper.layers import Layers
from mapper.search import exhaustive
from tests.tools.commands import ROOT
from tests.tools.weather import called

MODEL = "schema: archsim.workload/1\nname: w\nsource: a test\nlayers:\n" + "".join(
    f"  - gemm: {{name: g{n}, m: {n + 3}, n: 4, k: 4}}\n" for n in range(3)
)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARCHSIM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "w.yaml"
    path.write_text(MODEL)
    return path


def ending(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException | None) -> list[str]:
    """The search number ``number`` raises; the layers that are searched."""
    real, seen = exhaustive.search, list[str]()

    def search(problem: Any, *rest: Any) -> Any:
        seen.append(problem.layer.name)
        if error is not None and len(seen) == number:
            raise error
        return real(problem, *rest)

    monkeypatch.setattr(exhaustive, "search", search)
    return seen


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "stopped at layer 'g1' (Gemm); 1 of 3 layers are mapped, and kept"),
        (MemoryError(), 1, "error: stopped at layer 'g1' (Gemm); 1 of 3 layers are mapped, and kept: it needs more"),
    ],
)
def test_finished_layers_are_kept(
    model: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    with monkeypatch.context() as patch:
        assert ending(patch, 3, error) == []  # a product with one vector is searched on both engines
        found, out, err = called("map", str(model), "--on", "edge_npu", "--no-net")
        told = [line for line in err.splitlines() if not line.startswith("compiling functions")]
        assert (found, out) == (code, "") and len(told) == 1 and told[0].startswith(said)
    again = ending(monkeypatch, 0, None)
    assert called("map", str(model), "--on", "edge_npu", "--no-net")[0] == 0
    assert again == ["g1", "g1", "g2", "g2"]


def test_every_layer_is_said(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To who shows progress, one after the other."""
    ticks = count(100, 10)
    lines: list[str] = []
    meter = ProgressMeter(lines.append, lambda: next(ticks))
    map_layer = Layers.map_layer

    def looked_at(*given: Any) -> Any:
        meter.look()
        return map_layer(*given)

    monkeypatch.setattr(Layers, "map_layer", looked_at)
    with progress.watched(meter):
        build(Job(str(model), "edge_npu"))
    found = [re.search(r"mapping: (\d) of 3 layers.*\((g\d)\)", line) for line in lines]
    assert [(match[1], match[2]) for match in found if match] == [("0", "g0"), ("1", "g1"), ("2", "g2")]


LIMITED = """
from archsim.base.errors import LimitError
from archsim.lab.kit import memory_limit as limit

limit.free_bytes, limit.LEAST_BYTES = lambda: 400 << 20, 0
try:
    with limit.limited(None):
        bytearray(500 << 20)
except LimitError as error:
    print(error)
assert len(bytearray(500 << 20)) == 500 << 20
with limit.limited(None):
    assert len(bytearray(100 << 20)) == 100 << 20
"""


def test_the_limit_is_real_and_lasts_no_longer_than_the_command() -> None:
    """80 % of what is free beside what is held: the system refuses more, and a message says so. In a process of its
    own, for one that has given much back may take it again without asking."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True, cwd=ROOT)
    assert re.search(r"stopped: it needs more memory than --limit-memory, .* \(80% of what was free\)", done.stdout)


def test_sizes_that_are_none() -> None:
    for text, said in (("much", "limit-memory: "), ("1 MiB", "allowed 256 MiB or more"), ("2 GHz", "limit-memory: ")):
        with pytest.raises(ConfigError, match=said), memory_limit.limited(text):
            pass
    free = memory_limit.free_bytes()
    assert free is None or free > 0


def test_a_search_in_processes_ends_with_an_interrupt(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when its processes are done: they are ended."""
    import mapper.layer_solver

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mapper.layer_solver, "_result", interrupted)
    assert called("map", str(model), "--on", "edge_npu", "--jobs", "2")[0] == 130
