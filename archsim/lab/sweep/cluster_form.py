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

from archsim import units
from archsim.ir.forms import stated
from archsim.ir.forms.fields import Fields, fail
from archsim.ir.forms.stated import Stated
from archsim.lab.sweep.quantity import DURATION, PS_PER_S, quantity
from archsim.spec import json_forms as j
from archsim.spec.nodes import parse

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


def read(text: str, path: str = "<text>") -> Local | Batch:
    """The cluster of a file's text; raises ConfigError with file:line:column, key path and what is allowed."""
    fields = Fields(parse(text, path), "")
    if fields.has("schema"):
        fields.text("schema", (SCHEMA,))
    local = fields.text("kind", (*BATCH, LOCAL)) == LOCAL
    found = stated.read_keys(fields, LOCAL_KEYS if local else BATCH_KEYS)
    del found["schema"]
    if not local:
        return Batch(memory_bytes=found.pop("memory"), walltime_s=found.pop("walltime"), **found)
    del found["kind"]
    return Local(**found)


def json_root() -> j.Json:
    """A cluster file as JSON Schema: jobs of a batch system, or workers of this machine."""
    of_jobs, of_this = (stated.json_form(keys, about) for keys, about in _FORMS)
    chosen = {"properties": {"kind": {"const": LOCAL}}, "required": ["kind"]}
    return {"type": "object", "if": chosen, "then": of_this, "else": of_jobs}


def _whole(fields: Fields, key: str, kind: units.Kind, unit: int, allowed: str) -> int:
    """A quantity in units of ``unit``, of which it must be a whole number."""
    found = quantity(fields, key, kind) / unit
    if found.denominator != 1:
        fail(fields.child(key), fields.at(key), fields.child(key).plain(), allowed)
    return int(found)


def _memory(fields: Fields, key: str) -> int:
    return _whole(fields, key, units.SIZE, 1, "whole bytes")


def _walltime(fields: Fields, key: str) -> int:
    return _whole(fields, key, DURATION, _MINUTE_S * PS_PER_S, "whole minutes") * _MINUTE_S


def _address(fields: Fields, key: str) -> str:
    """``host:port`` or ``:port``."""
    found = fields.text(key)
    if found and (not _ADDRESS.fullmatch(found) or int(found.rpartition(":")[2]) > MOST_PORT):
        fail(fields.child(key), fields.at(key), found, "host:port such as 0.0.0.0:8787")
    return found


def _lines(fields: Fields, key: str) -> tuple[str, ...]:
    """A list of texts of one line each."""
    for (node, at), text in zip(fields.items(key), fields.texts(key), strict=True):
        if "\n" in text:
            fail(node, at, text, "one line")
    return fields.texts(key)


_LINE = {"type": "string", "pattern": r"^[^\n]*$"}
_VERSION = {"schema": stated.word((SCHEMA,), "version of this grammar", SCHEMA)}
_DASHBOARD = {
    "dashboard": Stated(
        _address,
        {"type": "string", "pattern": rf"^({_ADDRESS.pattern})?$"},
        "host:port where Dask's pages are served; this machine alone if absent",
        "",
    )
}
BATCH_KEYS: stated.Keys = {
    **_VERSION,
    "kind": stated.word(BATCH, "the batch system, or local"),
    "jobs": stated.count(_MOST_JOBS, "jobs that are submitted, each a script of its own"),
    "cores": stated.count(_MOST_CORES, "cores of a job; each works on a point at a time"),
    "memory": Stated(_memory, j.quantity(units.SIZE), "memory of a job, for all its points together: whole bytes"),
    "walltime": Stated(_walltime, j.quantity(DURATION), "time of a job, whole minutes; workers leave shortly before"),
    "queue": stated.text("queue or partition", ""),
    "account": stated.text("account; of lsf its project", ""),
    "directives": Stated(_lines, j.listed(_LINE), "further ones of the batch system, without its prefix", ()),
    "environment": Stated(_lines, j.listed(_LINE), "lines of the script before the workers start", ()),
    "interface": stated.text("the network between this machine and the jobs", ""),
    "python": stated.text("the interpreter of the workers; this process's own if absent", ""),
    **_DASHBOARD,
}
LOCAL_KEYS: stated.Keys = {
    **_VERSION,
    "kind": stated.word((LOCAL,), "workers of this machine"),
    "workers": stated.count(_MOST_CORES, "processes, as with -j, through the same scheduler"),
    **_DASHBOARD,
}
_FORMS = ((BATCH_KEYS, "Jobs of a batch system."), (LOCAL_KEYS, "Workers of this machine."))
