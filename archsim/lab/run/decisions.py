"""What the net kept of a network, on disk: a small file for each network, chip and question. Where it is gone, the net
tries again."""

from __future__ import annotations

from typing import cast

from archsim.base.caches import code_sha256, folder
from archsim.base.registry import plugins_sha256
from archsim.base.sealed_file import SealedFile
from archsim.ir.result_parts import IN_TURN, LAYERS, PLATFORM, Net
from archsim.lab.run.job import CompileRequest, Job
from archsim.spec.architecture import Architecture
from mapper.search.mapping_cache import MACHINE, SOURCES, digest

KIND = "networks"


class Decisions:
    """The entry of one job."""

    def __init__(self, job: Job, architecture: Architecture, asked: CompileRequest, code: str) -> None:
        """``code``: the module that decides. The key holds what the layers are, not the model's file: a batch, or rows
        of a trace, make others of it."""
        options, workload = asked.options, asked.workload
        question = [
            workload.layers, sorted(workload.tensors.items()), architecture.sha256,
            code_sha256((*SOURCES, *MACHINE, code)), plugins_sha256(),
            job.objective, job.fidelity, job.repeat, sorted((options.dtypes or {}).items()),
            sorted(options.numbers.items()), options.schedule, options.policy,
        ]  # fmt: skip
        self._file = SealedFile(folder(), KIND, digest(question)[:32], "what was kept of a network")

    def read(self) -> Net | None:
        """What was kept, None where that is not known."""
        return cast("Net | None", self._file.read(_is_net))

    def write(self, net: Net) -> None:
        """Remember what was kept."""
        self._file.write({**net})


def _is_net(found: dict[str, object]) -> bool:
    """Whether what was kept is one of what was tried."""
    from mapper.options import OBJECTIVES

    tried = found["tried"]
    return isinstance(tried, dict) and found["kept"] in tried and set(tried) <= {*OBJECTIVES, LAYERS, PLATFORM, IN_TURN}
