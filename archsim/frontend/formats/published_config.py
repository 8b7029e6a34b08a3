"""Models from the config.json of their hub or their authors, those in ``configs/models`` by name; no weight is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from archsim.frontend.catalogue import ImportOptions
from archsim.frontend.decode_steps import DecodeSteps
from archsim.ir.graph import Graph
from archsim.spec.locate import config_files

SUFFIXES = (".json",)
OPTIONS = ("batch", "parameters", "lookups", "phase")


def load(path: Path, asked: ImportOptions) -> Graph:
    """See ``archsim.frontend.config_models.read_model``."""
    from archsim.frontend.config_models import read_model

    name = "_".join(part for part in (asked.name or path.stem, asked.phase) if part)
    return read_model(path, name, asked.parameters, asked.batch, asked.phase)


def steps(path: Path, parameters: Mapping[str, int | float | str], batch: int | None, phase: str) -> DecodeSteps | None:
    """See ``archsim.frontend.config_models.steps``."""
    from archsim.frontend.config_models import steps

    return steps(path, parameters, batch, phase)


def models() -> dict[str, Path]:
    """The files in ``configs/models`` and in the folders of ``ARCHSIM_CONFIGS``."""
    return config_files("models")


def describe(path: Path) -> str:
    """The ``description`` of the file."""
    from archsim.frontend.config_models import describe

    return describe(path)
