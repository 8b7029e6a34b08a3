"""The table of a sweep: a row for each point and model, what is on the front, which constraints bind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.lab.kit.options import Requirement
from archsim.lab.sweep import band, dominance
from archsim.lab.sweep.band import Bands
from archsim.lab.sweep.form import Sweep, SweepGoal
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.publish import WITHIN
from archsim.lab.sweep.worker import COST, OK
from archsim.report.kit.quantity import COUNT, SHARE, unit_of

KINDS = (
    *(units.SIZE, units.FREQUENCY, units.TRANSFER_RATE, units.BANDWIDTH),
    *(units.BYTES_PER_CYCLE, units.TIME, units.CYCLES),
)
PLACE = ("point", "model", "fidelity")
CORES = "cores"  # a column of a table with rows at fidelity cost, as WITHIN


def table(sweep: Sweep, rows: Sequence[Mapping[str, Any]], bands: Bands | None = None) -> pd.DataFrame:
    """The DataFrame of ``rows``: dicts of point, model, fidelity, values, status, reason, numbers, and ``cores`` of the
    point's chip where it was worked out at fidelity cost. ``bands``: of that fidelity, the measured ones if None.

    Columns: point, model, fidelity, one for each axis (in base units where it is a quantity), every number of the
    results, ``meets`` (all constraints), ``front`` (no other row of its model and fidelity is better, at fidelity cost
    beyond the band), status, reason; with rows at fidelity cost also ``cores`` and ``within_band`` (from how many
    others of the front the band does not tell the row). ``attrs``: what the sweep says (``sweep``, its name, ``axes``,
    ``zips``, ``objectives``, ``constraints``), ``search`` how points were chosen, ``units`` of every column that has
    one ('1': counts and shares), ``front`` the rows of the front, ``bands`` those of fidelity cost by class of chips,
    ``chip_bands`` what was measured on this chip alone,
    {} without a row at it.
    """
    axes = [axis.key for axis in sweep.axes]
    at_cost = any(row["fidelity"] == COST for row in rows)
    bands = (band.stored() if bands is None else bands) if at_cost else {}
    found, shown = [], dict[str, str]()
    for row in rows:
        values = {}
        for key in axes:
            values[key], unit = plain(row["values"][key])
            if unit:
                shown[key] = unit
        meets = row["status"] == OK and all(met(item, row["numbers"]) for item in sweep.constraints)
        said = {"status": row["status"], "reason": row["reason"]}
        cores = {CORES: row.get(CORES)} if at_cost else {}
        found.append({**{key: row[key] for key in PLACE}, **values, **row["numbers"], **cores, "meets": meets, **said})
    made = _with_figures(pd.DataFrame(found), _named(sweep))
    made["front"], within = on_front(made, sweep.goals, bands)
    if at_cost:
        made[WITHIN] = within
    last = [*([CORES] if at_cost else []), "meets", "front", *([WITHIN] if at_cost else []), "status", "reason"]
    numbers = [key for key in made.columns if key not in (*PLACE, *axes, *last)]
    made = made[[*PLACE, *axes, *numbers, *last]]
    made = made.sort_values(["fidelity", "point", "model"], kind="stable").reset_index(drop=True)
    made.attrs = {
        "sweep": sweep.name,
        "chip": Path(sweep.chip).stem,
        "axes": axes,
        "zips": [[axes[number] for number in group] for group in sweep.zips],
        "objectives": [str(goal) for goal in sweep.goals],
        "constraints": [str(item) for item in sweep.constraints],
        "search": searched(sweep, made["point"].nunique()),
        "units": shown | {key: text for key in numbers if (text := _unit(key))},
        "front": made.index[made["front"]].tolist(),
        "bands": {name: dict(own) for name, own in bands.items()},
        "chip_bands": _chip_bands(sweep.chip) if at_cost else {},
    }
    return made


def _chip_bands(chip: str) -> dict[str, Any]:
    """The measured chip that a sweep's chip is or extends with its own bands, {} where there is none."""
    name = band.measured(chip)
    return (
        {"chip": name, "bands": {key: dict(own) for key, own in band.stored_of_chips()[name].items()}} if name else {}
    )


def _named(sweep: Sweep) -> list[str]:
    """Numbers of the result that the sweep names."""
    return [*(goal.key for goal in sweep.goals), *(item.key for item in sweep.constraints)]


def _with_figures(made: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The rows with a column of numbers for each of ``keys``: nan where a row has no figure, or none has."""
    return made.assign(**{key: pd.to_numeric(made[key]) if key in made else np.nan for key in keys})


def searched(sweep: Sweep, points: int) -> str:
    """How so many points were chosen: ``nsga2, seed 1: 200 of 2,304 points``."""
    search = sweep.search
    way = f"{search.method}, seed {search.seed}" if search.trials else search.method
    return f"{way}: {points:,} of {len(SweepGrid(sweep)):,} points"


def plain(value: object) -> tuple[object, str]:
    """A value of an axis as a number with its base unit, where it is a quantity; a list as text; else as it is."""
    if isinstance(value, list):
        return "x".join(str(plain(item)[0]) for item in value), ""
    if isinstance(value, Decimal):
        return float(value), ""
    if not isinstance(value, str):
        return value, ""
    try:
        number, kind = units.parse_kind(value, *KINDS)
    except ConfigError:
        return value, ""
    return (int(number) if number.denominator == 1 else float(number)), kind.base


def _unit(key: str) -> str | None:
    unit = unit_of(key)
    return COUNT if unit == SHARE else unit


def met(item: Requirement, numbers: Mapping[str, float | None]) -> bool:
    """Whether numbers of a result satisfy a constraint; one without a figure does not."""
    return numbers.get(item.key) is not None and item.compare(float(numbers[item.key] or 0.0))


def on_front(made: pd.DataFrame, goals: Sequence[SweepGoal], bands: Bands) -> tuple[pd.Series, pd.Series]:
    """Which rows meet all constraints, have a figure for every goal and are, of their model and fidelity, not beaten
    (``beaten``); and from how many others of these the band does not tell each."""
    found = pd.Series(False, index=made.index)
    within = pd.Series(0, index=made.index)
    known = made[[goal.key for goal in goals]].notna().all(axis=1)
    for _, group in made[made["meets"] & known].groupby(["model", "fidelity"]):
        judged = figures(group, goals, bands)
        if (judged.factors > 1).any():
            kept = dominance.front(judged)
            within.loc[group.index[kept]] = dominance.alike(judged.of(kept))
        else:
            kept = undominated(judged.costs)
        found.loc[group.index] = kept
    return found, within


def figures(rows: pd.DataFrame, goals: Sequence[SweepGoal], bands: Bands) -> dominance.GoalFigures:
    """Rows as figures with their bands: those of simulated rows, and of a table without bands, have none."""
    values = np.column_stack([rows[goal.key].to_numpy(float) for goal in goals])
    factors = np.ones_like(values)
    if bands and CORES in rows:
        cost = (rows["fidelity"] == COST).to_numpy()
        for number, goal in enumerate(goals):
            of_cores = {cores: band.factor(bands, goal.key, cores) for cores in rows.loc[cost, CORES].unique()}
            factors[cost, number] = rows.loc[cost, CORES].map(of_cores)
    return dominance.GoalFigures(values, factors, tuple([goal.largest for goal in goals]))


def undominated(costs: Any) -> Any:
    """Of rows of costs (shape (rows, goals)) those that no other row equals or beats in all and beats in one."""
    keep = np.ones(len(costs), dtype=bool)
    for at in np.lexsort(costs.T[::-1]):
        if keep[at]:
            worse = (costs >= costs[at]).all(axis=1) & (costs > costs[at]).any(axis=1)
            keep[worse] = False
    return keep
