"""What the net kept of a network, on disk: a small file for each network, chip and question.

An entry carries a seal (``archsim.base.entries``); one that is edited or damaged is dropped with a warning, and the net
tries again. A folder that cannot be written costs the cache alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from archsim.base import entries
from archsim.base.caches import code_sha256, folder
from archsim.base.registry import plugins_sha256
from archsim.ir.result_parts import IN_TURN, LAYERS, Net
from archsim.lab.run.job import CompileRequest, Job
from archsim.spec.architecture import Architecture
from mapper.search.mapping_cache import MACHINE, SOURCES, digest

KIND = "networks"
SEAL = "seal"


class Decisions:
    """The entry of one job."""

    def __init__(self, job: Job, architecture: Architecture, asked: CompileRequest) -> None:
        """Its key holds what the layers are, not the model's file: a batch, or rows of a trace, make others of it."""
        root, options, workload = folder(), asked.options, asked.workload
        question = [
            workload.layers, sorted(workload.tensors.items()), architecture.sha256,
            code_sha256((*SOURCES, *MACHINE)), plugins_sha256(),
            job.objective, job.fidelity, job.repeat, sorted((options.dtypes or {}).items()),
            sorted(options.numbers.items()), options.schedule,
        ]  # fmt: skip
        self._path: Path | None = root / KIND / f"{digest(question)[:32]}.json" if root is not None else None

    def read(self) -> Net | None:
        """What was kept, None where that is not known."""
        if self._path is None:
            return None
        try:
            found = json.loads(self._path.read_bytes())
            net = {name: value for name, value in found.items() if name != SEAL}
            if found[SEAL] == entries.seal(self._path.name, KIND, net) and _is_net(net):
                return cast(Net, net)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            entries.unread(self._path, error)
            return None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # cut short, or none of ours
        entries.dropped(self._path, "what was kept of a network was edited, damaged or cut short")
        return None

    def write(self, net: Net) -> None:
        """Remember what was kept."""
        if self._path is None:
            return
        sealed = {**net, SEAL: entries.seal(self._path.name, KIND, net)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            entries.replace(self._path, json.dumps(sealed).encode())
        except OSError as error:
            entries.unkept(self._path, error)


def _is_net(found: dict[str, object]) -> bool:
    """Whether what was kept is one of what was tried."""
    from mapper.options import OBJECTIVES

    tried = found["tried"]
    return isinstance(tried, dict) and found["kept"] in tried and set(tried) <= {*OBJECTIVES, LAYERS, IN_TURN}
