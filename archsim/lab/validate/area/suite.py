"""Scores of the dies: by the constants of the package, with each die left out of the fit, without fill, and by the
formulas of before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

from archsim.base.errors import ConfigError
from archsim.energy.structures import load_structures
from archsim.lab.validate.area import before, floorplans, inventory
from archsim.lab.validate.area.dies import FILE, Die, read
from archsim.lab.validate.area.floorplans import BlockRow
from archsim.lab.validate.factor import FactorScore

NAME = "area"
_STEPS = 1000
_MOST = 10.0


@dataclass(frozen=True, slots=True)
class DieRow:
    """A die beside its prediction by the package's constants; ``left_out``: with its class's fill fitted on the others;
    ``bare``: without fill; ``before``: by the formulas of before; ``band``: factor up and down, None
    where that of its class is not known."""

    name: str
    die: Die
    parts: Mapping[str, float]
    left_out: float
    bare: float
    before: float
    band: float | None

    @property
    def predicted(self) -> float:
        """mm2 of all parts."""
        return sum(self.parts.values())

    def to_json(self) -> dict[str, object]:
        """An entry of ``rows``."""
        return {
            "case": self.name,
            "published": self.die.die_mm2,
            "predicted": self.predicted,
            "low": self.predicted / self.band if self.band else None,
            "high": self.predicted * self.band if self.band else None,
            "status": self.die.area_status,
            "class": self.die.class_,
            "parts": dict(self.parts),
        }


@dataclass(frozen=True, slots=True)
class AreaResult:
    """All dies; those whose area was neither seen nor published as a bound are in ``rows`` alone. ``blocks``: of
    published floorplans of the package's chips."""

    rows: tuple[DieRow, ...]
    blocks: tuple[BlockRow, ...]

    def scores(self) -> dict[str, FactorScore]:
        """By name: shipped, leave_one_out, without_fill, today."""
        rows = [row for row in self.rows if row.die.scored]
        return {
            "shipped": FactorScore.of((row.die.die_mm2, row.predicted) for row in rows),
            "leave_one_out": FactorScore.of((row.die.die_mm2, row.left_out) for row in rows),
            "without_fill": FactorScore.of((row.die.die_mm2, row.bare) for row in rows),
            "today": FactorScore.of((row.die.die_mm2, row.before) for row in rows),
        }

    def to_json(self) -> dict[str, object]:
        """The JSON object of ``validate area --format json``."""
        scores = {name: score.to_json() for name, score in self.scores().items()}
        return {
            "suite": NAME,
            **scores,
            "rows": [row.to_json() for row in self.rows],
            "floorplans": [asdict(block) for block in self.blocks],
        }


def run(directory: Path) -> AreaResult:
    """Predict every die of a directory; raises ConfigError for what it cannot read or predict."""
    dies, structures = read(directory), load_structures()
    made = {name: _parts(directory, name, die) for name, die in dies.items()}
    rows = []
    for name, die in dies.items():
        factor = structures.fill[die.class_].value if die.class_ in structures.fill else 1.0
        others = [one for one, other in dies.items() if other.scored and one != name and other.class_ == die.class_]
        fitted = fit([(dies[one].die_mm2, made[one]) for one in others], factor) if factor > 1 else factor
        rows.append(
            DieRow(
                name,
                die,
                inventory.filled(made[name], factor),
                sum(inventory.filled(made[name], fitted).values()),
                sum(made[name].values()),
                before.mm2(die),
                structures.band[die.class_].value if die.class_ in structures.band else None,
            )
        )
    return AreaResult(tuple(rows), tuple(floorplans.blocks()))


def _parts(directory: Path, name: str, die: Die) -> dict[str, float]:
    """What is on a die; raises ConfigError naming file and die for a node, format or interface that there is not."""
    where = f"{directory / FILE}: {name}"
    try:
        found = inventory.parts(die)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    if not sum(found.values()):
        raise ConfigError(f"{where}: found nothing on the die; allowed some of macs, lanes, sram, scalar_cores, links")
    return found


def fit(dies: Sequence[tuple[float, dict[str, float]]], shipped: float) -> float:
    """The factor of a class that makes the mean error of dies least, in hundredths; ``shipped`` where there is none.

    ``dies``: published mm2 and parts without fill. Of several equally good factors the middle one.
    """
    if not dies:
        return shipped
    steps = [1 + step * (_MOST - 1) / _STEPS for step in range(_STEPS + 1)]
    errors = [_error(dies, factor) for factor in steps]
    least = min(errors)
    best = [factor for factor, error in zip(steps, errors, strict=True) if error <= least + 1e-9]
    return best[len(best) // 2]


def _error(dies: Sequence[tuple[float, dict[str, float]]], factor: float) -> float:
    bare = [(mm2, sum(areas.values()) + (factor - 1) * inventory.logic(areas)) for mm2, areas in dies]
    return sum(abs(log(mm2 / predicted)) for mm2, predicted in bare)
