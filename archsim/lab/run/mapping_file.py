"""Mapping files: written by ``map --export`` and ``run --out``, read by ``--mapping``.

A file states the mapping of some layers or of all, where tensors lie, and constraints on the search of the others.
YAML (``.yaml``, ``.yml``) or one line per level (``.txt``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from archsim.base import writable
from archsim.base.errors import ConfigError, MappingError, nearest
from archsim.ir.mapping import MappingFile, ModelMapping
from archsim.ir.result_parts import BEST
from archsim.ir.workload import Workload
from archsim.lab.kit.text import read_text
from archsim.spec.architecture import Architecture
from mapper.options import Given
from mapper.policies import catalogue

YAML, TEXT = (".yaml", ".yml"), (".txt",)


@dataclass(frozen=True)
class PinnedMapping:
    """A mapping file as read: what it states, and of what it was made."""

    path: Path
    file: MappingFile
    sha256: str

    def given(self, workload: Workload, dtypes: dict[str, str]) -> Given:
        """What the compiler is to take from it; raises ConfigError for dtypes and extents that are not the run's."""
        self._check_dtypes(dtypes)
        self._check_dims(workload)
        mapping, places = self.file.mapping, self.file.places
        found: dict[str, str] = {}
        for number, layer in enumerate(mapping.layers):
            key = f"layer {layer.layer}"
            if key in found:
                raise MappingError(
                    f"{places[f'layers[{number}]']}: layer '{layer.layer}' is stated twice; allowed once"
                )
            found[key] = self._place(f"layers[{number}]")
            for index in range(len(layer.nodes)):
                found[f"{key}[{index}]"] = self._place(f"layers[{number}].nodes[{index}]")
        for number, item in enumerate(mapping.placements):
            key = f"placement {item.tensor}"
            if key in found:
                raise MappingError(f"{places[f'placements[{number}]']}: tensor '{item.tensor}' is placed twice")
            found[key] = self._place(f"placements[{number}]")
        for number, group in enumerate(mapping.groups):
            if f"group {group.name}" in found:
                raise MappingError(f"{places[f'groups[{number}]']}: group '{group.name}' is stated twice; allowed once")
            found[f"group {group.name}"] = self._place(f"groups[{number}]")
        hosted = {layer.name for layer in workload.layers if layer.kind == "host"}
        for number, layer in enumerate(mapping.layers):
            if layer.layer in hosted and layer.kind != "host":
                raise MappingError(f"{self._place(f'layers[{number}]')}layer '{layer.layer}' runs on the host")
        return Given(
            {layer.layer: layer for layer in mapping.layers if layer.layer not in hosted},
            {item.tensor: item for item in mapping.placements},
            self.file.constraints,
            mapping.groups,
            found,
        )

    def policy(self, schedule: str, asked: str) -> str:
        """The schedule policy that holds: the file's, or the one that ``schedule`` asks for where it names none ('' for
        none). Raises ConfigError for a policy that there is not, and for one beside another schedule than the usual."""
        stated, known = self.file.mapping.schedule, catalogue.names()
        if stated and stated not in known:
            allowed = f"allowed {', '.join(known)}{nearest(stated, known)}"
            raise ConfigError(f"{self._place('schedule')}found '{stated}'; {allowed}")
        if stated and schedule != BEST and asked != stated:
            raise ConfigError(f"{self._place('schedule')}found '{stated}' beside --schedule {schedule}")
        return stated or asked

    def _place(self, key: str) -> str:
        return f"{self.file.places[key]}: {key}: "

    def _check_dtypes(self, dtypes: dict[str, str]) -> None:
        stated = self.file.mapping.dtypes
        for role, dtype in stated.items():
            if dtypes.get(role) != dtype:
                place = self.file.places.get(f"dtypes.{role}", self.file.places.get("dtypes", str(self.path)))
                raise ConfigError(
                    f"{place}: dtypes.{role}: found {dtype}; this run has {dtypes.get(role, 'none')} (--dtype sets it)"
                )

    def _check_dims(self, workload: Workload) -> None:
        for layer in workload.layers:
            stated = self.file.dims.get(layer.name)
            if stated is not None and dict(stated) != dict(layer.dims):
                number = next(n for n, found in enumerate(self.file.mapping.layers) if found.layer == layer.name)
                has = ", ".join(f"{dim} {extent}" for dim, extent in layer.dims.items())
                raise ConfigError(f"{self._place(f'layers[{number}]')}layer '{layer.name}' has the extents {has}")

    def strangers(self, workload: Workload, architecture: Architecture) -> tuple[str, ...]:
        """What the file was made for, where that is another model or chip."""
        return tuple(self._strangers(workload, architecture))

    def _strangers(self, workload: Workload, architecture: Architecture) -> Iterator[str]:
        mapping = self.file.mapping
        for what, name, digest, here, has in (
            ("model", mapping.workload, mapping.workload_sha256, workload.name, workload.sha256),
            ("chip", mapping.chip, mapping.chip_sha256, architecture.name, architecture.sha256),
        ):
            if name and name != here:
                yield f"{self.path} was made for {what} '{name}', not '{here}'"
            elif digest and has and digest != has:
                yield f"{self.path} was made for another {what} '{name}' (sha256 {digest[:12]}, this one is {has[:12]})"


def load(path: Path) -> PinnedMapping:
    """Read a mapping file; raises ConfigError with file:line and what is allowed."""
    from archsim.ir.text import mapping_file_from_text, mapping_file_from_yaml

    _check_suffix(path)
    read = mapping_file_from_text if path.suffix in TEXT else mapping_file_from_yaml
    text = read_text(path)
    return PinnedMapping(path, read(text, str(path)), hashlib.sha256(text.encode()).hexdigest())


def to_text(mapping: ModelMapping, workload: Workload | None = None) -> str:
    """The mapping as YAML, or one line per level when ``workload`` tells the extents."""
    from archsim.ir.text import mapping_to_text, mapping_to_yaml

    if workload is None:
        return mapping_to_yaml(mapping)
    return mapping_to_text(mapping, {layer.name: layer.dims for layer in workload.layers})


def check_writable(path: Path) -> None:
    """Raises ConfigError when a mapping cannot be written there."""
    _check_suffix(path)
    writable.check_file(path)


def write(mapping: ModelMapping, workload: Workload, path: Path) -> None:
    """Write the mapping in the form that the suffix says; raises ConfigError when the file cannot be written."""
    _check_suffix(path)
    writable.write(path, to_text(mapping, workload if path.suffix in TEXT else None))


def _check_suffix(path: Path) -> None:
    if path.suffix not in (*YAML, *TEXT):
        allowed = ", ".join((*YAML, *TEXT))
        raise ConfigError(f"{path}: found a '{path.suffix}' file; allowed mapping files end in {allowed}")
