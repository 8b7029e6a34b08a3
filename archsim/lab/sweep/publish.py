"""The front of a sweep as a table to publish: one unit for each column, in its head, four digits."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isnan, log10
from typing import Any

import pandas as pd

from archsim.base.plain import visible
from archsim.ir.figure_table import FIGURES
from archsim.lab.kit.options import Requirement
from archsim.lab.sweep.form import goal_of
from archsim.lab.sweep.worker import COST
from archsim.report.kit.number_format import NONE, number
from archsim.report.kit.quantity import COUNT, PLAIN, SHARE, bare, unit_of
from archsim.report.kit.table_markdown import table as markdown_table
from archsim.report.sweep.layouts import WITHIN_HEAD

WITHIN = "within_band"  # column of a table with rows at fidelity cost
PREFIXES = {-12: "p", -9: "n", -6: "\N{MICRO SIGN}", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}
BINARY = {1: "KiB", 2: "MiB", 3: "GiB"}
PREFIXED = ("s", "J", "J s", "W", "Hz", "B", "B/s", "MAC", "MAC/s")
NAMES = {**PLAIN, "1/s": "1/s", COUNT: ""}


def publication(front: pd.DataFrame) -> pd.DataFrame:
    """The front of a sweep (``SweepTable.pareto``, with its ``attrs``) as text: axes, objectives, figures of the
    constraints; units in the heads. At fidelity cost also how many other points the band of each holds."""
    axes = list(front.attrs["axes"])
    figures = [goal_of(text).key for text in front.attrs["objectives"]]
    figures += [Requirement.parse(text).key for text in front.attrs["constraints"]]
    made = pd.DataFrame(index=front.index)
    if front["model"].nunique() > 1:
        made["model"] = front["model"].map(visible)
    for key in [*axes, *dict.fromkeys(figures)]:
        is_axis = key in axes
        unit = front.attrs["units"].get(key) if is_axis else unit_of(key)
        head, texts = column(key if is_axis else _worded(key), front[key].tolist(), unit)
        made[visible(head)] = pd.Series([visible(text) for text in texts], index=front.index, dtype=object)
    if WITHIN in front and (front["fidelity"] == COST).any():
        made[WITHIN_HEAD] = front[WITHIN].astype(str)
    made["fidelity"] = front["fidelity"]
    return made


def _worded(key: str) -> str:
    """A figure in words, and whether it is a bound."""
    bound = FIGURES.bounds.get(key)
    return bare(key) if bound is None else f"{bare(key)}, {bound} bound"


def latex(made: pd.DataFrame) -> str:
    """The publication table as a LaTeX tabular (package booktabs), text escaped."""
    style = made.style.format(escape="latex").format_index(escape="latex", axis="columns").hide(axis="index")
    letters = "".join("l" if letter == "l" else "r" for letter in alignment(made))
    text: str = style.to_latex(hrules=True, column_format=letters)
    return text


def markdown(made: pd.DataFrame) -> str:
    """The publication table as Markdown."""
    rows = [[str(cell) for cell in row] for row in made.itertuples(index=False, name=None)]
    return markdown_table([*made.columns], alignment(made), rows) + "\n"


def alignment(made: pd.DataFrame) -> str:
    """One letter per column: r for numbers, l for words."""
    return "".join("r" if made[head].map(_is_number).all() else "l" for head in made.columns)


def _is_number(text: object) -> bool:
    try:
        float(str(text).replace(",", "").replace(NONE, "0"))
    except ValueError:
        return False
    return True


def column(name: str, values: Sequence[Any], unit: str | None) -> tuple[str, list[str]]:
    """Head with the unit that suits all values, and their texts in it."""
    if unit is None or not all(isinstance(value, int | float) for value in values):
        return name, [str(value) for value in values]
    found, scale = _scale([float(value) for value in values if not isnan(value)], unit)
    texts = [NONE if isnan(value) else number(float(value) / scale) for value in values]
    return f"{name} ({found})" if found else name, texts


def _scale(values: Sequence[float], unit: str) -> tuple[str, float]:
    """A unit with the prefix of the largest value, and how many of the base unit it is."""
    if unit == SHARE:
        return "%", 0.01
    most = max((abs(value) for value in values), default=0.0)
    if unit not in PREFIXED or not most:
        return NAMES.get(unit, unit), 1.0
    power = _binary(values) if unit == "B" else 0
    if power:
        return BINARY[power], 1024.0**power
    exponent = min(max(3 * floor(log10(most) / 3), min(PREFIXES)), max(PREFIXES))
    return f"{PREFIXES[exponent]}{unit}", 10.0**exponent


def _binary(values: Sequence[float]) -> int:
    """The largest power of 1024 that divides all sizes, 0 where none does."""
    return max((power for power in BINARY if all(value % 1024**power == 0 for value in values)), default=0)
