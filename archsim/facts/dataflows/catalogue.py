"""The dataflows that exist: each file of this package, or of a plugin, that defines ``fold``, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from archsim.base import registry
from archsim.facts.dataflows.fold import ArrayShape, FanoutSpec, Fold, Nest, RegisterSpec


class Dataflow(Protocol):
    """What a dataflow's file defines.

    ``SUMMARY``: one line for listings. ``HELD``: the role that stays in the PEs. ``OPTIONS``: the options of
    ``ArrayShape`` that have a meaning; ``fold`` and ``registers`` raise ConfigError when another one is set.
    """

    SUMMARY: str
    HELD: str
    OPTIONS: tuple[str, ...]

    def fanouts(self, rows: int, cols: int) -> tuple[FanoutSpec, ...]:
        """The two axes of the array, rows first: which roles each multicasts or reduces."""

    def registers(self, bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
        """Register files of one PE; ``bits``: bits of a value of inputs, weights and partials."""

    def fold(self, nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
        """Cycles, edge streams and inner actions of one command; ``accumulate``: sums are there already."""


KIND = registry.Kind("dataflow", "archsim.facts.dataflows", "dataflows", "fold", Dataflow)


def names() -> tuple[str, ...]:
    """Names of all dataflows, sorted, those of plugin directories included."""
    return tuple(registry.modules(KIND))


def file(name: str) -> str:
    """The file that defines a dataflow."""
    return registry.modules(KIND)[name]


def get(name: str) -> Dataflow:
    """The dataflow called ``name``; look it up once per array, it reads directories.

    Raises ConfigError for an unknown name (with the nearest one) and for a file that lacks a definition.
    """
    return cast(Dataflow, registry.load(KIND, name))
