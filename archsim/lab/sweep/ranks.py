"""What a sweep at ``fidelity: cost`` may conclude: its ranks in words, and which of its front are worth a
simulation."""

from __future__ import annotations

from math import exp

import numpy as np
import pandas as pd

from archsim.lab.sweep import band, dominance
from archsim.lab.sweep.cases import class_of
from archsim.lab.sweep.form import SweepGoal
from archsim.lab.sweep.questions import SweepTable
from archsim.lab.sweep.table import CORES, figures
from archsim.lab.sweep.worker import COST

LEAST_TAKEN, SHARE = 20, 10  # points of a model's front that are simulated: so many, or one point in so many
RULE = f"at most {LEAST_TAKEN}, or a tenth of the points where that is more"
MOST_NAMED = 12  # points that a sentence names


def most(points: int) -> int:
    """Points of a model's front at cost that are simulated, of so many that were worked out."""
    return max(LEAST_TAKEN, points // SHARE)


def taken(table: SweepTable) -> SweepTable:
    """The rows of the front at cost that are simulated: of each model at most ``most`` (``beaten.chosen``)."""
    kept = []
    for _, own in _front(table).groupby("model"):
        rows = own.sort_values("point", kind="stable")
        judged = figures(rows, table.goals, table.bands)
        kept += rows.index[dominance.chosen(judged, most(table["point"].nunique()))].tolist()
    return table.only(pd.Series(table.index.isin(kept), index=table.index))


def sentences(table: SweepTable) -> list[str]:
    """The ranks at cost of each model that has a front there, and how much of it is simulated."""
    return [" ".join([f"{model} at fidelity cost:", *of_model(table, str(model))]) for model in _models(table)]


def of_model(table: SweepTable, model: str) -> list[str]:
    """The ranks at cost of a model in sentences, [] where nothing of it was worked out there."""
    own = table.only((table["model"] == model) & (table["fidelity"] == COST))
    front = _front(own)
    if front.empty:
        return []
    goals = [goal for goal in table.goals if _banded(front, goal, table)]
    count = f"{len(front)} of {own['point'].nunique()} points {_are(len(front))} on the front"
    if not goals:
        return [f"{count}."]
    bands = ", ".join(f"{_band(front, goal, table)} in {goal.key}" for goal in goals)
    found = [f"{count}; its band is {bands} ({_classes(front)}){_own(front, goals, table)}."]
    if len(front) > 1:
        found += [_rank(front, goal, table) for goal in goals]
    return [*found, *_cut(front, table)]


def left(table: SweepTable, model: str) -> list[str]:
    """What of a model's front at cost was not simulated though others were, in a sentence, [] where nothing was
    left."""
    rows = table.unsimulated(model)
    if rows.empty:
        return []
    again = f"{len(rows)} {_points(len(rows))} of the front at fidelity cost {_were(len(rows))} not simulated ({RULE})"
    found = [f"{again}: {named(rows['point'].tolist())}."]
    for goal in table.goals:
        own = table.best(str(goal))
        close = own[(own["model"] == model) & (own["fidelity"] == COST)]["point"].tolist()
        if close:
            them = "it" if len(close) == 1 else "them"
            found.append(f"Of these {named(close)}: cost does not tell {them} from the best in {goal.key}.")
    return found


def named(points: list[int]) -> str:
    """Numbers of points, the first ones where they are many."""
    first = ", ".join(str(point) for point in points[:MOST_NAMED])
    return f"{first} and {len(points) - MOST_NAMED} more" if len(points) > MOST_NAMED else first


def within_words(others: list[int]) -> str:
    """``within the band of 2 others (points 4, 9)``; '' of a point that stands alone."""
    if not others:
        return ""
    plural = "s" if len(others) > 1 else ""
    return f"within the band of {len(others)} other{plural} (point{plural} {named(others)})"


def _models(table: SweepTable) -> list[str]:
    return [str(model) for model in dict.fromkeys(_front(table)["model"])]


def _front(table: SweepTable) -> SweepTable:
    return table.only(table["front"] & (table["fidelity"] == COST))


def _banded(rows: SweepTable, goal: SweepGoal, table: SweepTable) -> bool:
    return bool((figures(rows, [goal], table.bands).factors > 1).any())


def _band(rows: SweepTable, goal: SweepGoal, table: SweepTable) -> str:
    """The widest of the rows, in words."""
    return band.shown(float(np.max(figures(rows, [goal], table.bands).factors)))


def _own(rows: SweepTable, goals: list[SweepGoal], table: SweepTable) -> str:
    """What was measured on this very chip, where that is wider than the band of its class; '' where it is not."""
    measured = table.attrs.get("chip_bands") or {"chip": "", "bands": {}}
    said = []
    for goal in goals:
        widths = [
            (band.width(measured["bands"], goal.key, cores), band.width(table.bands, goal.key, cores))
            for cores in sorted(int(cores) for cores in rows[CORES].unique())
        ]
        wider = [own for own, of_class in widths if own > of_class]
        if wider:
            said.append(f"{band.shown(exp(max(wider)))} in {goal.key}")
    if not said:
        return ""
    return f"; on {measured['chip']} itself {' and '.join(said)} {'was' if len(said) == 1 else 'were'} measured"


def _classes(rows: SweepTable) -> str:
    return " and ".join(dict.fromkeys(band.WORDS[class_of(cores)] for cores in sorted(rows[CORES].unique())))


def _rank(front: SweepTable, goal: SweepGoal, table: SweepTable) -> str:
    """Which points may be the best in an objective."""
    rows = front.sort_values([goal.key, "point"], ascending=[not goal.largest, True], kind="stable")
    same = rows[dominance.within(figures(rows, [goal], table.bands), 0, 0)]["point"].tolist()
    best, others = same[0], same[1:]
    which = f"Point {best} is best in {goal.key}"
    if not others:
        return f"{which}, beyond the band of all others."
    verdict = "cost cannot tell these points apart"
    if len(same) == len(front):
        verdict = "cost cannot tell any of the front apart in it"
    return f"{which}, {within_words(others)}: {verdict}."


def _cut(front: SweepTable, table: SweepTable) -> list[str]:
    """How much of a front is simulated, where that is not all of it."""
    room = most(table["point"].nunique())
    if len(front) <= room:
        return []
    return [
        f"{room} of the {len(front)} are simulated ({RULE}): those that are best in an objective, then those that the "
        "figures alone put first; the others stay as cost left them."
    ]


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _points(count: int) -> str:
    return "point" if count == 1 else "points"
