"""Workload files: layers with sizes and parameters in YAML, those in ``configs/workloads`` by name."""

from __future__ import annotations

from pathlib import Path

from archsim.base.errors import ConfigError
from archsim.frontend.catalogue import ImportOptions
from archsim.graph.lowering.lower import LoweredModel
from archsim.spec.locate import config_files

SUFFIXES = (".yaml", ".yml")
OPTIONS = ("batch", "on_unsupported", "parameters", "lookups")  # every operator of a workload file has a rule


def load(path: Path, asked: ImportOptions) -> LoweredModel:
    """See ``archsim.frontend.workload_yaml.load.import_workload_yaml``."""
    from archsim.frontend.workload_yaml.load import import_workload_yaml

    sizes: dict[str, int] = {}
    for key, value in asked.parameters.items():
        if not isinstance(value, int):
            raise ConfigError(f"{path}: parameter {key}: found '{value}'; allowed whole numbers")
        sizes[key] = value
    return import_workload_yaml(path, batch=asked.batch, parameters=sizes, lookups=asked.lookups)


def models() -> dict[str, Path]:
    """The files in ``configs/workloads`` and in the folders of ``ARCHSIM_CONFIGS``."""
    return config_files("workloads")


def describe(path: Path) -> str:
    """The ``description`` of the file."""
    from archsim.frontend.workload_yaml.load import describe

    return describe(path)
