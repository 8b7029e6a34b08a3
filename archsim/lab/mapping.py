"""Only mapping: the loop nests of a model on a chip, as text and as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from archsim.errors import ConfigError, nearest
from archsim.ir.mapping import ModelMapping
from archsim.lab.job import Job, Progress, build, quiet
from archsim.report.loopnest import loop_nest


def mapped(job: Job, say: Progress = quiet) -> ModelMapping:
    """The mapping of the job's model; raises ConfigError for a Program, which is mapped already."""
    mapping = None if job.is_program else build(job, say).mapping
    if mapping is None:
        raise ConfigError(f"{job.model}: a Program is mapped already; map the model it came from")
    return mapping


def texts(mapping: ModelMapping, layer: str | None = None) -> Iterator[str]:
    """A loop nest per layer, or of ``layer`` alone; raises ConfigError when there is no such layer."""
    names = [found.layer for found in mapping.layers]
    if layer is not None and layer not in names:
        raise ConfigError(f"--layer: no layer '{layer}' in {mapping.workload}{nearest(layer, names)}")
    for found in mapping.layers:
        if layer in (None, found.layer):
            yield loop_nest(found)


def to_text(mapping: ModelMapping) -> str:
    """The mapping as YAML."""
    from archsim.ir.text import mapping_to_yaml

    return mapping_to_yaml(mapping)


def write(mapping: ModelMapping, path: Path) -> None:
    """Write the mapping as YAML; raises ConfigError when the file cannot be written."""
    try:
        path.write_text(to_text(mapping), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from error
