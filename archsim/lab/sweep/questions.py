"""The table of a sweep as a DataFrame that answers: what is best, what matters, what binds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from archsim.base.errors import ConfigError, nearest
from archsim.lab.kit.options import Requirement
from archsim.lab.sweep import dominance, publish
from archsim.lab.sweep.band import Bands
from archsim.lab.sweep.export import sql
from archsim.lab.sweep.form import SweepGoal, goal_of
from archsim.lab.sweep.table import figures, met
from archsim.lab.sweep.worker import COST

RESULTS = "results.parquet"
AGAIN = "'archsim sweep ... --resume' into its folder writes it again"
STATED = ("axes", "zips", "objectives", "constraints", "units", "search")  # attrs of every table
NEEDED = ("point", "model", "fidelity", "meets", "front", "status", "reason")  # columns of every table
RUNGS = ("exact", "fast", COST)  # the best first
ALONG = ["axis", "low", "high", "at_low", "at_high", "swing"]


class SweepTable(pd.DataFrame):
    """A row for each point, model and fidelity (``table``). ``attrs``: ``axes``, ``objectives``, ``constraints`` as the
    sweep states them, ``units`` of the columns, ``front`` its rows, ``bands`` of fidelity cost (absent or {}: none)."""

    @property
    def _constructor(self) -> type[SweepTable]:
        return SweepTable

    @classmethod
    def of(cls, made: pd.DataFrame) -> SweepTable:
        """The same rows and ``attrs``."""
        found = cls(made)
        found.attrs = dict(made.attrs)
        return found

    @classmethod
    def load(cls, folder: str | Path) -> SweepTable:
        """The table that a sweep left in ``folder``; raises ConfigError when there is none, or it is damaged."""
        path = Path(folder) / RESULTS
        try:
            found = cls.of(pd.read_parquet(path))
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from error
        except (ValueError, KeyError, TypeError) as error:  # of Arrow: whatever bytes that are no table lead to
            raise ConfigError(f"{path}: is damaged ({' '.join(str(error).split())}); {AGAIN}") from error
        missing = [name for name in STATED if name not in found.attrs] + [n for n in NEEDED if n not in found.columns]
        if missing:
            raise ConfigError(f"{path}: is no table of a sweep: it has no {', '.join(missing)}; {AGAIN}")
        return found

    def query(self, expr: str, *arguments: Any, **options: Any) -> Any:
        """Rows by SQL of DuckDB, as a DataFrame: ``select model, min(latency_s) from results group by model``.

        What begins with neither select nor with is pandas' own ``query``. Raises ConfigError without DuckDB.
        """
        if expr.split(maxsplit=1)[:1] and expr.split(maxsplit=1)[0].lower() in ("select", "with"):
            return sql(self, expr)
        return super().query(expr, *arguments, **options)

    def publication(self) -> pd.DataFrame:
        """The front as text to publish: one unit for each column, in its head."""
        return publish.publication(self.pareto())

    def pareto(self) -> SweepTable:
        """The front at the best fidelity that each model's was run at, each by the first objective."""
        front = self[self["front"]]
        rung = front["fidelity"].map(RUNGS.index)
        found = front[rung == rung.groupby(front["model"]).transform("min")]
        goal = self.goals[0]
        return self._rows(found.sort_values(["model", goal.key], ascending=[True, not goal.largest], kind="stable"))

    def best(self, objective: str = "", constraints: Iterable[str] = ()) -> SweepTable:
        """Of each model the row that is best in ``objective`` (the first of the sweep if absent) of those that meet the
        sweep's constraints and further ones. Raises ConfigError for a number that the table has not.

        Rows of one fidelity are compared: for an objective of the sweep those of the front at its best one, else, and
        with further constraints, those of the one at which every point was run. Where that is cost, the rows that its
        band does not tell from the best one follow it, by the objective: the best is one of this set. Where the front
        at cost was too wide to be simulated as a whole, rows of it follow that were not simulated and that the band
        does not tell from the best one's own cost figure.
        """
        goal = goal_of(objective) if objective else self.goals[0]
        asked = [Requirement.parse(text) for text in constraints]
        for key in (goal.key, *(item.key for item in asked)):
            self._check(key)
        from_front = goal in self.goals and not asked
        rows = self.pareto() if from_front else self.of_all_points()
        wanted = pd.Series([all(met(item, row) for item in asked) for row in _numbers(rows)], rows.index, dtype=bool)
        rows = rows[rows["meets"] & wanted & rows[goal.key].notna()]
        order = rows.sort_values(goal.key, ascending=not goal.largest, kind="stable")
        sets = [self._set(own, goal, from_front=from_front) for _, own in order.groupby("model")]
        return self._rows(pd.concat(sets) if sets else order)

    def sensitivity(self, objective: str = "", model: str = "") -> pd.DataFrame:
        """How much each axis matters around the best point (a tornado): the objective over the values of the axis with
        all others as there. The best is one that meets all constraints, where any does; all rows are of the fidelity at
        which every point was run.

        Columns: ``axis``, ``low`` and ``high`` (the least and the greatest of the objective), ``at_low`` and
        ``at_high`` (the values of the axis there), ``swing`` (high over low); the widest first. Axes along
        which nothing else was run are left out.
        """
        goal = goal_of(objective) if objective else self.goals[0]
        self._check(goal.key)
        rows = self.of_all_points()
        rows = rows[(rows["status"] == "ok") & rows[goal.key].notna()]
        rows = rows[rows["model"] == (model or self["model"].iloc[0])]
        rows = rows.sort_values(goal.key, ascending=not goal.largest, kind="stable")
        return self._along(rows, goal) if len(rows) else pd.DataFrame(columns=ALONG)

    def _along(self, rows: pd.DataFrame, goal: SweepGoal) -> pd.DataFrame:
        """``sensitivity`` of rows of one model and fidelity, the best first."""
        best = rows.sort_values("meets", ascending=False, kind="stable").iloc[0]
        found = []
        for axis in self.axis_keys:
            others = [other for other in self.axis_keys if other != axis and other not in self._zipped_with(axis)]
            along = rows[(rows[others] == best[others]).all(axis=1)]
            if along[axis].nunique() > 1:
                order = along.sort_values(goal.key, kind="stable")
                low, high = order.iloc[0], order.iloc[-1]
                swing = float(high[goal.key]) / float(low[goal.key]) if low[goal.key] else float("inf")
                found.append((axis, low[goal.key], high[goal.key], low[axis], high[axis], swing))
        made = pd.DataFrame(found, columns=ALONG).sort_values("swing", ascending=False, kind="stable")
        return made.reset_index(drop=True)

    def binding(self) -> pd.DataFrame:
        """Why each row that is not on the front is not: ``violates`` lists the constraints that it misses, with what it
        has; ``beaten_by`` the first point on the front that beats it, at fidelity cost beyond the band, -1 where none
        does."""
        asked = [Requirement.parse(text) for text in self.attrs["constraints"]]
        found = []
        for (_, group), numbers in ((group, _numbers(group[1])) for group in self.groupby(["model", "fidelity"])):
            beaten = self._beaten_by(group)
            for values, by in zip(numbers, beaten, strict=True):
                if not values["front"]:
                    missed = [f"{item} (found {_shown(values[item.key])})" for item in asked if not met(item, values)]
                    place = {key: values[key] for key in ("point", "model", "fidelity", "status")}
                    found.append({**place, "violates": "; ".join(missed), "beaten_by": by})
        return pd.DataFrame(found, columns=["point", "model", "fidelity", "status", "violates", "beaten_by"])

    @property
    def axis_keys(self) -> list[str]:
        """Key paths of the axes."""
        return list(self.attrs["axes"])

    def only(self, wanted: pd.Series) -> SweepTable:
        """The rows for which ``wanted`` is true."""
        return self._rows(self[wanted])

    @property
    def goals(self) -> list[SweepGoal]:
        """The objectives."""
        return [goal_of(text) for text in self.attrs["objectives"]]

    def of_all_points(self) -> SweepTable:
        """The rows of the fidelity at which every point was run."""
        return self.only(self["fidelity"] == max(self["fidelity"], key=RUNGS.index))

    def _beaten_by(self, group: pd.DataFrame) -> list[int]:
        """Of each row of one model and fidelity that meets all constraints the first point of its front that beats it,
        else -1."""
        judged = figures(group, self.goals, self.bands)
        by = dominance.beaters(judged, np.flatnonzero(group["front"].to_numpy()))
        points, meets = group["point"].to_numpy(), group["meets"].to_numpy()
        return [int(points[at]) if met_all and at >= 0 else -1 for at, met_all in zip(by, meets, strict=True)]

    @property
    def bands(self) -> Bands:
        """Of fidelity cost, by class of chips; {} of a table without rows at it."""
        found: Bands = self.attrs.get("bands", {})
        return found

    def unsimulated(self, model: str) -> SweepTable:
        """Rows of the front at fidelity cost that were not run again though others of the model were."""
        own = self[self["model"] == model]
        again = own.loc[own["fidelity"] != COST, "point"]
        left = own[own["front"] & (own["fidelity"] == COST) & ~own["point"].isin(again)]
        return self._rows(left if len(again) else left.iloc[:0])

    def _set(self, rows: pd.DataFrame, goal: SweepGoal, *, from_front: bool) -> pd.DataFrame:
        """Of rows of one model, the best first, that row and those that the band does not tell from it."""
        best = rows.iloc[:1]
        if best["fidelity"].iloc[0] == COST:
            kept: pd.DataFrame = rows.loc[dominance.within(figures(rows, [goal], self.bands), 0, 0)]
            return kept
        model = str(best["model"].iloc[0])
        own = self[(self["model"] == model) & (self["fidelity"] == COST) & (self["point"] == best["point"].iloc[0])]
        left = self.unsimulated(model) if from_front else own.iloc[:0]
        if own.empty or left.empty:
            return best
        pair = pd.concat([own, left.sort_values(goal.key, ascending=not goal.largest, kind="stable")])
        judged = figures(pair, [goal], self.bands)
        open_ = dominance.within(judged, 0, 0) | (judged.costs[:, 0] < judged.costs[0, 0])
        found: pd.DataFrame = pd.concat([best, pair[open_].iloc[1:]])
        return found

    def _zipped_with(self, axis: str) -> list[str]:
        return next((group for group in self.attrs["zips"] if axis in group), [])

    def _check(self, key: str) -> None:
        if key not in self.columns:
            raise ConfigError(f"no number '{key}' in the table{nearest(key, list(map(str, self.columns)))}")

    def _rows(self, found: pd.DataFrame) -> SweepTable:
        found.attrs = self.attrs
        return SweepTable.of(found)


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:.6g}"


def _numbers(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Each row as numbers by key, None where there is none."""
    plain = rows.astype(object).where(rows.notna(), None)
    return [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False, name=None)]
