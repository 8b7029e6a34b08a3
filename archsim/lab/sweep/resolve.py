"""A sweep as a whole, before its first point: chip, models, key paths, values and names of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from pathlib import Path

from archsim.base.errors import ArchsimError, ConfigError, nearest, placed
from archsim.ir.workload import Workload
from archsim.lab.kit.options import public_keys
from archsim.lab.kit.text import read_text
from archsim.lab.run.estimate import simulated
from archsim.lab.scenario.find import LoadedScenario, is_scenario
from archsim.lab.scenario.find import load as load_scenario
from archsim.lab.scenario.words import KEYS
from archsim.lab.sweep.form import Sweep, SweepModel, judge
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.worker import COST
from archsim.spec import load
from archsim.spec.locate import is_file
from archsim.spec.problems import Problems

MOST_OF_GRID = 1_000_000  # points that are all run
FEW = 16  # values of an axis that are judged where there are too many points anyway, and told where all are wrong
MOST = 2**63  # points that have numbers


@dataclass(frozen=True)
class ResolvedSweep:
    """A sweep that can begin: ``models``: those of ``sweep.models``, scenarios too, loaded; ``file``: where it is."""

    sweep: Sweep
    models: tuple[Workload | LoadedScenario, ...]
    file: str


def resolve(path: Path) -> ResolvedSweep:
    """Read a sweep file and everything that it names.

    Paths in it are relative to its folder. A value that the chip could never have is refused here; one that does not go
    with the others is a point's own fault. All that can be judged without what is wrong is judged at once. Raises
    ConfigError and ModelError with file:line:column.
    """
    problems = Problems()
    judged = judge(read_text(path), str(path), problems)
    sweep = judged.sweep
    sweep = replace(
        sweep,
        chip=_beside(path, sweep.chip),
        models=tuple([replace(asked, model=_beside(path, asked.model)) for asked in sweep.models]),
    )
    if "zip" not in judged.wrong:  # which says how many points there are
        _check_choices(sweep, problems)
    fits = _check_size(sweep, Problems() if {"zip", "search"} & judged.wrong else problems)
    if "chip" not in judged.wrong:
        _check_axes(sweep, MOST_OF_GRID if fits else FEW, problems)
    models = _models(sweep, problems)
    problems.raise_all()
    return ResolvedSweep(sweep, models, str(path))


def _models(sweep: Sweep, problems: Problems) -> tuple[Workload | LoadedScenario, ...]:
    """Those that can be loaded, whose results have the numbers that are asked for; what is wrong goes to problems."""
    found: list[Workload | LoadedScenario] = []
    for number, asked in enumerate(sweep.models):
        with problems.caught(sweep.mark(sweep.item("models", number))):
            found.append(_loaded(asked, sweep, number))
    for known, what in _results(found):
        _check_goals(sweep, known, what, problems)
    return tuple(found)


def _results(models: list[Workload | LoadedScenario]) -> Iterator[tuple[Sequence[str], str]]:
    """Numbers of the results of models and scenarios, with what they are of; of either where none could be loaded."""
    if not models:
        yield tuple(dict.fromkeys((*public_keys(), *KEYS))), "a result"
    for scenario in dict.fromkeys(isinstance(model, LoadedScenario) for model in models):
        yield (KEYS, "a scenario's result") if scenario else (public_keys(), "a result")


def _beside(path: Path, name: str) -> str:
    """A path relative to the sweep's folder, where there is such a file."""
    there = path.parent / name
    return str(there) if Path(name).suffix and not Path(name).is_absolute() and is_file(there) else name


def _loaded(asked: SweepModel, sweep: Sweep, number: int) -> Workload | LoadedScenario:
    from archsim.frontend.load import load_model

    where = sweep.place(sweep.item("models", number))
    try:
        if is_scenario(asked.model):
            return _scenario(asked, sweep, where)
        return load_model(asked.model, batch=asked.batch, parameters=dict(asked.parameters) or None)
    except ArchsimError as error:
        raise placed(error, where) from None


def _check_size(sweep: Sweep, problems: Problems) -> bool:
    """Whether there are no more points than can be listed, or numbered."""
    points, most = prod(SweepGrid(sweep).shape), MOST if sweep.search.trials else MOST_OF_GRID
    if points > most:
        other = "" if sweep.search.trials else "; random, qmc, nsga2 and tpe run some of them"
        allowed = f"allowed at most {most:,} of a {sweep.search.method} search{other}"
        problems.add(sweep.mark("axes"), "axes", f"found {points:,} points; {allowed}")
    return points <= most


def _check_choices(sweep: Sweep, problems: Problems) -> None:
    """An axis has each value once, axes that move together each combination."""
    for group in SweepGrid(sweep).groups:
        chosen = list(zip(*(map(str, sweep.axes[axis].values) for axis in group), strict=True))
        again = next((choice for choice, times in Counter(chosen).items() if times > 1), None)
        if again is not None:
            key = sweep.axes[group[0]].key
            problems.add(sweep.marks[key], f"axes.{key}", f"found {', '.join(again)} twice; allowed each once")


def _check_axes(sweep: Sweep, most: int, problems: Problems) -> None:
    """Each key path is one of the chip, each value one that it may have as far as it alone can tell; of an axis
    ``most`` values are judged, and the first FEW that are refused are told."""
    try:
        chip = load.load(sweep.chip)
    except ArchsimError as error:
        with problems.caught(sweep.mark("chip"), sweep.place("chip")):
            raise error
        return
    known = load.key_paths(sweep.chip)
    for axis in sweep.axes:
        mark = sweep.marks[axis.key]
        if axis.key not in known:
            said = f"no such key path in chip '{chip.name}'{nearest(axis.key, known)}"
            problems.add(mark, f"axes.{axis.key}", said)
            continue
        refused = (_refused(sweep, axis.key, value) for value in axis.values[:most])
        for reason in islice(filter(None, refused), FEW):
            problems.add(mark, f"axes.{axis.key}", reason)


def _refused(sweep: Sweep, key: str, value: object) -> str:
    """Why no chip like this one could have a value, on any platform that is an axis too; '' where it could, or what is
    wrong is something else."""
    platforms = next((axis.values for axis in sweep.axes if axis.key == "platform" != key), ())
    others: list[dict[str, object]] = [{"platform": each} for each in platforms] or [{}]
    reason = ""
    for other in others:
        reason = _refusal(sweep.chip, key, {**other, key: value})
        if not reason:
            break
    return reason


def _refusal(chip: str, key: str, values: Mapping[str, object]) -> str:
    """Why a chip with these values is none, where that is said of the key; else ''."""
    try:
        load.load(chip, values, origin="axes")
    except ArchsimError as error:
        _, own, reason = str(error).partition(f"{key}: ")
        return reason if own and str(error).startswith("axes") else ""
    return ""


def _scenario(asked: SweepModel, sweep: Sweep, where: str) -> LoadedScenario:
    """A scenario, whose streams state batch, parameters and dtype, and whose points no axis sets."""
    if asked.batch is not None or asked.parameters or sweep.dtype is not None:
        raise ConfigError(f"{asked.model} is a scenario; its streams state batch, parameters, dtype")
    if sweep.fidelity == COST:
        place = sweep.place("fidelity")
        raise ConfigError(f"{place}: found '{COST}'; {asked.model} is a scenario; allowed fast, exact")
    found = load_scenario(asked.model)
    for point in found.scenario.points:
        for key in point.values:
            if key in sweep.marks:
                said = f"the operating point '{point.name}' of scenario '{found.scenario.name}' sets it"
                raise ConfigError(f"{sweep.marks[key]}: axes.{key}: {said}; allowed one of them")
        origin = f"{next(iter(point.marks.values()))}: points.{point.name}.set"
        load.load(sweep.chip, point.values, origin=origin)
    return found


def _check_goals(sweep: Sweep, known: Sequence[str], what: str, problems: Problems) -> None:
    """What is to be best or bounded is a number of the model's, or the scenario's, result."""
    named = [(sweep.item("objectives", number), goal.key) for number, goal in enumerate(sweep.goals)]
    named += [(sweep.item("constraints", number), item.key) for number, item in enumerate(sweep.constraints)]
    for path, key in named:
        mark = sweep.mark(path)
        if key.partition(".")[0] not in known:
            hint = nearest(key, known)
            problems.add(mark, path, f"no '{key}' in {what}{hint}; it has: {', '.join(known)}")
        elif sweep.fidelity == COST and simulated(key):
            problems.add(mark, path, f"'{key}' is known by simulation alone; allowed with fidelity fast or exact")
