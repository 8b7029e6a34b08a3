"""A sweep from its file to its table: rows that are not there yet are worked out, kept, and the front run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Protocol
from warnings import warn

import pandas as pd

from archsim.base.errors import ConfigError
from archsim.base.writable import write_all
from archsim.lab.explore.problem import PointOutcome
from archsim.lab.run.fidelity import timed
from archsim.lab.sweep import ranks, search
from archsim.lab.sweep.digest import digest
from archsim.lab.sweep.executor import SweepExecutor
from archsim.lab.sweep.points import DesignPoint, SweepGrid
from archsim.lab.sweep.questions import RESULTS, SweepTable
from archsim.lab.sweep.resolve import ResolvedSweep
from archsim.lab.sweep.row_keys import RowKeys
from archsim.lab.sweep.search import outcome
from archsim.lab.sweep.store import RowStore, StoredRow
from archsim.lab.sweep.table import CORES, table
from archsim.lab.sweep.worker import COST, OK, SweepRow, SweepTask
from archsim.spec import load

FAST = "fast"
LADDER = (COST, FAST, "exact")


class SweepWatch(Protocol):
    """Who is told how a sweep goes on."""

    def begin(self, fidelity: str, rows: int) -> None:
        """So many rows are to be had at a fidelity."""

    def known(self, rows: int) -> None:
        """So many of them are there already."""

    def row(self, row: SweepRow) -> None:
        """A row is there."""

    def ranked(self, sentences: Sequence[str]) -> None:
        """What the rows at fidelity cost say of each model, before those of its front are simulated."""


class SilentWatch:
    """Who is told and says nothing."""

    def begin(self, fidelity: str, rows: int) -> None:
        """See ``Watch.begin``."""

    def known(self, rows: int) -> None:
        """See ``Watch.known``."""

    def row(self, row: SweepRow) -> None:
        """See ``Watch.row``."""

    def ranked(self, sentences: Sequence[str]) -> None:
        """See ``Watch.ranked``."""


@dataclass(frozen=True)
class RowPlace:
    """A row of the table: a model (its number) on a point at a fidelity, under its key."""

    key: str
    point: DesignPoint
    model: int
    fidelity: str


class RunningSweep:
    """A resolved sweep with its results in ``folder``; a context, which closes them.

    ``resume``: take what is there; else nothing may be. ``say`` is told of what is wrong with it. Raises ConfigError
    for a folder that cannot be used.
    """

    def __init__(
        self, resolved: ResolvedSweep, folder: Path, *, resume: bool, say: Callable[[str], None] = warn
    ) -> None:
        self.sweep, self.models, self.folder = resolved.sweep, resolved.models, folder
        chip = self._chip = load.load(self.sweep.chip)
        self._known_cores: dict[str, int] = {}
        self._has_fidelity = bool(timed(chip)) or chip.noc is not None
        self._ladder = LADDER[LADDER.index(self.sweep.fidelity) :]
        if not self._has_fidelity:
            self._ladder = tuple(rung for rung in self._ladder if rung in (COST, FAST)) or self._ladder
        self._keys = RowKeys(chip, self.sweep.objective, self.sweep.dtype)
        self._grid, self._method = SweepGrid(self.sweep), search.method(self.sweep)
        self.store = RowStore(folder, self.sweep.limits, say)
        if not resume and self._holds_rows():
            raise ConfigError(f"{folder}: holds rows of a sweep; go on with --resume, or take another --out")

    def _holds_rows(self) -> bool:
        try:
            return self.store.holds_rows()
        except ConfigError:
            self.store.close()
            raise

    def __enter__(self) -> RunningSweep:
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()

    def run(self, crew: SweepExecutor, watch: SweepWatch) -> SweepTable:
        """Work out all rows, then those of the front at each better fidelity; write and return the table. Once."""
        places = self._search(crew, watch)
        for fidelity, better in pairwise(self._ladder):
            found = self.table(places)
            if fidelity == COST:
                watch.ranked(ranks.sentences(found))
            again = [self._again(found.loc[at], places, better) for at in self._best(found, fidelity)]
            watch.begin(better, len(again))
            self._work(again, crew, watch)
            places += again
        made = self.table(places)
        save(made, self.folder)
        return made

    def table(self, places: Sequence[RowPlace]) -> SweepTable:
        """The table of those places that have a row."""
        stored = self.store.get(place.key for place in places)
        rows = [self._row(place, stored[place.key]) for place in places if place.key in stored]
        return SweepTable.of(table(self.sweep, rows))

    @property
    def goal(self) -> str:
        """The first objective, for those who watch."""
        return str(self.sweep.goals[0])

    @property
    def _all(self) -> range:
        return range(len(self.models))

    def _place(self, point: DesignPoint, model: int, fidelity: str) -> RowPlace:
        label = self.sweep.models[model].label
        return RowPlace(self._keys.of(point, self.models[model], label, fidelity), point, model, fidelity)

    def _best(self, found: SweepTable, fidelity: str) -> pd.Index:
        """Rows of the front at a fidelity that are worth a run at the next: of cost as many as ``ranks.taken``
        takes."""
        if fidelity == COST:
            return ranks.taken(found).index
        return found.index[found["front"] & (found["fidelity"] == fidelity)]

    def _again(self, row: pd.Series, places: Sequence[RowPlace], fidelity: str) -> RowPlace:
        labels = [asked.label for asked in self.sweep.models]
        model = labels.index(row["model"])
        point = next(p.point for p in places if p.point.number == row["point"])
        return self._place(point, model, fidelity)

    def _search(self, crew: SweepExecutor, watch: SweepWatch) -> list[RowPlace]:
        """Work out the points that the method asks for, batch by batch; their rows."""
        watch.begin(self.sweep.fidelity, search.problem(self.sweep).spent * len(self.models))
        found: list[RowPlace] = []
        while batch := self._method.ask():
            points = [self._grid.at(choices) for choices in batch]
            places = [[self._place(point, model, self.sweep.fidelity) for model in self._all] for point in points]
            asked = list(chain.from_iterable(places))
            self._work(asked, crew, watch)
            self._method.tell(self._outcomes(places))
            found += asked
        return found

    def _outcomes(self, places: Sequence[Sequence[RowPlace]]) -> list[PointOutcome]:
        """Of points by the places of their models."""
        stored = self.store.get(place.key for each in places for place in each)
        rows = [[stored[place.key] for place in each] for each in places]
        return [outcome(self.sweep, [row.numbers if row.status == OK else None for row in each]) for each in rows]

    def _work(self, places: Sequence[RowPlace], crew: SweepExecutor, watch: SweepWatch) -> None:
        known = self.store.get(place.key for place in places)
        todo = {place.key: place for place in places if place.key not in known}
        watch.known(len(places) - len(todo))
        for row in crew.rows(self._tasks(todo.values()), self.sweep.limits.seconds):
            self.store.put(row)
            watch.row(row)

    def _tasks(self, places: Any) -> Iterator[SweepTask]:
        sweep = self.sweep
        for place in places:
            fidelity = place.fidelity if self._has_fidelity or place.fidelity == COST else None
            yield SweepTask(
                place.key, place.point.number, sweep.models[place.model], sweep.chip, place.point.values, fidelity,
                sweep.objective, sweep.dtype, sweep.limits.memory_bytes,
            )  # fmt: skip

    def _cores(self, point: DesignPoint) -> int:
        """Of the point's chip, which keys of its network alone decide; of the sweep's chip where it is impossible."""
        if self._chip.noc is None:
            return self._chip.cores
        levels = {level.name for level in self._chip.noc.levels}
        values = {key: value for key, value in point.values.items() if key.partition(".")[0] in levels}
        asked = str(values)
        if asked not in self._known_cores:
            try:
                self._known_cores[asked] = load.load(self.sweep.chip, values).cores
            except ConfigError:
                self._known_cores[asked] = self._chip.cores
        return self._known_cores[asked]

    def _row(self, place: RowPlace, stored: StoredRow) -> dict[str, Any]:
        return {
            "point": place.point.number,
            "model": self.sweep.models[place.model].label,
            "fidelity": place.fidelity,
            **({CORES: self._cores(place.point)} if self.sweep.fidelity == COST else {}),
            "values": place.point.values,
            "status": stored.status,
            "reason": stored.reason,
            "numbers": stored.numbers,
        }


def save(made: SweepTable, folder: Path) -> list[Path]:
    """Write the table and its pages into ``folder``; their paths. Raises ConfigError when they cannot be written."""
    rows = BytesIO()
    made.to_parquet(rows)
    return write_all(folder, {RESULTS: rows.getvalue(), **_pages(made)})


def write_pages(made: SweepTable, folder: Path) -> list[Path]:
    """report.html and report.md of a table; raises ConfigError when they cannot be written."""
    return write_all(folder, _pages(made))


def _pages(made: SweepTable) -> dict[str, str]:
    from archsim.report.sweep import page

    said = digest(made)
    return {"report.html": page.html(said), "report.md": page.markdown(said)}
