"""On a terminal commands say how far they have come; into a pipe, into stdout and into files nothing of it goes."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from archsim.cli import meter
from archsim.cli.app import main
from archsim.cli.meter import CLEAR
from tests.tools.commands import GOLDEN

CHIP = ("--on", str(GOLDEN / "chip.yaml"))
END = b"<end>"
SWEEP = """
name: small
chip: {chip}
models: [{model}]
axes: {{l1.banks: [4, 8]}}
objectives: [latency_s]
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "pair.csv"
    path.write_text("Layer,H,W,R,S,C,K,stride\nfirst,16,16,3,3,8,16,1\nsecond,14,14,3,3,16,16,1\n", encoding="utf-8")
    return str(path)


@contextmanager
def terminal(columns: int) -> Iterator[list[str]]:
    """A terminal of so many columns in the place of stderr; what was written to it, line by line, at the end."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    found: list[str] = []
    data = bytearray()

    def read() -> None:
        while not data.endswith(END):  # processes that were begun meanwhile keep the other end open
            data.extend(os.read(ours, 1 << 16))

    reader = Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        before, sys.stderr = sys.stderr, stream
        try:
            yield found
        finally:
            sys.stderr = before
            stream.write(END.decode())
            stream.flush()
            reader.join(60)
    os.close(ours)
    found += data.removesuffix(END).decode().split(CLEAR)


def told(monkeypatch: pytest.MonkeyPatch, *arguments: str, columns: int = 120) -> tuple[object, list[str]]:
    """Exit code of a command within this process, and the lines on its terminal, the wait for them taken out."""
    monkeypatch.setattr(meter, "AFTER_S", 0.0)
    monkeypatch.setattr(meter, "EVERY_S", 0.0)
    with terminal(columns) as lines, pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code, lines


def cases(model: str, tmp_path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(SWEEP.format(chip=GOLDEN / "chip.yaml", model=model), encoding="utf-8")
    trace = tmp_path / "trace.csv"
    trace.write_text("cycle,address,write\n" + "".join(f"{n},{64 * n},R\n" for n in range(64)), encoding="utf-8")
    mesh = ("noc", "--topology", "mesh", "--shape", "2x2", "--fidelity", "link")
    return {
        "run": (("run", model, *CHIP), "simulating: 0 of "),
        "run --why": (("run", model, *CHIP, "--why"), "what would help: 0 of "),
        "map": (("map", model, *CHIP, "--no-cache"), "mapping: 0 of 2 layers"),
        "map --explain": (("map", model, *CHIP, "--explain", "first"), "mapping again: 0 of "),
        "sweep": (("sweep", str(sweep), "--out", str(tmp_path / "swept"), "-j", "1"), ": 0 of 2 rows"),
        "noc": ((*mesh, "--rates", "0.1,0.2"), "simulating: 0 of 2 loads"),
        "verify": (("verify", model, *CHIP, "--numbers", "int"), "executing in "),
        "dram": (("dram", str(trace), "--standard", "ddr4", "--speed", "2400"), "replaying: 0 of 64 requests"),
        "validate": (("validate", "systolic"), "scoring: 0 of 174 rows"),
    }


NAMES = ("run", "run --why", "map", "map --explain", "sweep", "noc", "verify", "dram", "validate")


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_is_told_how_far_it_is(
    name: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    arguments, said = cases(model, tmp_path)[name]
    code, lines = told(monkeypatch, *arguments)
    assert code in (0, None), lines
    assert any(said in line for line in lines), lines
    assert lines[-1] == "" or lines[-1].startswith("warning: the model is float32")  # the line is gone at the end
    shown = capsys.readouterr().out
    assert shown and CLEAR not in shown and " of 2 layers" not in shown


def test_a_pipe_is_told_nothing_and_gets_the_same(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    arguments = ("run", model, *CHIP, "--format", "json")
    code, lines = told(monkeypatch, *arguments)
    watched = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(arguments)
    alone = capsys.readouterr()
    assert code in (0, None) and len(lines) > 1
    assert (alone.out, alone.err) == (watched, "")


def test_a_narrow_terminal_gets_narrow_lines(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, lines = told(monkeypatch, "run", model, *CHIP, columns=30)
    assert 20 < max(map(len, lines)) < 30
