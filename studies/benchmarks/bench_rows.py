"""The rows of ``bench.py``: what is typed, what it is beside, and of which size it is."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STUDIES = Path(__file__).resolve().parents[1]
ARCHSIM = (sys.executable, "-c", "from archsim.cli.app import main; main()")
START = "archsim --help"
SCALESIM_S = 693.0  # of SCALE-Sim for ResNet-50 where it was measured (scalesim_resnet50.py)
SCRIPTS = (  # of this folder, by name, with the package that one is beside; those that search for hours are left out
    ("dram_speed", ""),
    ("noc_speed", ""),
    ("dram_machine", ""),
    ("dram_fast", ""),
    ("machine_speed", ""),
    ("weight_streaming", ""),
    ("mapping_speed", ""),
    ("many_cores", ""),
    ("fc_mtia", ""),
    ("sweep_workers", ""),
    ("scalesim_resnet50", "scalesim"),
)


def _nothing(_: Path) -> None:
    """No file is needed."""


def _quiet(_: float, __: str) -> str:
    """Nothing is said."""
    return ""


@dataclass(frozen=True)
class BenchRow:
    """A command under its ``name``: ``cold`` on an empty cache, else on a filled one; ``times``: repeated, the best
    counts; ``size``: what its group grows with; ``prepare``: puts files into its folder; ``says``: a remark from its
    seconds and the last line that it printed; ``beside``: a package without which there is nothing to measure."""

    name: str
    command: tuple[str, ...]
    cold: bool = False
    times: int = 2
    size: int = 0
    peer_s: float | None = None
    prepare: Callable[[Path], None] = _nothing
    says: Callable[[float, str], str] = _quiet
    beside: str = ""

    def missing(self) -> str:
        """The package that is not there; '' where nothing is missing."""
        return self.beside if self.beside and importlib.util.find_spec(self.beside) is None else ""


@dataclass(frozen=True)
class BenchGroup:
    """Rows that are measured by one yardstick."""

    name: str
    rows: tuple[BenchRow, ...]


def groups(full: bool) -> list[BenchGroup]:
    """All rows: start, runs, growth with a model and with cores, the network alone, sweeps; ``full``: scripts too."""
    times = 3 if full else 1
    found = [
        BenchGroup("start", tuple(_start())),
        BenchGroup("runs", tuple(_runs(times))),
        BenchGroup("BERT on mtia_v2i by layers", tuple(_layers(full, times))),
        BenchGroup("ResNet-50 by cores of mtia_v2i", tuple(_cores(full, times))),
        BenchGroup("the network alone", tuple(_network(full, times))),
        BenchGroup("sweeps", tuple(_sweeps(full))),
    ]
    return [*found, BenchGroup("scripts", tuple(_scripts()))] if full else found


def _start() -> Iterator[BenchRow]:
    yield BenchRow("import numba", (sys.executable, "-c", "import numba"), times=3)
    yield BenchRow("import archsim", (sys.executable, "-c", "import archsim"), times=3)
    yield BenchRow(START, (*ARCHSIM, "--help"), times=3)


def _runs(times: int) -> Iterator[BenchRow]:
    """ResNet-50 on chips of one core, cold and warm; on SCALE-Sim's array beside its recorded time."""
    for chip, peer_s in (("edge_npu", None), ("scalesim_32x32", SCALESIM_S)):
        command = (*ARCHSIM, "run", "resnet50", "--on", chip)
        yield BenchRow(f"run resnet50 --on {chip}, cold", command, True, 1, peer_s=peer_s)
        yield BenchRow(f"run resnet50 --on {chip}, warm", command, times=times, peer_s=peer_s)
    command = (*ARCHSIM, "run", "resnet50", "--on", "edge_npu", "--fidelity", "fast")
    yield BenchRow("run resnet50 --on edge_npu, fast, warm", command, times=times)


def _layers(full: bool, times: int) -> Iterator[BenchRow]:
    for layers in (1, 2, 4, 8, 12) if full else (1, 3):
        asked = ("run", "bert_base", "--on", "mtia_v2i", "--fidelity", "fast", "--parameter", f"layers={layers}")
        yield BenchRow(f"run bert_base, layers={layers}, fast, warm", (*ARCHSIM, *asked), times=times, size=layers)


def _cores(full: bool, times: int) -> Iterator[BenchRow]:
    """Meshes of so many cores, the shared memory at two sides as on the chip; one core is a chip of its own."""
    for side in (1, 2, 4, 8) if full else (2, 4):
        ports = [[x, y] for x in (0, side - 1) for y in range(side)]
        keys = ("--set", f"mesh.shape=[{side}, {side}]", "--set", f"mesh.attach.shared_sram={ports}")
        chip = ("mtia_v2i", "--fidelity", "fast", *keys) if side > 1 else ("mtia_v2i_pe",)
        asked = ("run", "resnet50", "--on", *chip)
        name = f"run resnet50, cores={side * side}, fast, warm"
        yield BenchRow(name, (*ARCHSIM, *asked), times=times, size=side * side)


def _network(full: bool, times: int) -> Iterator[BenchRow]:
    """Loads of the recorded curves of meshes, beside the user CPU seconds that BookSim took for each."""
    curves = json.loads((STUDIES / "validation" / "noc" / "curves.json").read_text(encoding="utf-8"))
    few, many = {"mesh4x4": (0.4,), "mesh8x8": (0.2,)}, {"mesh4x4": (0.2, 0.4, 0.7), "mesh8x8": (0.1, 0.2, 0.35)}
    rates = many if full else few
    for row in (row for row in curves["runs"] if _is_plain(row) and row["topo"] in rates):
        shape, flits = row["topo"].removeprefix("mesh"), row["packet_size"]
        for point in (point for point in row["curve"] if point["injection_rate"] in rates[row["topo"]]):
            rate = point["injection_rate"]
            asked = ("--shape", shape, "--packet", f"{flits}", "--rates", f"{rate:g}")
            yield BenchRow(
                f"noc mesh {shape}, {flits} flits, {rate:g}", (*ARCHSIM, "noc", "--topology", "mesh", *asked),
                times=times + 1, peer_s=point["user_cpu_s"],
            )  # fmt: skip


def _is_plain(row: Mapping[str, Any]) -> bool:
    return (row["group"], row["vc"], row["traffic"]) == ("main", "vc4b8", "uniform")


def _sweeps(full: bool) -> Iterator[BenchRow]:
    """Points of sram_vs_bandwidth.yaml by one worker: what a point takes, with the start and the end of the sweep."""
    shapes, channels = ("[16, 16], [32, 32], [64, 64]", "1, 2, 4, 8") if full else ("[16, 16], [32, 32]", "2, 4")
    axes = {"l1.size": "512 KiB, 2 MiB", "dram.channels": channels, "mxu.shape": shapes, "clock": "0.6 GHz, 1.2 GHz"}
    points = 96 if full else 16
    for fidelity in ("cost", "fast", "exact"):
        text = "\n".join(
            [
                *("name: bench", "chip: edge_npu", "models: [resnet50]", "axes:"),
                *(f"  {key}: [{values}]" for key, values in axes.items()),
                *("objectives: [latency_s, energy_j]", f"fidelity: {fidelity}"),
            ]
        )
        yield BenchRow(
            f"sweep, {points} points, {fidelity}, warm", (*ARCHSIM, "sweep", "bench.yaml", "-j", "1"), times=1,
            prepare=_file("bench.yaml", text), says=_pace(points),
        )  # fmt: skip


def _file(name: str, text: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        (folder / name).write_text(text + "\n", encoding="utf-8")

    return prepare


def _pace(points: int) -> Callable[[float, str], str]:
    def says(seconds: float, _: str) -> str:
        return f"{60 * points / seconds:.0f} points a minute of CPU, those of the front again in more detail"

    return says


def _scripts() -> Iterator[BenchRow]:
    for name, beside in SCRIPTS:
        command = (sys.executable, str(Path(__file__).with_name(f"{name}.py")))
        yield BenchRow(f"{name}.py", command, times=1, beside=beside, says=_last)


def _last(_: float, printed: str) -> str:
    return printed
