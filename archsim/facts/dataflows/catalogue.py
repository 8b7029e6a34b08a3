"""The dataflows that exist: each file of this package, or of a plugin, that defines ``fold``, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from archsim.base import registry
from archsim.base.errors import ConfigError
from archsim.facts.dataflows.fold import ArrayShape, FanoutSpec, Fold, Nest, RegisterSpec


class Dataflow(Protocol):
    """What a dataflow's file defines.

    ``SUMMARY``: one line for listings. ``HELD``: the role that stays in the PEs, or a tuple of several. ``OPTIONS``:
    the options of ``ArrayShape`` that have a meaning; ``fold`` and ``registers`` raise ConfigError when another one is
    set. A file may also define ``WINDOWS`` (``wants_windows``), ``ARRAYS`` (``takes_arrays``) and
    ``spread`` (``spread_of``).
    """

    SUMMARY: str
    HELD: str | tuple[str, ...]
    OPTIONS: tuple[str, ...]

    def fanouts(self, rows: int, cols: int) -> tuple[FanoutSpec, ...]:
        """The two axes of the array, rows first: which roles each multicasts or reduces."""

    def registers(self, bits: Mapping[str, int], array: ArrayShape) -> tuple[RegisterSpec, ...]:
        """Register files of one PE; ``bits``: bits of a value of inputs, weights and partials."""

    def fold(self, nest: Nest, extents: Mapping[str, int], array: ArrayShape, *, accumulate: bool) -> Fold:
        """Cycles, edge streams and inner actions of one command; ``accumulate``: sums are there already."""


KIND = registry.Kind("dataflow", "archsim.facts.dataflows", "dataflows", "fold", Dataflow)
Spread = Callable[[Nest, ArrayShape], Mapping[str, tuple[str, ...]]]


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


def held(dataflow: Dataflow) -> tuple[str, ...]:
    """The roles that stay in the PEs, one or several."""
    return (dataflow.HELD,) if isinstance(dataflow.HELD, str) else tuple(dataflow.HELD)


def wants_windows(name: str) -> bool:
    """Whether the dataflow asks for the windows of its nests: its file says ``WINDOWS = True``.

    Raises ConfigError for an unknown name, and for another value than True or False.
    """
    return _says(name, "WINDOWS")


def takes_arrays(name: str) -> bool:
    """Whether ``fold`` takes integer arrays as extents too, of many commands at once, and then gives arrays: its file
    says ``ARRAYS = True``.

    Raises ConfigError for an unknown name, and for another value than True or False.
    """
    return _says(name, "ARRAYS")


def _says(name: str, flag: str) -> bool:
    said = getattr(get(name), flag, False)
    if not isinstance(said, bool):
        raise ConfigError(f"dataflow '{name}' ({file(name)}): {flag} is {said!r}; allowed True and False")
    return said


def spread_of(name: str, nest: Nest, array: ArrayShape) -> dict[str, tuple[str, ...]] | None:
    """The dims that each axis spreads, as the dataflow's own ``spread(nest, array)`` says; None for a file without it.

    A dataflow needs to say so where two indices of a dim may share one stream without lying side by side on an axis,
    as do those of a row that a PE keeps: where an operand both stays in the PEs and is shared along an axis, or a sum
    stays in a PE over taps. Of the others ``fold`` tells. Raises ConfigError where it does not name
    exactly the axes of its ``fanouts``, or names dims that the nest lacks.
    """
    dataflow = get(name)
    stated = cast("Spread | None", getattr(dataflow, "spread", None))
    if stated is None:
        return None
    found = dict(stated(nest, array))
    axes = [axis["axis"] for axis in dataflow.fanouts(array.rows, array.cols)]
    dims = {*nest.batch, *nest.m, *nest.n, *nest.k}
    strange = sorted({dim for of_axis in found.values() for dim in of_axis} - dims)
    if sorted(found) != sorted(axes) or strange:
        raise ConfigError(
            f"dataflow '{name}' ({file(name)}): spread gives axes {', '.join(found) or 'none'}"
            f"{' with dims ' + ', '.join(strange) if strange else ''}; allowed exactly {', '.join(axes)}, with dims of "
            f"the nest ({', '.join(sorted(dims))})"
        )
    return {axis: tuple(found[axis]) for axis in axes}
