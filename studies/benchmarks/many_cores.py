"""ResNet-50 and BERT-base on the 64 cores of mtia_v2i: CPU by phase, memory, cost of a command and of a flit-hop.

python studies/benchmarks/many_cores.py [MODEL[:KEY=N,...] ...]

Times are user CPU seconds. Each model is run in a process of its own with links reserved by packets (link: fidelity
fast) and flit by flit (flit: fidelity exact, of DRAM too). Mappings are searched for from nothing in one process
("search") and read back in the next ("read"); kernels are compiled beforehand. A flit-hop is a flit that passes one
router, as the network counts them. ``!``: misses its bar.
"""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

CHIP = "mtia_v2i"
MODELS = ("resnet50", "bert_base")
SMALL = Path(__file__).resolve().parents[1] / "workloads" / "every_kind.yaml"
FIDELITIES = {"link": "fast", "flit": "exact"}
BARS_S = {"resnet50": {"link": 6.0, "flit": 15.0}, "bert_base": {"link": 15.0, "flit": 60.0}}
BAR_MB = 1000.0
PHASES = ("search", "read", "lower", "check", "simulate", "account")


class Phases:
    """User CPU seconds by phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        begun = user_s()
        yield
        self.seconds[name] = user_s() - begun


def user_s() -> float:
    """User CPU seconds of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


class Case:
    """A model on the chip at a fidelity; ``mappings``: where they are kept."""

    def __init__(self, model: str, fidelity: str, mappings: Path) -> None:
        from archsim.frontend.load import load_model
        from archsim.lab.run.fidelity import with_fidelity
        from archsim.lab.run.offchip import outer_rates
        from archsim.spec.load import load
        from mapper.options import Options, resolve_dtypes

        name, _, stated = model.partition(":")
        parameters = {key: int(value) for key, value in (item.split("=") for item in stated.split(",") if item)}
        self.fidelity = FIDELITIES[fidelity]
        self.workload, self.chip = load_model(name, parameters=parameters), with_fidelity(load(CHIP), self.fidelity)
        self.options = Options(cache=mappings, outer=outer_rates(self.chip))
        self.asked = (self.workload, self.chip, resolve_dtypes(self.chip, {}), self.options)

    def search(self) -> dict[str, Any]:
        """Mappings from nothing, left in the cache."""
        from mapper.layers import Layers

        phase = Phases()
        with phase("search"):
            Layers(*self.asked).map()
        return {"seconds": phase.seconds}

    def run(self) -> dict[str, Any]:
        """Everything else: its phases in user CPU seconds, and what was run."""
        from archsim.ir.check.program import check
        from archsim.lab.run.account import assemble
        from archsim.lab.run.job import Job
        from archsim.lab.run.run import execute
        from archsim.system import simulate
        from mapper.layers import Layers
        from mapper.lower.model import Lowering

        execute(Job(SMALL, CHIP, fidelity=self.fidelity))  # compiles
        phase = Phases()
        with phase("read"):
            mapped = Layers(*self.asked).map()
        with phase("lower"):
            compiled = Lowering(*self.asked).lower(mapped)
        with phase("check"):
            check(compiled.program, self.chip)
        with phase("simulate"):
            activity = simulate(compiled.program, self.chip)
        with phase("account"):
            result = assemble(self.workload, self.chip, activity, compiled.mapping, options={}, seed=0)
        return {
            "seconds": phase.seconds,
            "commands": sum(len(records) for records in activity.records.values()),
            "flit_hops": sum(n for (_, _, action), n in activity.counts.items() if action == "router_flits"),
            "cycles": result.cycles_total,
            "utilization": result.utilization,
            "peak_mb": peak_mb(),
        }


def peak_mb() -> float:
    """Of this process alone: ru_maxrss counts the parent's too."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(row.split()[1] for row in status if "VmHWM" in row)) / 1024


def line(model: str, fidelity: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    seconds = found["seconds"]
    cells = "".join(f" {seconds[phase]:8.2f}" if phase in seconds else " " * 9 for phase in PHASES)
    whole = sum(took for phase, took in seconds.items() if phase != "search")
    simulate = seconds["simulate"] * 1e6
    hop = f"{simulate / found['flit_hops']:7.3f}" if fidelity == "flit" else " " * 7
    return (
        f"{model:24} {fidelity}{cells} {whole:8.2f}{_mark(whole, _bar_s(model, fidelity))} {found['peak_mb']:6.0f}"
        f"{_mark(found['peak_mb'], BAR_MB)} {found['commands']:9,} {simulate / found['commands']:6.0f} "
        f"{found['flit_hops'] / 1e6:8.1f} {hop} {found['cycles']:11,} {100 * found['utilization']:6.1f}"
    )


def _bar_s(model: str, fidelity: str) -> float:
    """Of a model with parameters or of a file: none."""
    return BARS_S.get(model, {}).get(fidelity, inf)


def _mark(found: float, bar: float) -> str:
    return " " if found <= bar else "!"


def apart(what: str, model: str, fidelity: str, mappings: str) -> dict[str, Any]:
    """A method of Case in a process of its own."""
    run = [sys.executable, __file__, f"--{what}", model, fidelity, mappings]
    found: dict[str, Any] = json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def main() -> None:
    """Print the table; with --search or --run, the figures of one process as JSON."""
    gc.set_threshold(200_000, 50, 100)  # as the command line does
    if sys.argv[1:2] in (["--search"], ["--run"]):
        case = Case(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
        print(json.dumps(case.search() if sys.argv[1] == "--search" else case.run()))
        return
    bars = ", ".join(f"{model} {' and '.join(f'{bar:.0f} s' for bar in of.values())}" for model, of in BARS_S.items())
    print(f"user CPU seconds on {CHIP}, all without the search (bars at link and flit: {bars}; {BAR_MB:.0f} MB)")
    heads = "".join(f" {phase:>8}" for phase in (*PHASES, "all"))
    print(f"{'':29}{heads}       MB   commands us/cmd   M hops  us/hop      cycles MACs %")
    for model in sys.argv[1:] or MODELS:
        with tempfile.TemporaryDirectory() as mappings:
            for fidelity in FIDELITIES:
                searched = apart("search", model, fidelity, mappings)["seconds"]
                found = apart("run", model, fidelity, mappings)
                found["seconds"] = searched | found["seconds"]
                print(line(model, fidelity, found), flush=True)


if __name__ == "__main__":
    main()
