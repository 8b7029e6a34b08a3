"""Scenarios by name or path: those in ``configs/scenarios`` and in files whose schema line says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base import registry
from archsim.base.errors import ArchsimError, placed
from archsim.lab.kit.text import read_text
from archsim.lab.scenario.words import SCENARIO
from archsim.spec.locate import config_files, is_file
from archsim.spec.nodes import read as read_nodes

if TYPE_CHECKING:
    from archsim.ir.workload import Workload
    from archsim.lab.scenario.form import FrameStream, Scenario

FOLDER = "scenarios"
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class LoadedScenario:
    """A scenario with the workload of each of its streams, equal ones read once."""

    scenario: Scenario
    workloads: Mapping[str, Workload]
    text_sha256: str

    @property
    def sha256(self) -> str:
        """Of the file and of all models."""
        models = {name: workload.sha256 for name, workload in self.workloads.items()}
        return hashlib.sha256(json.dumps([self.text_sha256, models]).encode()).hexdigest()


def names() -> dict[str, str]:
    """Every scenario that is found by name, sorted, with one line that describes it."""
    return {name: _text(path, "description") for name, path in config_files(FOLDER).items()}


def is_scenario(name_or_path: object) -> bool:
    """Whether this names a scenario: one of ``names()``, or a YAML file with the schema of one."""
    if not isinstance(name_or_path, str | Path):
        return False
    if str(name_or_path) in config_files(FOLDER):
        return True
    path = Path(name_or_path)
    return path.suffix in _SUFFIXES and is_file(path) and _text(path, "schema") == SCENARIO


def find(name_or_path: str | Path) -> Path:
    """The file of a scenario; raises ConfigError naming those that exist."""
    known = config_files(FOLDER)
    if str(name_or_path) in known:
        return known[str(name_or_path)]
    path = Path(name_or_path)
    if path.suffix in _SUFFIXES and is_file(path):
        return path
    raise registry.unknown("scenario", str(name_or_path), known)


def load(name_or_path: str | Path) -> LoadedScenario:
    """A scenario and its models, which are named, or paths relative to its file.

    Raises ConfigError and ModelError with file:line:column.
    """
    from archsim.lab.scenario.form import read

    path = find(name_or_path)
    text = read_text(path)
    found = read(text, str(path))
    found = replace(found, streams=tuple([replace(each, model=_beside(path, each.model)) for each in found.streams]))
    read_once: dict[tuple[object, ...], Workload] = {}
    workloads = {stream.name: _workload(stream, read_once) for stream in found.streams}
    return LoadedScenario(found, workloads, hashlib.sha256(text.encode()).hexdigest())


def _workload(stream: FrameStream, known: dict[tuple[object, ...], Workload]) -> Workload:
    from archsim.frontend.load import load_model

    key = (stream.model, stream.batch, tuple(sorted(stream.parameters.items())))
    if key not in known:
        try:
            known[key] = load_model(stream.model, batch=stream.batch, parameters=dict(stream.parameters) or None)
        except ArchsimError as error:
            raise placed(error, stream.place) from None
    return known[key]


def _beside(path: Path, name: str) -> str:
    """A path relative to the scenario's folder, where there is such a file."""
    there = path.parent / name
    return str(there) if Path(name).suffix and not Path(name).is_absolute() and is_file(there) else name


def _text(path: Path, key: str) -> str:
    node = read_nodes(path).mapping.get(key)
    return str(node.value) if node is not None else ""
