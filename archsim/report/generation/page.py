"""report.html, report.md, the table of steps and the notebook's card of generated tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.charts.steps import steps
from archsim.report.generation import layouts
from archsim.report.generation.terminal import says, setting, title
from archsim.report.generation.words import SCHEMA
from archsim.report.kit.part_page import PageSection, ResultKind, ResultPage, csv_text
from archsim.report.kit.svg import both
from archsim.report.run.notebook import framed

STEPS = "steps.csv"
_KEYS = ("step", "past", "cycles", "latency_s", "energy_j", "power_avg_w", "utilization", "dram_share", "kv_read_bytes")

Found = Mapping[str, Any]


def _page(found: Found) -> ResultPage:
    """The page of a result of generation."""
    sections = [PageSection(table, _charts(name, found)) for name, table in layouts.tables(found).items()]
    rows = [[step[key] for key in _KEYS] for step in found["steps"]]
    said = (*says(found), *(f"Warning: {text}" for text in found["provenance"]["warnings"]))
    return ResultPage(title(found), tuple(setting(found)), said, tuple(sections), {STEPS: csv_text(_KEYS, rows)})


def _charts(name: str, found: Found) -> tuple[str, ...]:
    """The time of steps, where there are several."""
    return (both(partial(steps, found["steps"])),) if name == "steps" and len(found["steps"]) > 1 else ()


KIND = ResultKind("generation.json", SCHEMA, _page)


def card(found: Found) -> str:
    """What a notebook shows: figures, sentences, and the time of steps; its style applies inside ``.archsim`` only."""
    first, second = setting(found)
    return framed(title(found), (first, second), layouts.tokens(found), says(found), "".join(_charts("steps", found)))
