"""The band of ``fidelity: cost``: how far two figures of one sweep may be apart before the analytic model tells them
apart.

Measured by ``studies/validation/cost_band.py`` and stored in ``bands.json`` beside its cases (``cases.py`` has the
definition): a width of logarithms for latency and for energy, on chips of one core and of many. What is derived from
one of them alone has its band (cycles, throughput, utilization: latency's; what a sample takes: energy's); what is a
product or a quotient of both has the sum of both, which no pair exceeds that keeps within each (EDP, power). Areas,
prices, bytes and counts of operations have none. The table of figures says it of each (``ir.figure_table``). Figures
of simulated rows have none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from math import exp
from typing import Any

from archsim.base.errors import ConfigError
from archsim.ir.figure_table import FIGURES as TABLE
from archsim.ir.figure_table import GROUPS
from archsim.lab.sweep.cases import CLASSES, FIGURES, class_of
from archsim.lab.validate.suite import default_reference

SUITE, FILE, SCHEMA = "cost_band", "bands.json", "archsim.cost_band/1"
WORDS = {"one_core": "chips of one core", "many_cores": "chips of many cores"}

Bands = Mapping[str, Mapping[str, float]]  # class -> latency_s | energy_j -> width of logarithms


def derived_from(key: str) -> tuple[str, ...]:
    """Which of latency and energy the error of a figure follows, () for one that has no band."""
    row, section = TABLE.get(key), key.partition(".")[0]
    if row is not None:
        return row.band
    return GROUPS[section].band if section in GROUPS else ()


def width(bands: Bands, key: str, cores: int) -> float:
    """The band of a figure on a chip of so many cores, of logarithms; 0 where it has none, or no bands are known."""
    own = bands.get(class_of(cores), {})
    return sum(own[part] for part in derived_from(key) if part in own)


def factor(bands: Bands, key: str, cores: int) -> float:
    """How many times a figure must be better than another to be told from it, 1 where any difference tells."""
    return exp(width(bands, key, cores))


def stored() -> Bands:
    """The measured bands by class. Raises ConfigError where their file is missing or damaged."""
    return _stored()[0]


def stored_of_chips() -> Mapping[str, Bands]:
    """By measured chip the bands of its pairs alone, of the classes in which it has some; errors as of ``stored``."""
    return _stored()[1]


def measured(chip: str) -> str:
    """The measured chip that a chip is, by name, or that it extends by name, over any number of files; '' for none, and
    where its file is not there any more.
    """
    from archsim.spec.load import lineage

    try:
        names = lineage(chip)
    except ConfigError:
        return ""
    return next((name for name in names if name in stored_of_chips()), "")


@lru_cache(maxsize=1)
def _stored() -> tuple[Bands, Mapping[str, Bands]]:
    """Bands by class, and by chip and class."""
    try:
        path = default_reference(SUITE) / FILE
    except ConfigError:
        raise ConfigError(f"the bands of fidelity cost are missing ({SUITE}/{FILE}); install archsim anew") from None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        classes = {name: _figures(found["classes"][name]["band"]) for name in CLASSES}
        chips = {chip: {name: _figures(own[name]["band"]) for name in own} for chip, own in found["chips"].items()}
        return classes, chips
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"cannot be read as bands of fidelity cost: {error!r}; install archsim anew"
        raise ConfigError(f"{path}: {reason}") from error


def _figures(stated: Mapping[str, Any]) -> Mapping[str, float]:
    found = {figure: float(stated[figure]) for figure in FIGURES}
    if not all(0 <= value < float("inf") for value in found.values()):
        raise ValueError(f"found {found}; allowed widths of 0 and more")
    return found


def shown(times: float) -> str:
    """A factor in words: ``11 %``, or ``a factor of 3.2`` from two on."""
    return f"a factor of {times:.2g}" if times >= 2 else f"{100 * (times - 1):.2g} %"
