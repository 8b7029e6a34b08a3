"""User CPU seconds and memory of ResNet-50 on a 32x32 output-stationary array: ours, and SCALE-Sim's where installed.

    python studies/benchmarks/scalesim_resnet50.py

Ours is the whole run (mapping, DRAM, ports, energy, report data) in a process of its own, first on an empty cache,
then on a filled one. SCALE-Sim (the `scalesim` package, version 3) computes the cycles of the same matrix products,
given to it as a GEMM topology; that took it 693 s and 9.0 GB where it was measured.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
from math import prod
from pathlib import Path

CHIP = "scalesim_32x32"  # output-stationary, as SCALE-Sim's configuration below
CONFIG = """\
[general]
run_name = resnet50
[architecture_presets]
ArrayHeight: 32
ArrayWidth: 32
IfmapSramSzkB: 64
FilterSramSzkB: 64
OfmapSramSzkB: 64
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Bandwidth: 10
Dataflow: os
MemoryBanks: 1
ReadRequestBuffer: 32
WriteRequestBuffer: 32
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 10
IfmapSRAMBankNum: 10
IfmapSRAMBankPort: 2
FilterCustomLayout: False
FilterSRAMBankBandwidth: 10
FilterSRAMBankNum: 10
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport: false
SparseRep: ellpack_block
OptimizedMapping: false
BlockSize: 8
RandomNumberGeneratorSeed: 40
[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""


def measured(command: list[str], folder: Path, **variables: str) -> float:
    """User CPU seconds of ``command``, run in ``folder``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment = {**os.environ, **variables}
    subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def largest_mb() -> float:
    """Largest resident memory of any child so far (ru_maxrss is in KiB on Linux)."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6


def topology() -> str:
    """ResNet-50's matrix products as a SCALE-Sim GEMM topology: name, M, N, K."""
    import archsim

    rows = ["Layer, M, N, K,"]
    for layer in archsim.load_model("resnet50").layers:
        if layer.kind == "matmul":
            m, n, k = (prod(layer.dims[dim] for dim in dims) for dims in (layer.m, layer.n, layer.k))
            rows.append(f"{layer.name}, {m}, {n}, {k},")
    return "\n".join(rows) + "\n"


def ours(folder: Path) -> None:
    """Two runs, the second with caches filled."""
    run = ["run", "resnet50", "--on", CHIP, "--format", "json"]
    command = [sys.executable, "-c", "from archsim.cli.app import main; main()", *run]
    for state in ("empty cache", "filled cache"):
        seconds = measured(command, folder, ARCHSIM_CACHE=str(folder / "cache"))
        print(f"archsim, {state:12}  {seconds:8.1f} s user CPU  {largest_mb():8.0f} MB", flush=True)


def theirs(folder: Path) -> None:
    """SCALE-Sim's compute cycles of the same products."""
    (folder / "os.cfg").write_text(CONFIG)
    (folder / "resnet50.csv").write_text(topology())
    (folder / "layout.csv").write_text("Layer\n")
    files = ["-c", "os.cfg", "-t", "resnet50.csv", "-l", "layout.csv", "-p", "out"]
    seconds = measured([sys.executable, "-m", "scalesim.scale", "-i", "gemm", "-s", "N", *files], folder)
    print(f"SCALE-Sim             {seconds:8.1f} s user CPU  {largest_mb():8.0f} MB")


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        ours(Path(folder))
        if importlib.util.find_spec("scalesim") is None:
            print("SCALE-Sim is not installed here; measured elsewhere: 693 s user CPU, 9000 MB")
        else:
            theirs(Path(folder))


if __name__ == "__main__":
    main()
