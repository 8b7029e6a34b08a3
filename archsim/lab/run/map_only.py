"""Only mapping: the loop nests of a model on a chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from archsim.base.errors import ConfigError, nearest
from archsim.ir.mapping import ModelMapping
from archsim.ir.workload import Workload
from archsim.lab.run.job import Job, Progress, build, quiet
from archsim.lab.run.net import caught
from archsim.report.run.loopnest import group_nest, loop_nest


@dataclass(frozen=True)
class MappedModel:
    """A model and its mapping; ``dataflows`` of the chip's arrays by their names; ``warnings`` are the compiler's."""

    workload: Workload
    mapping: ModelMapping
    dataflows: Mapping[str, str]
    warnings: tuple[str, ...] = ()


def mapped(job: Job, say: Progress = quiet) -> MappedModel:
    """The mapping of the job's model; raises ConfigError for a Program, which is mapped already."""
    built = None if job.is_program else caught(job, say).built if job.has_net else build(job, say)
    if built is None or built.mapping is None or built.workload is None:
        raise ConfigError(f"{job.model}: a Program is mapped already; map the model it came from")
    dataflows = {array.name: array.dataflow for array in built.architecture.arrays}
    return MappedModel(built.workload, built.mapping, dataflows, built.warnings)


def texts(mapping: ModelMapping, dataflows: Mapping[str, str], layer: str | None = None) -> Iterator[str]:
    """A loop nest per layer, of groups those of their members; or of ``layer`` alone, with what its group shares.

    ``dataflows`` of arrays by their names.

    Raises ConfigError when there is no such layer.
    """
    names = [found.layer for found in mapping.layers]
    if layer is not None and layer not in names:
        raise ConfigError(f"--layer: no layer '{layer}' in {mapping.workload}{nearest(layer, names)}")
    grouped = {member.layer: group for group in mapping.groups for member in group.members}
    shown = (found for found in mapping.layers if layer in (None, found.layer))
    for group, members in groupby(shown, lambda found: grouped.get(found.layer)):
        if group is not None:
            yield group_nest(group, list(members), dataflows)
        else:
            yield from (loop_nest(found, dataflows.get(found.unit, "")) for found in members)
