"""What a sweep would do, without doing anything: its rows, those that are known, the jobs of its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from archsim.lab.sweep import ranks, search
from archsim.lab.sweep.cluster_form import Local
from archsim.lab.sweep.clusters import ClusterPlace, script
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.resolve import ResolvedSweep
from archsim.lab.sweep.row_keys import RowKeys
from archsim.lab.sweep.store import known
from archsim.lab.sweep.worker import COST
from archsim.spec import load


def lines(resolved: ResolvedSweep, folder: Path, place: ClusterPlace) -> Iterator[str]:
    """What is said of a sweep into ``folder``: of a method that learns the points of its first batch are known ahead.
    Raises ConfigError as the sweep itself."""
    sweep = resolved.sweep
    grid, spent = SweepGrid(sweep), search.problem(sweep).spent
    points = [grid.at(choices) for choices in search.method(sweep).ask()]
    keys = RowKeys(load.load(sweep.chip), sweep.objective, sweep.dtype)
    asked = {
        keys.of(point, model, named.label, sweep.fidelity)
        for point in points
        for model, named in zip(resolved.models, sweep.models, strict=True)
    }
    rows = spent * len(sweep.models)
    done, least = len(known(folder, asked, sweep.limits)), "" if spent == len(points) else "at least "
    models = f"{len(sweep.models)} model{'s' if len(sweep.models) > 1 else ''}"
    front = f"those of the front ({ranks.RULE})" if sweep.fidelity == COST else "those of the front"
    yield f"{sweep.name}: {spent} points, {models}, {rows} rows, {sweep.fidelity}"
    todo = f"{'' if not least else 'at most '}{rows - done}"
    yield f"{folder}: {least}{done} rows are there, {todo} to be simulated, then {front} in more detail"
    yield from _on(place)


def _on(place: ClusterPlace) -> Iterator[str]:
    if isinstance(place, int):
        yield f"on {place} processes"
    elif isinstance(place, str):
        yield f"on the workers of {place}"
    elif isinstance(place, Local):
        yield f"on {place.workers} workers of this machine"
    else:
        yield f"on {place.jobs} jobs of {place.cores} cores; the script of each:"
        yield script(place).rstrip()
