"""What the table of a sweep says, as plain data for its pages: by model its points, front, what matters, sentences.

What bounds a point is told by its arrays' MAC slots: where those went that did no useful work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import pandas as pd

from archsim.base import units
from archsim.ir.figure_table import FIGURES
from archsim.lab.kit.options import Requirement
from archsim.lab.sweep import band, ranks
from archsim.lab.sweep.form import SweepGoal
from archsim.lab.sweep.publish import WITHIN
from archsim.lab.sweep.questions import RUNGS, SweepTable
from archsim.lab.sweep.table import CORES
from archsim.lab.sweep.worker import COST
from archsim.report.kit.causes import cause
from archsim.report.kit.number_format import percent
from archsim.report.kit.quantity import shown as figure

SLOTS = "mac_breakdown."
USEFUL = "useful"


def bound(row: pd.Series) -> str:
    """``waits for DRAM 12.1 %``: the largest loss, of all MAC slots; '' of a row that was not simulated on arrays."""
    slots = {str(key).removeprefix(SLOTS): row[key] for key in row.index if str(key).startswith(SLOTS)}
    known = {key: float(count) for key, count in slots.items() if not pd.isna(count)}
    total = sum(known.values())
    lost = {key: count for key, count in known.items() if key != USEFUL}
    if not total or not any(lost.values()):
        return ""
    largest = max(lost, key=lambda key: lost[key])
    return f"{cause(largest).label} {percent(lost[largest], total)}"


def digest(table: SweepTable) -> dict[str, Any]:
    """``title``, ``chip``, ``axes``, ``goals``, ``constraints``, ``search``, ``counts`` by status, and ``models``:
    of each ``points`` (all at one ``fidelity``; their ``front`` tells who is on the front at the best one), ``front``
    (``within``: of how many others the band of cost holds a point), ``sensitivity``, ``missed`` (constraint -> points),
    ``says``."""
    return {
        "title": table.attrs["sweep"],
        "chip": table.attrs["chip"],
        "axes": table.axis_keys,
        "goals": _goals(table),
        "constraints": list(table.attrs["constraints"]),
        "search": table.attrs["search"],
        "counts": {str(status): int(count) for status, count in table["status"].value_counts().items()},
        "models": [_model(table, str(name)) for name in table["model"].unique()],
    }


def fronts(table: SweepTable) -> dict[str, Any]:
    """Of ``digest`` what a terminal shows: ``axes``, ``goals``, and of each of ``models`` its ``front``."""
    names = [str(name) for name in table["model"].unique()]
    return {
        "axes": table.axis_keys,
        "goals": _goals(table),
        "models": [{"model": name, "front": _front(table.only(table["model"] == name))} for name in names],
    }


def _goals(table: SweepTable) -> list[dict[str, Any]]:
    return [{"key": goal.key, "largest": goal.largest, "name": str(goal)} for goal in table.goals]


def _front(own: SweepTable) -> list[dict[str, Any]]:
    """The points of the front of a table that has the rows of one model."""
    return [_point(own, row) for _, row in own.pareto().iterrows()]


def _model(table: SweepTable, name: str) -> dict[str, Any]:
    own = table.only(table["model"] == name)
    front = _front(own)
    best = {point["point"] for point in front}
    rows = own.of_all_points()
    points = [_point(own, row) | {"front": row["point"] in best} for _, row in rows.iterrows() if row["status"] == "ok"]
    along = own.sensitivity(model=name)
    missed: dict[str, int] = {}
    for said in own.binding().drop_duplicates("point")["violates"]:
        for item in filter(None, said.split("; ")):
            text = item.partition(" (found")[0]
            missed[text] = missed.get(text, 0) + 1
    found = {
        "model": name,
        "fidelity": str(rows["fidelity"].iloc[0]) if len(rows) else "",
        "points": points,
        "front": front,
        "sensitivity": [
            {
                **row,
                "at_low": shown(own, row["axis"], row["at_low"]),
                "at_high": shown(own, row["axis"], row["at_high"]),
            }
            for row in along.to_dict("records")
        ],
        "missed": missed,
    }
    return {**found, "says": _says(own, found)}


def shown(table: SweepTable, key: str, value: Any) -> str:
    """A value of an axis with its unit, or a number of the result with its, for people."""
    unit = table.attrs["units"].get(key, "")
    if key in table.axis_keys:
        if unit == "B":
            return units.binary(int(value))
        return units.si(float(value), unit) if unit else str(value)
    return figure(key, value)


def _point(table: SweepTable, row: pd.Series) -> dict[str, Any]:
    goals = [goal.key for goal in table.goals]
    return {
        "point": int(row["point"]),
        "fidelity": str(row["fidelity"]),
        "meets": bool(row["meets"]),
        "front": bool(row["front"]),
        "bound": bound(row),
        "within": within(row),
        "values": {key: _plain(row[key]) for key in table.axis_keys},
        "shown": {key: shown(table, key, row[key]) for key in [*table.axis_keys, *goals]},
        "goals": {key: None if pd.isna(row[key]) else float(row[key]) for key in goals},
    }


def within(row: pd.Series) -> int:
    """Of how many others of its front the band of cost holds a row; 0 of a simulated one."""
    return int(row.get(WITHIN, 0))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _says(table: SweepTable, found: Mapping[str, Any]) -> list[str]:
    """A recommendation in numbers, sentence by sentence."""
    points, front = found["points"], found["front"]
    meets = sum(point["meets"] for point in points)
    several = table["fidelity"].nunique() > 1  # counts at different fidelities do not add up: each says its own
    judged, best_at = (_at(each) if several else "" for each in (points, front))
    are = "is" if len(front) == 1 else "are"
    said = [
        f"{meets} of {table['point'].nunique()} points meet all constraints{judged}; "
        f"{len(front)} of them {are} on the front{best_at}."
    ]
    said += _ranks(table, found["model"])
    if not front:
        return [*said, *_unknown(table), *_without_result(table), *_missed(found["missed"])]
    best = {goal.key: _best(front, goal) for goal in table.goals}
    for goal in table.goals:
        most = "most" if goal.largest else "least"
        same = table.best(str(goal))["point"].tolist()[1:] if best[goal.key]["fidelity"] == COST else []
        unsure = f", {ranks.within_words(same)}" if same else ""
        said.append(f"The {most} {goal.key}: {_described(best[goal.key], table)}{unsure}.")
    if len(table.goals) > 1:
        balance = min(front, key=lambda point: sum(_loss(point, best[goal.key], goal) for goal in table.goals))
        costs = ", ".join(_worse(balance, best[goal.key], goal) for goal in table.goals)
        said.append(f"The best balance (the product of the ratios to these): {_described(balance, table)}; {costs}.")
        said += [f"What the best balance loses most MAC slots to: {balance['bound']}."] if balance["bound"] else []
    matters = _matters(table, found["sensitivity"], table.goals[0])
    return [*said, *matters, *_missed(found["missed"]), *_bounds(table), *_off(table)]


def _at(points: Sequence[Mapping[str, Any]]) -> str:
    """`` at fidelity fast`` of the fidelities of points, '' of none."""
    names = list(dict.fromkeys(str(point["fidelity"]) for point in points))
    return f" at fidelity {' and '.join(names)}" if names else ""


def _ranks(table: SweepTable, model: str) -> list[str]:
    """What cost tells apart and what not, and what of its front was not simulated."""
    first, *others = ranks.of_model(table, model) or [""]
    return [f"At fidelity cost {first}", *others, *ranks.left(table, model)] if first else []


def _bounds(table: SweepTable) -> list[str]:
    """Which figures that points are judged by are bounds."""
    judged = [
        *(goal.key for goal in table.goals),
        *(Requirement.parse(text).key for text in table.attrs["constraints"]),
    ]
    bounds = FIGURES.bounds
    found = [key for key in dict.fromkeys(judged) if key in bounds]
    return [f"{' and '.join(found)}: {bounds[found[0]]} bound, overheads are not modelled."] if found else []


def _unknown(table: SweepTable) -> list[str]:
    """Objectives of which no row has a figure."""
    return [f"No row has a figure of {goal.key}." for goal in table.goals if table[goal.key].isna().all()]


def _without_result(table: SweepTable) -> list[str]:
    """Points that are impossible or failed, each with the reason of the first."""
    found = table[table["status"] != "ok"].drop_duplicates("point")
    groups = ((status, rows) for status, rows in found.groupby("status"))
    return [
        f"{len(rows)} {status}, the first one, point {rows['point'].iloc[0]}: {rows['reason'].iloc[0]}."
        for status, rows in groups
    ]


def _best(front: Sequence[Mapping[str, Any]], goal: SweepGoal) -> Mapping[str, Any]:
    return (max if goal.largest else min)(front, key=lambda point: point["goals"][goal.key])


def _described(point: Mapping[str, Any], table: SweepTable) -> str:
    values = ", ".join(f"{key} {point['shown'][key]}" for key in table.axis_keys)
    figures = ", ".join(f"{goal.key} {point['shown'][goal.key]}" for goal in table.goals)
    return f"point {point['point']} ({values}) with {figures}"


def _loss(point: Mapping[str, Any], best: Mapping[str, Any], goal: SweepGoal) -> float:
    mine, theirs = point["goals"][goal.key], best["goals"][goal.key]
    return abs(log(mine / theirs)) if mine > 0 and theirs > 0 else 0.0


def _worse(point: Mapping[str, Any], best: Mapping[str, Any], goal: SweepGoal) -> str:
    mine, theirs = point["goals"][goal.key], best["goals"][goal.key]
    share = 100 * abs(mine / theirs - 1) if theirs else 0.0
    return f"{share:.3g} % {'less' if goal.largest else 'more'} {goal.key} than the best"


def _matters(table: SweepTable, rows: Sequence[Mapping[str, Any]], goal: SweepGoal) -> list[str]:
    if not rows:
        return []
    all_points = table.of_all_points()
    cores = all_points[CORES].max() if (all_points["fidelity"] == COST).any() and CORES in table else 0
    sure = band.factor(table.bands, goal.key, int(cores)) if cores else 1.0
    parts = [
        f"{row['axis']} {row['swing']:.3g} times ({row['at_low']} to {row['at_high']}"
        f"{', within the band of cost' if sure > 1 and row['swing'] <= sure else ''})"
        for row in rows
    ]
    return [f"Around the best point {goal.key} changes with {', '.join(parts)}."]


def _missed(missed: Mapping[str, int]) -> list[str]:
    return [f"{count} point{'s miss' if count > 1 else ' misses'} {text}." for text, count in missed.items()]


def _off(table: SweepTable) -> list[str]:
    """How far the fidelities are apart where there are two of them."""
    goal, rungs = table.goals[0], [name for name in RUNGS if (table["fidelity"] == name).any()]
    found = []
    for better, rough in zip(rungs, rungs[1:], strict=False):
        rows = [table[table["fidelity"] == name].set_index("point")[goal.key] for name in (better, rough)]
        apart = 100 * (rows[1] / rows[0] - 1).dropna()
        if len(apart):
            found.append(
                f"On these points {rough} differs from {better} in {goal.key} by {apart.mean():+.2g} % in the mean, "
                f"{max(apart.tolist(), key=abs):+.2g} % at most."
            )
    return found
