"""What a sweep would do, without doing anything: its rows, those that are known, the jobs of its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from archsim.lab.sweep.choose import check_method, chosen
from archsim.lab.sweep.cluster_form import Local
from archsim.lab.sweep.clusters import Place, script
from archsim.lab.sweep.judge import Judged
from archsim.lab.sweep.keys import Keys
from archsim.lab.sweep.store import known
from archsim.spec import load


def lines(judged: Judged, folder: Path, place: Place) -> Iterator[str]:
    """What is said of a sweep into ``folder``. Raises ConfigError and NotBuiltError as the sweep itself."""
    sweep = judged.sweep
    check_method(sweep.search)
    points = chosen(sweep)
    keys = Keys(load.load(sweep.chip), sweep.objective, sweep.dtype)
    asked = {
        keys.of(point, model, named.label, sweep.fidelity)
        for point in points
        for model, named in zip(judged.models, sweep.models, strict=True)
    }
    done = len(known(folder, asked))
    todo = len(asked) - done
    yield f"{sweep.name}: {len(points)} points, {len(sweep.models)} models, {len(asked)} rows, {sweep.fidelity}"
    yield f"{folder}: {done} rows are there, {todo} to be simulated, then those of the front in more detail"
    yield from _on(place)


def _on(place: Place) -> Iterator[str]:
    if isinstance(place, int):
        yield f"on {place} processes"
    elif isinstance(place, str):
        yield f"on the workers of {place}"
    elif isinstance(place, Local):
        yield f"on {place.workers} workers of this machine"
    else:
        yield f"on {place.jobs} jobs of {place.cores} cores; the script of each:"
        yield script(place).rstrip()
