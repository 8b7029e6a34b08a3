"""A sweep as a whole, before its first point: chip, models, key paths, values and names of results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from archsim.errors import ArchsimError, ConfigError, nearest
from archsim.ir.workload import Workload
from archsim.lab.estimate import SIMULATED, SIMULATED_KINDS
from archsim.lab.job import read_text
from archsim.lab.options import parse_dtypes, public_keys
from archsim.lab.sweep.form import Asked, Sweep, read
from archsim.lab.sweep.worker import COST
from archsim.spec import load


@dataclass(frozen=True)
class Judged:
    """A sweep that can begin: ``models`` are those of ``sweep.models``, loaded; ``file``: where it was read."""

    sweep: Sweep
    models: tuple[Workload, ...]
    file: str


def judge(path: Path) -> Judged:
    """Read a sweep file and everything that it names.

    Paths in it are relative to its folder. A value that the chip could never have is refused here; one that does not go
    with the others is a point's own fault. Raises ConfigError and ModelError with file:line:column.
    """
    sweep = read(read_text(path), str(path))
    sweep = replace(
        sweep,
        chip=_beside(path, sweep.chip),
        models=tuple([replace(asked, model=_beside(path, asked.model)) for asked in sweep.models]),
    )
    parse_dtypes(sweep.dtype)
    _check_axes(sweep)
    _check_goals(sweep, path)
    return Judged(sweep, tuple([_loaded(asked) for asked in sweep.models]), str(path))


def _beside(path: Path, name: str) -> str:
    """A path relative to the sweep's folder, where there is such a file."""
    there = path.parent / name
    return str(there) if Path(name).suffix and not Path(name).is_absolute() and there.is_file() else name


def _loaded(asked: Asked) -> Workload:
    from archsim.frontend.load import load_model

    return load_model(asked.model, batch=asked.batch, parameters=dict(asked.parameters) or None)


def _check_axes(sweep: Sweep) -> None:
    """Each key path is one of the chip, each value one that it may have as far as it alone can tell."""
    chip = load.load(sweep.chip)
    known = load.key_paths(sweep.chip)
    for axis in sweep.axes:
        where = f"{sweep.marks[axis.key]}: axes.{axis.key}"
        if axis.key not in known:
            raise ConfigError(f"{where}: no such key path in chip '{chip.name}'{nearest(axis.key, known)}")
        for value in axis.values:
            try:
                load.load(sweep.chip, {axis.key: value}, origin="axes")
            except ArchsimError as error:
                _, own, reason = str(error).partition(f"{axis.key}: ")
                if own and str(error).startswith("axes"):
                    raise ConfigError(f"{where}: {reason}") from None


def _check_goals(sweep: Sweep, path: Path) -> None:
    known = public_keys()
    for goal in sweep.goals:
        if goal.key.partition(".")[0] not in known:
            hint = nearest(goal.key, known)
            raise ConfigError(f"{path}: objectives: no '{goal.key}' in a result{hint}; it has: {', '.join(known)}")
    asked = [*(("objectives", goal.key) for goal in sweep.goals), *(("constraints", c.key) for c in sweep.constraints)]
    for place, key in asked if sweep.fidelity == COST else ():
        if key in SIMULATED or key.startswith(SIMULATED_KINDS):
            raise ConfigError(
                f"{path}: {place}: '{key}' is known by simulation alone; allowed with fidelity fast or exact"
            )
