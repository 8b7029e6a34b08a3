"""A cluster file (schema ``archsim.cluster/1``): workers of a batch system, or of this machine.

kind: slurm | lsf | pbs
jobs: 8                       # that are submitted, each a script of its own
cores: 16                     # of a job; each works on a point at a time
memory: 64 GiB                # of a job, for all its points together
walltime: 4 h                 # of a job; its workers leave shortly before
queue: batch                  # optional, as all below
account: project7             # of lsf: its project
directives: ["--exclusive"]   # further ones of the batch system, without its prefix
environment: ["module load python/3.11"]    # lines of the script before the workers start
interface: ib0                # of the network between this machine and the jobs
python: /shared/venv/bin/python             # this process's own if absent

kind: local
workers: 4                    # processes, as -j, through the same scheduler

dashboard: "0.0.0.0:8787"     # of all kinds, optional: where Dask's pages are served; this machine alone if absent
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.base.units import PS_PER_S
from archsim.lab.sweep.schema import DURATION
from archsim.spec import json_forms as j
from archsim.spec import value_domains as d
from archsim.spec.nodes import FileNode, parse
from archsim.spec.problems import Problems, validate, validate_part
from archsim.spec.schema_base import Section

SCHEMA = "archsim.cluster/1"
LOCAL = "local"
BATCH = ("slurm", "lsf", "pbs")
_MINUTE_S = 60
_ADDRESS = re.compile(r"[\w.-]*:\d{1,5}")  # host:port, or :port on all interfaces
MOST_PORT = 65535
_MOST_JOBS = 100_000
_MOST_CORES = 4096  # of a job, or of this machine


@dataclass(frozen=True, slots=True)
class Local:
    """Workers on this machine; ``dashboard``: host:port, '' for loopback."""

    workers: int
    dashboard: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs of a batch system; '' and (): nothing is said. ``memory_bytes`` and ``cores`` are those of a job."""

    kind: str
    jobs: int
    cores: int
    memory_bytes: int
    walltime_s: int
    queue: str = ""
    account: str = ""
    directives: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    interface: str = ""
    python: str = ""
    dashboard: str = ""


def _written(allowed: str, fits: re.Pattern[str]) -> d.Domain:
    """Text of a form."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or not fits.fullmatch(value):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return value

    return d.Domain(allowed, convert, {"type": "string", "pattern": f"^({fits.pattern})$"})


def _address() -> d.Domain:
    allowed = "host:port such as 0.0.0.0:8787"

    def convert(value: object) -> str:
        if not isinstance(value, str) or not _ADDRESS.fullmatch(value) or int(value.rpartition(":")[2]) > MOST_PORT:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return value

    return d.Domain(allowed, convert, {"type": "string", "pattern": f"^({_ADDRESS.pattern})$"})


def _walltime() -> d.Domain:
    allowed = "whole minutes, more than nothing, such as 4 h"

    def convert(value: object) -> int:
        minutes = units.parse(value, DURATION) / (_MINUTE_S * PS_PER_S)
        if not minutes or minutes.denominator != 1:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return int(minutes) * _MINUTE_S

    return d.Domain(allowed, convert, j.quantity(DURATION))


_Line = Annotated[str, _written("text of one line", re.compile(r"[^\n\r]+"))]
_Text = Annotated[str, d.text()]


class Cluster(Section):
    """Keys of cluster files of all kinds."""

    schema_: Annotated[str, d.choice(SCHEMA)] = Field(SCHEMA, alias="schema", description="version of this grammar")
    kind: Annotated[str, d.choice(*BATCH, LOCAL)] = Field(description="a batch system, or this machine")
    dashboard: Annotated[str, _address()] = Field("", description="where Dask's pages are served; loopback alone")


class Here(Cluster):
    """Workers on this machine."""

    workers: Annotated[int, d.count(1, _MOST_CORES)] = Field(description="processes")


class Jobs(Cluster):
    """Workers in jobs of a batch system."""

    jobs: Annotated[int, d.count(1, _MOST_JOBS)] = Field(description="that are submitted, each a script of its own")
    cores: Annotated[int, d.count(1, _MOST_CORES)] = Field(description="of a job; each works on a point at a time")
    memory: Annotated[int, d.whole(units.SIZE, "1 B", "1024 TiB")] = Field(description="of a job, for all its points")
    walltime: Annotated[int, _walltime()] = Field(description="of a job; its workers leave shortly before")
    queue: _Text = Field("", description="of the batch system")
    account: _Text = Field("", description="of lsf: its project")
    directives: list[_Line] = Field([], description="further ones of the batch system, without its prefix")
    environment: list[_Line] = Field([], description="lines of the script before the workers start")
    interface: _Text = Field("", description="of the network between this machine and the jobs")
    python: _Text = Field("", description="this process's own if absent")


class _Any(Here, Jobs):
    """The keys of all kinds."""


def read(text: str, path: str = "<text>") -> Local | Batch:
    """The cluster of a file's text; raises ConfigError with file:line:column, key path and what is allowed of every
    problem that it has."""
    root = parse(text, path)
    problems = Problems()
    found = _validated(root, problems)
    problems.raise_all()
    if isinstance(found, Here):
        return Local(found.workers, found.dashboard)
    if not isinstance(found, Jobs):
        raise TypeError("a cluster was refused without a reason")
    return Batch(
        found.kind, found.jobs, found.cores, found.memory, found.walltime, found.queue, found.account,
        tuple(found.directives), tuple(found.environment), found.interface, found.python, found.dashboard,
    )  # fmt: skip


def _validated(root: FileNode, problems: Problems) -> Cluster | None:
    kind = root.mapping["kind"].value if "kind" in root.mapping else None
    if kind in (*BATCH, LOCAL):
        return validate(Here if kind == LOCAL else Jobs, root, "", problems)
    if kind is None:
        problems.add(root.mark, "kind", f"missing; allowed {', '.join((*BATCH, LOCAL))}")
    validate_part(_Any, root, "", problems)
    return None
