"""Array sugar to its expanded form: ``shape`` and ``dataflow`` become fan-outs and per-PE registers.

What a dataflow multicasts, reduces and keeps is stated in its own file, which is found by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from archsim.base.errors import ConfigError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape
from archsim.spec.architecture import Fanout, RegisterFile


class Sugar(NamedTuple):
    """The short form of an array: ``rate`` = MACs per PE and cycle of the chip's own dtypes."""

    dataflow: str
    rows: int
    cols: int
    rate: Fraction
    weight_double_buffer: bool
    fold_overlap: bool
    load_rows: int
    block: int


class ArrayFacts(NamedTuple):
    """What a dataflow says about an array: its axes, the registers of one PE, the options it knows.

    ``options``: names among ``weight_double_buffer``, ``fold_overlap``, ``load_rows`` and ``block``.
    """

    fanouts: tuple[Fanout, ...]
    registers: tuple[RegisterFile, ...]
    options: tuple[str, ...]


DataflowFacts = Callable[[Sugar, Mapping[str, int]], ArrayFacts]
"""Facts of an array whose values have ``bits[role]`` bits; raises ConfigError for an unknown dataflow."""


def dataflow_facts(sugar: Sugar, bits: Mapping[str, int]) -> ArrayFacts:
    """Facts from the dataflow's own file; raises ConfigError with the names present when there is none.

    Options that the dataflow does not know are left out here; the rules report them with their place.
    """
    found = catalogue.get(sugar.dataflow)
    try:
        options = tuple(found.OPTIONS)
        known = {option: getattr(sugar, option) for option in options}
        array = ArrayShape(rows=sugar.rows, cols=sugar.cols, rate=sugar.rate, **known)
        return ArrayFacts(
            tuple(Fanout(**item) for item in found.fanouts(sugar.rows, sugar.cols)),
            tuple(RegisterFile(**item) for item in found.registers(bits, array)),
            options,
        )
    except (AttributeError, TypeError) as error:
        raise ConfigError(f"dataflow '{sugar.dataflow}' ({catalogue.file(sugar.dataflow)}): {error}") from error
