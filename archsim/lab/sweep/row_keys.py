"""What a row depends on, as one hash: chip, values, model, options, and the code and tables that make it."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from archsim.base.caches import code_sha256
from archsim.base.registry import TABLES, plugins_sha256
from archsim.ir.workload import Workload
from archsim.lab.run.job import traces_sha256
from archsim.lab.scenario.find import LoadedScenario
from archsim.lab.sweep.points import DesignPoint
from archsim.spec.architecture import Architecture
from archsim.spec.locate import config_dir

CODE = ("archsim", "mapper")


class RowKeys:
    """Keys of the rows of a sweep on ``chip``; ``options``: what else the rows depend on."""

    def __init__(self, chip: Architecture, *options: object) -> None:
        self._all = (chip.sha256, *options, code_sha256(CODE), _tables_sha256(), *_plugins())
        self._known: dict[int, tuple[Workload | LoadedScenario, str]] = {}

    def of(self, point: DesignPoint, workload: Workload | LoadedScenario, model: str, fidelity: str) -> str:
        """The key of a model, or a scenario, on a point at a fidelity."""
        values = sorted((key, str(value)) for key, value in point.values.items())
        what = (*self._all, values, workload.sha256, self._traces(workload), model, fidelity)
        return hashlib.sha256(json.dumps(what, default=str).encode()).hexdigest()[:32]

    def _traces(self, workload: Workload | LoadedScenario) -> str:
        """Of the rows that models look up by traces, which their own files need not hold."""
        if id(workload) not in self._known:
            models = workload.workloads.values() if isinstance(workload, LoadedScenario) else (workload,)
            self._known[id(workload)] = workload, " ".join(map(traces_sha256, models))
        return self._known[id(workload)][1]


def version() -> str:
    """Of the code and the tables that this process works with."""
    return hashlib.sha256(" ".join([code_sha256(CODE), _tables_sha256(), *_plugins()]).encode()).hexdigest()


def _plugins() -> tuple[str, ...]:
    """Of the extensions in Python that lie outside the tree, where there are directories of them."""
    found = plugins_sha256()
    return (found,) if found else ()


@cache
def _tables_sha256() -> str:
    """Of the tables of numbers that chips name."""
    found = hashlib.sha256()
    for folder in (folder for kind in TABLES for folder in config_dir(kind)):
        for path in sorted(Path(folder).rglob("*.yaml")):
            found.update(path.name.encode())
            found.update(path.read_bytes())
    return found.hexdigest()
