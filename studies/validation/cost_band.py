"""The band of ``fidelity: cost``, measured: cases.csv and bands.json of studies/validation/cost_band.

    python studies/validation/cost_band.py             measures the cases that are missing, then writes the bands
    python studies/validation/cost_band.py --again     measures them anew, of --chip those of that chip
    python studies/validation/cost_band.py --bands     only writes the bands of the cases that are there
    python studies/validation/cost_band.py --chip a100 only cases of that chip (may be repeated)

sweeps.yaml says which models on which chips, and which keys of them are swept. Every point is worked out by the
analytic model and by simulation, as a sweep would: exactly on chips of up to EXACT_CORES cores, else by the fast
models. Cases are kept as they come, so that a run that was stopped goes on; the result depends on the program and
sweeps.yaml alone. Takes about half an hour of a processor.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

import yaml

from archsim import __version__
from archsim.base.errors import ConfigError
from archsim.base.writable import write
from archsim.lab.run.fidelity import timed, with_fidelity
from archsim.lab.sweep import band, cases
from archsim.lab.sweep.axis import SweepAxis
from archsim.lab.sweep.cases import SweepCase
from archsim.lab.sweep.form import Sweep, SweepModel
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.worker import COST, OK, SweepRow, SweepTask, work
from archsim.lab.validate.suite import default_reference
from archsim.report.kit.table_markdown import table as markdown
from archsim.spec import load

EXACT_CORES = 16  # above it every point would take a minute and more
FOLDER = default_reference(band.SUITE)
SWEEPS, CASES = FOLDER / "sweeps.yaml", FOLDER / "cases.csv"


@dataclass(frozen=True)
class Place:
    """A point that is to be measured."""

    model: SweepModel
    label: str
    chip: str
    sweep: int
    point: int
    values: Mapping[str, object]

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Of it and of its case."""
        return self.label, self.chip, self.sweep, self.point


def main() -> None:
    """Measure what is asked for and write it."""
    asked = _arguments()
    places = list(_places(yaml.safe_load(SWEEPS.read_text(encoding="utf-8"))))
    wanted = [place for place in places if not asked.chip or place.chip in asked.chip]
    anew = {place.key for place in wanted if asked.again}
    known = {_key(case): case for case in cases.read(CASES)} if CASES.exists() else {}
    known = {place.key: known[place.key] for place in places if place.key in known and place.key not in anew}
    todo = [place for place in wanted if place.key not in known]
    for at, place in enumerate([] if asked.bands else todo, start=1):
        known[place.key] = measured(place)
        write(CASES, cases.text(known[place.key] for place in places if place.key in known))
        print(f"{at} of {len(todo)}: {_shown(known[place.key])}", flush=True)
    write(FOLDER / band.FILE, text(list(known.values())))
    print(tables(list(known.values())))


def measured(place: Place) -> SweepCase:
    """The case of a point."""
    chip = place.chip
    rows = [_row(place, COST)]
    at, cores = "", 0
    if rows[0].status == OK:
        architecture = load.load(chip, place.values)
        at, cores = fidelity(architecture), architecture.cores
        rows.append(_row(place, at or None))
    figures, bad = [row.numbers for row in rows], next((row for row in rows if row.status != OK), None)
    stated = "; ".join(f"{key}={value}" for key, value in place.values.items())
    start = (place.label, chip, place.sweep, place.point, stated, cores, at or "exact")
    if bad is not None:
        return SweepCase(*start, bad.status, reason=bad.reason)
    found = [numbers[figure] for figure in cases.FIGURES for numbers in figures]
    return SweepCase(*start, OK, *found)


def fidelity(architecture: Any) -> str:
    """At which a chip's points are simulated, '' on one that has but one, which is exact."""
    if not timed(architecture) and architecture.noc is None:
        return ""
    if architecture.cores > EXACT_CORES:
        return "fast"
    try:
        with_fidelity(architecture, "exact")
    except ConfigError:  # a crossbar of too many ports
        return "fast"
    return "exact"


def _row(place: Place, at: str | None) -> SweepRow:
    return work(SweepTask("", place.point, place.model, place.chip, place.values, at))


def text(found: list[SweepCase]) -> str:
    """bands.json: what the bands are and of how many cases, computed from them."""
    said = {
        "schema": "archsim.cost_band/1",
        "source": "measured by studies/validation/cost_band.py; cases in cases.csv",
        "archsim_version": __version__,
        "percentile": cases.PERCENT,
        "classes": cases.bands(found),
        "chips": cases.by_chip(found),
    }
    return json.dumps(said, indent=2) + "\n"


def tables(found: list[SweepCase]) -> str:
    """Those of docs/sweeps.md: the bands by class, and what each chip alone would have."""
    return f"{_by_class(cases.bands(found))}\n\n{_by_chip(found)}"


def _by_chip(found: list[SweepCase]) -> str:
    rows = []
    for chip in sorted({case.chip for case in found}):
        own = [case for case in found if case.chip == chip and case.status == OK]
        apart = [
            [gap for name in cases.CLASSES for gap in cases.differences(own, each, name)] for each in cases.FIGURES
        ]
        errors = [exp(case.error(cases.FIGURES[0])) for case in own]
        ends = f"{min(errors):.2f} to {max(errors):.2f}"
        rows.append([chip, *(band.shown(exp(cases.percentile(gaps))) for gaps in apart), ends, f"{len(apart[0])}"])
    return markdown(["chip alone", "latency", "energy", "cost / simulated latency", "pairs"], "lrrrr", rows)


def _by_class(classes: Mapping[str, Any]) -> str:
    heads = ["chips", "latency", "energy", "latency, median", "energy, median", "latency, largest", "energy, largest"]
    heads += ["chips measured", "models", "sweeps", "points", "pairs"]
    rows = []
    for name, own in classes.items():
        cells = [band.WORDS[name].removeprefix("chips "), *(band.shown(exp(width)) for width in own["band"].values())]
        cells += [band.shown(exp(width)) for part in ("median", "largest") for width in own[part].values()]
        rows.append([*cells, *(f"{own[part]}" for part in ("chips", "models", "sweeps", "points", "pairs"))])
    return markdown(heads, "l" + "r" * (len(heads) - 1), rows)


def _places(stated: Mapping[str, Any]) -> Iterator[Place]:
    """All points, in the order of the file."""
    for number, entry in enumerate(stated["models"]):
        path = FOLDER / entry["model"]
        model = SweepModel(str(path) if path.is_file() else entry["model"], None, entry.get("parameters", {}))
        label = SweepModel(path.stem if path.is_file() else entry["model"], None, model.parameters).label
        for chip in entry.get("chips", stated["chips"]):
            sweeps = stated["chips"][chip]
            axes = tuple([SweepAxis(key, tuple(values)) for key, values in sweeps[number % len(sweeps)].items()])
            for point in SweepGrid(Sweep("", chip, (model,), axes)):
                yield Place(model, label, chip, number % len(sweeps), point.number, point.values)


def _key(case: SweepCase) -> tuple[str, str, int, int]:
    return case.model, case.chip, case.sweep, case.point


def _shown(case: SweepCase) -> str:
    what = case.reason
    if case.status == OK:
        what = ", ".join(f"{figure} {case.error(figure):+.3f}" for figure in cases.FIGURES)
    return f"{case.model} on {case.chip}, {case.values}: {case.simulated} {what}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--bands", action="store_true")
    parser.add_argument("--chip", action="append", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    main()
