"""A windowed dataflow is one file: row stationary as in Eyeriss, from a plugin folder to cycles, counts and numbers.

The file is ``tests/plugins/dataflows/row_stationary.py``. Everything below is calculated by hand for one convolution:
8 x 8 inputs of 2 channels, 2 filters of 3 x 3, no padding, so 6 x 6 outputs; int8; on 3 rows x 4 columns of PEs, one
MAC each a cycle. Filter rows (3) lie on the rows, output rows (6) on the columns: two tiles, of 4 and of 2.

MACs      2 filters x 2 channels x 36 outputs x 9 taps = 1296.
Passes    2 filters x 2 channels x 1 tile of filter rows x 2 tiles of output rows = 8.
A pass    3 cycles to load a filter row (3 taps, all rows of PEs at once), 6 outputs x 3 taps = 18 cycles of MACs,
          2 cycles for the last sums up a column of 3.
Cycles    8 x (3 + 18 + 2) = 24 + 144 + 16 = 184.
Inputs    4 output rows read 4 + 2 = 6 input rows, 2 read 4: 10 rows of 8 values, for 2 channels and each of 2 filters:
          10 x 8 x 2 x 2 = 320 values over the edge. (Without windows it would be 36 x 9 x 2 x 2 = 1296.)
Weights   36, for each of 2 tiles of output rows: 72.
Sums      72 leave for each of 2 channels: 144 written; all but the first read back: 72.

The whole run, each step behind the other since the mapping keeps all of it at once: 128 bytes of inputs at 8 a cycle,
16 cycles; 36 bytes of weights, 5; the array, 184; 72 sums drained on 4 lanes, 18; 72 bytes stored, 9. That is 232.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from archsim.cli.app import main
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest, Window
from archsim.lab.run.job import Job, build
from archsim.spec.load import load
from archsim.system import simulate
from tests.tools.commands import ROOT
from tests.tools.plugins import PLUGINS, WINDOWED

CHIP = """schema: archsim.chip/1
name: eyeriss_like
description: 3 x 4 row-stationary PEs
source: "by definition: round numbers for a test"
technology: {node: 7nm, voltage: 0.7 V}
clock: 1 GHz
dtypes: {weights: int8, inputs: int8, outputs: int8, accumulate: int32}
hierarchy:
  - dram: {name: dram, standard: constant, bandwidth: 8 GB/s, latency: 0 ns, capacity: 16 MiB, keeps: all}
  - dma: {name: dma}
  - sram: {name: l1, size: 8 KiB, banks: 64, word: 8 B, keeps: [inputs, weights, outputs], slots: 1}
  - sram: {name: acc, size: 4 KiB, banks: 64, word: 8 B, keeps: [partials], slots: 1}
  - parallel:
      - array: {name: pes, kind: generic, shape: [3, 4], dataflow: row_stationary, rates: {int8: 1}}
      - vector: {name: vpu, lanes: 4, functions: {exp: 4, divide: 4, sqrt: 4}}
not_modelled: [anything real]
"""
MODEL = (
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
    "conv, 8, 8, 3, 3, 2, 2, 1,\n"
)
WHOLE = """schema: archsim.mapping/1
layers:
- layer: conv
  unit: pes
  kind: matmul
  nodes:
  - {keep: a, in: l1, slots: 1}
  - {keep: b, in: l1, slots: 1}
  - {keep: out, in: l1, slots: 1}
  - {keep: acc, in: acc, slots: 1}
"""
NEVER = """schema: archsim.mapping/1
constraints:
- layers: conv
  units: [pes]
  spatial: {rows: [s]}
"""
CYCLES, RUN, MACS = 184, 232, 1296
EDGE = {"a": 320, "b": 72, "acc_read": 72, "acc_write": 144}

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """A command within this process: exit code, stdout, stderr. The user's files lie in the directory it runs in."""
    for name, text in (("chip.yaml", CHIP), ("conv.csv", MODEL), ("whole.yaml", WHOLE), ("never.yaml", NEVER)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(PLUGINS))
    monkeypatch.setenv("ARCHSIM_CACHE", str(cache))

    def call(name: str, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([name, *arguments])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_the_fold_is_the_hand_calculation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cycles by phase, MACs and edge streams of the module's docstring; and how windows of another pace are counted."""
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(PLUGINS))
    flow = catalogue.get(WINDOWED)
    nest = Nest((), ("p", "q"), ("k",), ("c", "r", "s"), (Window("p", "r", 1, 1), Window("q", "s", 1, 1)))
    extents = {"p": 6, "q": 6, "k": 2, "c": 2, "r": 3, "s": 3}
    fold = flow.fold(nest, extents, ArrayShape(3, 4), accumulate=False)
    assert (fold.cycles_load, fold.cycles_fill, fold.cycles_stream, fold.cycles_drain) == (24, 0, 144, 16)
    assert (fold.cycles, fold.inner_actions["mac"]) == (CYCLES, MACS)
    assert {stream: use.accesses for stream, use in fold.streams.items()} == EDGE
    # By hand: each of 8 passes fills 3 x 4 or 3 x 2 PEs; a PE takes 8 inputs and 3 weights; sums climb 3 rows.
    pes = 4 * (3 * 4 + 3 * 2)
    assert fold.inner_actions["register_write.a"] == pes * 8 and fold.inner_actions["register_write.b"] == pes * 3
    assert fold.inner_actions["wire.acc"] == 72 * 2 * 3 + 72
    # At stride 2 along the rows, 4 output rows read 9 input rows and 2 read 5; with dilation 2, 4 + 4 = 8 and 6.
    for steps, rows in (((2, 1), 14), ((1, 2), 14), ((2, 2), 10), ((4, 1), 18)):
        other = Nest(nest.batch, nest.m, nest.n, nest.k, (Window("p", "r", *steps), Window("q", "s", 1, 1)))
        streams = flow.fold(other, extents, ArrayShape(3, 4), accumulate=False).streams
        assert streams["a"].accesses == rows * 8 * 2 * 2
    plain = Nest(nest.batch, nest.m, nest.n, nest.k)
    assert flow.fold(plain, extents, ArrayShape(3, 4), accumulate=False).streams["a"].accesses == 36 * 9 * 2 * 2


def test_a_chip_of_it_runs_as_calculated(command: Command) -> None:
    """``run``: the cycles, phases and MACs of the docstring; the machine's counts are its edge streams."""
    code, out, _ = command("run", "conv.csv", "--on", "chip.yaml", "--mapping", "whole.yaml", "--format", "json")
    assert code == 0
    found = json.loads(out)
    (array,) = (row for name, row in found["time_breakdown"].items() if name.endswith(".array"))
    assert (array["weight_load"], array["busy"], array["fill_drain"]) == (24, 144, 16)
    assert (found["cycles_total"], found["macs_array"]) == (RUN, MACS)
    chip = load("chip.yaml")
    counts = simulate(build(Job("conv.csv", chip, mapping=Path("whole.yaml"))).program, chip).counts
    stored, drained = 72, 72 * 4  # bytes of outputs that leave l1, of sums that the vector unit reads
    assert counts["conv", "pes", "mac"] == MACS
    assert counts["conv", "l1", "read_bytes"] == EDGE["a"] + EDGE["b"] + stored
    assert counts["conv", "acc", "read_bytes"] == 4 * EDGE["acc_read"] + drained
    assert counts["conv", "acc", "write_bytes"] == 4 * EDGE["acc_write"]


def test_a_searched_mapping_is_named_and_computes_the_model(command: Command) -> None:
    """``map`` names the dataflow, ``asm`` the windows; ``verify`` passes; the array's own cycles are never fewer."""
    code, out, _ = command("map", "conv.csv", "--on", "chip.yaml")
    assert code == 0 and out.startswith("conv: matmul on pes (row_stationary)\n")
    code, listing, _ = command("asm", "conv.csv", "--on", "chip.yaml")
    assert code == 0 and "window(p+r, q+s)" in listing
    Path("conv.asm").write_text(listing)
    runs = [
        json.loads(command("run", file, "--on", "chip.yaml", "--format", "json")[1])
        for file in ("conv.csv", "conv.asm")
    ]
    assert runs[0]["cycles_total"] == runs[1]["cycles_total"] < RUN
    (array,) = (row for name, row in runs[0]["time_breakdown"].items() if name.endswith(".array"))
    assert array["weight_load"] + array["busy"] + array["fill_drain"] >= CYCLES
    for file in ("conv.csv", "conv.asm"):
        code, out, _ = command("verify", file, "--on", "chip.yaml")
        assert code == 0 and out.splitlines()[-1] == "verified"


def test_what_it_spreads_is_what_its_file_says(command: Command) -> None:
    """Filter columns stay in a PE, though one sum leaves for all of them: a constraint cannot lay them on the rows."""
    code, _, told = command("run", "conv.csv", "--on", "chip.yaml", "--mapping", "never.yaml")
    assert code == 2 and "row_stationary never spreads s there" in told and "row_stationary r" in told


def test_no_file_of_the_product_knows_it() -> None:
    """Nothing of archsim/, mapper/ or configs/ names the dataflow: its own file is all there is of it."""
    files = (path for room in ("archsim", "mapper", "configs") for path in (ROOT / room).rglob("*") if path.is_file())
    known = [str(path) for path in files if path.suffix != ".pyc" and WINDOWED.encode() in path.read_bytes()]
    assert known == []
