"""CPU time of a search for the best LoopTree, best of five in a warm process, beside the recorded time of AccelForge.

python studies/benchmarks/mapping_speed.py [ACCELERATOR ...]

Spaces: divisors in the order of the memories (the recorded rules), divisors interleaved, any factors (matrix products
only, the busiest instance counts). Then a fresh process with cached kernels: user CPU and peak memory of one search.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from archsim.lab.validate.mapping import BUSIEST
from archsim.lab.validate.mapping_files import RecordedMapping, read
from archsim.lab.validate.suite import default_reference
from mapper.looptree.conventions import ACCELFORGE
from mapper.looptree.einsum import Einsum, convolution, gemm
from mapper.looptree.hierarchy import Hierarchy
from mapper.looptree.search.objective import EDP
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Space

FILES = default_reference("mapping") / "accelforge"
PRODUCTS = ((64, 64, 64), (128, 768, 3072), (197, 768, 768), (1000, 1000, 1000), (4096, 4096, 4096))  # m, k, n
CONVOLUTIONS = {  # m, c, p = q, r = s, stride: layers of ResNet-50 (He et al., CVPR 2016, table 1)
    "conv 3x3": (64, 64, 56, 3, 1),
    "conv 1x1": (256, 64, 56, 1, 1),
    "conv 7x7/2": (64, 3, 112, 7, 2),
}
DEEP = ("eyeriss", "tl_eyeriss")
FREE = ("simple2", "tl_eyeriss")  # any dim on any fan-out
TIMES = 5
ANY_BAR_MS, FRESH_BAR_S, MEMORY_BAR_MB = 200.0, 1.5, 300.0
ONE = """
from archsim.lab.validate.mapping_files import read
from archsim.lab.validate.suite import default_reference
from mapper.looptree.conventions import ACCELFORGE
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Space
import resource
from pathlib import Path
one = read(default_reference("mapping") / "accelforge" / "{name}.json")
search(Space(one.einsum, one.hierarchy, ACCELFORGE, one.factors, in_order=True), one.objective)
memory_kb = next(row.split()[1] for row in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in row)
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime, int(memory_kb) / 1024)  # ru_maxrss counts the parent's too
"""


def accelerators() -> dict[str, RecordedMapping]:
    """A recorded problem of each accelerator."""
    return {path.stem.partition("_gemm")[0]: read(path) for path in sorted(FILES.glob("*_gemm_128_768_3072_edp.json"))}


def anchors() -> dict[tuple[str, tuple[int, ...]], tuple[float | None, float | None]]:
    """Recorded user CPU seconds, of a process and of a second search in it, by accelerator and extents."""
    found = {}
    for path in sorted(FILES.glob("*_edp.json")):
        one = read(path)
        found[one.hierarchy.name, tuple(one.einsum.extents.values())] = one.user_s, one.warm_user_s
    return found


def workloads() -> dict[str, tuple[Einsum, bool]]:
    """Einsums by name, and whether each is a matrix product."""
    found = {f"gemm {m}x{k}x{n}": (gemm(m, k, n), True) for m, k, n in PRODUCTS}
    for name, (m, c, p, r, stride) in CONVOLUTIONS.items():
        found[name] = convolution({"n": 1, "m": m, "c": c, "p": p, "q": p, "r": r, "s": r}, stride), False
    return found


def best_ms(space: Space) -> float:
    """Of ``TIMES`` searches after one that compiles kernels and makes templates."""
    search(space, EDP)
    found = []
    for _ in range(TIMES):
        begun_s = time.process_time()
        search(space, EDP)
        found.append(1e3 * (time.process_time() - begun_s))
    return min(found)


def bar_ms(name: str, product: bool) -> float:
    """Of a search over divisors."""
    if product:
        return 60.0 if name in FREE else 10.0
    return 300.0 if name in DEEP else 30.0


def row(name: str, workload: str, einsum: Einsum, hierarchy: Hierarchy, product: bool) -> str:
    """A line of the table."""
    times = [best_ms(Space(einsum, hierarchy, ACCELFORGE, in_order=order)) for order in (True, False)]
    bar = bar_ms(name, product)
    cells = [_cell(ms, bar) for ms in times]
    cells.append(_cell(best_ms(Space(einsum, hierarchy, BUSIEST, "any")), ANY_BAR_MS) if product else "")
    recorded = anchors().get((hierarchy.name, tuple(einsum.extents.values())), (None, None))
    cells += [f"{seconds:.2f}" if seconds else "" for seconds in recorded]
    return f"{name:11} {workload:20} {bar:5.0f}" + "".join(f" {cell:>11}" for cell in cells)


def _cell(ms: float, bar: float) -> str:
    return f"{ms:.1f}{'' if ms <= bar else ' !'}"


def main() -> None:
    """Print the table; ``!`` marks what misses its bar."""
    chosen = sys.argv[1:]
    heads = ("in order", "interleaved", "any factors", "AccelForge s", "its 2nd s")
    print(f"{'':11} {'milliseconds':20} {'bar':>5}" + "".join(f" {head:>11}" for head in heads))
    for name, one in accelerators().items():
        if chosen and name not in chosen:
            continue
        for workload, (einsum, product) in workloads().items():
            print(row(name, workload, einsum, one.hierarchy, product), flush=True)
        fresh(one.name)
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at its peak")


def fresh(name: str) -> None:
    """Print user CPU and peak memory of one search in a process of its own."""
    runs = []
    for _ in range(TIMES):
        run = subprocess.run([sys.executable, "-c", ONE.format(name=name)], check=True, capture_output=True, text=True)
        runs.append([float(figure) for figure in run.stdout.split()])
    user_s, memory_mb = min(run[0] for run in runs), min(run[1] for run in runs)
    marks = ["" if user_s <= FRESH_BAR_S else " !", "" if memory_mb <= MEMORY_BAR_MB else " !"]
    print(
        f"{name}, fresh process: {user_s:.2f} s user CPU (bar {FRESH_BAR_S}){marks[0]}, "
        f"{memory_mb:.0f} MB (bar {MEMORY_BAR_MB:.0f}){marks[1]}",
        flush=True,
    )


if __name__ == "__main__":
    main()
