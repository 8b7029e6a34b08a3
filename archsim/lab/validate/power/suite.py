"""Scores of operating points: by the package's constants, with each die left out, and by the formulas of before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from archsim.lab.validate.area import suite as areas
from archsim.lab.validate.area.dies import Die
from archsim.lab.validate.area.dies import read as read_dies
from archsim.lab.validate.factor import FactorScore
from archsim.lab.validate.power import before, model
from archsim.lab.validate.power.points import STATES, PublishedPoint, read

NAME = "power"


@dataclass(frozen=True, slots=True)
class PointRow:
    """A point beside its prediction by the package's constants; ``left_out``: with its die left out of the fit;
    ``unseen``: with the area left out too; ``before``: by the formulas of before; ``band``: factor up and down."""

    point: PublishedPoint
    die: Die
    parts: Mapping[str, float]
    left_out: float
    unseen: float
    before: float
    band: float

    @property
    def predicted(self) -> float:
        """Watts."""
        return sum(self.parts.values())

    def to_json(self) -> dict[str, object]:
        """An entry of ``rows``."""
        return {
            "case": self.point.name,
            "state": self.point.state,
            "published": self.point.watts,
            "predicted": self.predicted,
            "low": self.predicted / self.band,
            "high": self.predicted * self.band,
            "status": self.point.activity,
            "class": self.die.class_,
            "idle_class": self.point.idle_class,
            "parts": dict(self.parts),
        }


@dataclass(frozen=True, slots=True)
class PowerResult:
    """All points."""

    rows: tuple[PointRow, ...]

    def scores(self, state: str | None = None) -> dict[str, FactorScore]:
        """By name: shipped, leave_one_out, today; of points of one state, or of all."""
        rows = [row for row in self.rows if state in (None, row.point.state)]

        def score(predicted: Callable[[PointRow], float]) -> FactorScore:
            return FactorScore.of((row.point.watts, predicted(row)) for row in rows)

        return {
            "shipped": score(lambda row: row.predicted),
            "leave_one_out": score(lambda row: row.left_out),
            "today": score(lambda row: row.before),
        }

    def to_json(self) -> dict[str, object]:
        """The JSON object of ``validate power --format json``: each score of all points, and by state inside."""
        found: dict[str, object] = {"suite": NAME}
        by_state = {state: self.scores(state) for state in STATES}
        for name, score in self.scores().items():
            found[name] = {**score.to_json(), **{state: by_state[state][name].to_json() for state in STATES}}
        shipped = {state: by_state[state]["shipped"].to_json() for state in STATES}
        return {**found, **shipped, "rows": [row.to_json() for row in self.rows]}


def run(directory: Path) -> PowerResult:
    """Predict every point of a directory; raises ConfigError for what it cannot read or predict."""
    dies = read_dies(directory)
    points = read(directory, dies)
    made = model.of(dies)
    shipped = made.shipped()
    unseen = {row.name: row.left_out for row in areas.run(directory).rows}
    without = {die: made.fit([one for one in points if one.die != die], shipped) for die in {one.die for one in points}}
    rows = (
        PointRow(
            point,
            dies[point.die],
            made.parts(point, shipped),
            sum(made.parts(point, without[point.die]).values()),
            sum(made.parts(point, without[point.die], unseen[point.die]).values()),
            before.watts(point, dies[point.die]),
            made.states.band[point.idle_class].value,
        )
        for point in points
    )
    return PowerResult(tuple(rows))
