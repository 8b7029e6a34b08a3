"""What is compared: runs in memory, or directories and summaries that runs left; and the comparison as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archsim.base.errors import ConfigError
from archsim.lab.compare.comparison import compared
from archsim.lab.run.run import RunResult
from archsim.report.run.headline import title
from archsim.report.run.summary import FILE, load, upgraded

if TYPE_CHECKING:
    from pandas import DataFrame

RunLike = RunResult | str | Path | Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Runs side by side; ``told`` is all of it as plain JSON types (``comparison``)."""

    told: Mapping[str, Any]

    @property
    def question(self) -> DataFrame:
        """What is not equal in all runs: a row for each key, a column for each run."""
        return self._side_by_side("question")

    @property
    def figures(self) -> DataFrame:
        """A row for each figure, a column for each run; ``attrs['units']`` by figure."""
        table = self._side_by_side("figures")
        table.attrs["units"] = {row["key"]: row["unit"] for row in self.told["figures"]}
        return table

    @property
    def slots(self) -> DataFrame:
        """The difference of the time by cause of the MAC slots: run, cause, base, other, difference."""
        return self._parts("slots")

    @property
    def arrays(self) -> DataFrame:
        """The same of the arrays' time: run, layer ('' for none), cause.operand, base, other, difference."""
        return self._parts("arrays")

    @property
    def layers(self) -> DataFrame:
        """The same by layer on the critical path; ``remark`` says how layers without a namesake were matched."""
        nested = ("causes", "energy_j", "dram_bytes")
        return self._parts("layers").drop(columns=[*nested])

    @property
    def energy(self) -> DataFrame:
        """The difference in joules by part."""
        table = self._parts("energy")
        table.attrs["units"] = dict.fromkeys(table["run"], "J")
        return table

    @property
    def says(self) -> list[str]:
        """All sentences."""
        return [sentence for found in self.told["differences"] for sentence in found["says"]]

    def save(self, directory: str | Path) -> list[Path]:
        """Write comparison.json, report.html and report.md; returns the paths. Raises ConfigError where they cannot be
        written, or would replace the pages of a run."""
        from archsim.report.compare.page import write

        return write(Path(directory), self.told)

    def _repr_html_(self) -> str:
        from archsim.report.compare.page import card

        return card(self.told)

    def _side_by_side(self, key: str) -> DataFrame:
        from pandas import DataFrame

        names = [run["name"] for run in self.told["runs"]]
        rows = {row["key"]: row["values"] for row in self.told[key]}
        return DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("key")

    def _parts(self, key: str) -> DataFrame:
        """``attrs['units']`` by run: cycles, or seconds where its clock is not that of the base."""
        from pandas import DataFrame

        rows = [{"run": found["name"], **row} for found in self.told["differences"] for row in found[key]]
        table = DataFrame(rows)
        table.attrs["units"] = {found["name"]: found["unit"] for found in self.told["differences"]}
        return table


def compare(runs: Sequence[RunLike], names: Sequence[str] = ()) -> Comparison:
    """Compare two runs or more, the first is the base. ``names``: what they are called; by what they are if absent.

    Raises ConfigError for fewer than two, for names that do not fit and for what cannot be read.
    """
    if len(runs) < 2:
        raise ConfigError(f"compare: found {len(runs)} run; allowed two or more")
    if names and (len(names) != len(runs) or len(set(names)) < len(runs)):
        raise ConfigError(
            f"compare: found names {', '.join(names)}; allowed a different one for each of {len(runs)} runs"
        )
    summaries = [_summary(run) for run in runs]
    return Comparison(compared(summaries, list(names) or _names(runs, summaries)))


def _summary(run: RunLike) -> Mapping[str, Any]:
    if isinstance(run, RunResult):
        return run.summary
    return load(Path(run)) if isinstance(run, str | Path) else upgraded(run)


def _names(runs: Sequence[RunLike], summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The directory of what was stored, model and chip of the others; beside that what tells them apart."""
    short = [_called(run, summary) for run, summary in zip(runs, summaries, strict=True)]
    if len(set(short)) == len(short):
        return short
    longer = [
        str(run) if isinstance(run, str | Path) else _with_options(name, summary)
        for name, run, summary in zip(short, runs, summaries, strict=True)
    ]
    return longer if len(set(longer)) == len(longer) else [f"{at}: {name}" for at, name in enumerate(short, start=1)]


def _called(run: RunLike, summary: Mapping[str, Any]) -> str:
    if not isinstance(run, str | Path):
        return title(summary)
    path = Path(run).resolve()
    return path.parent.name if path.name == FILE else path.name


def _with_options(name: str, summary: Mapping[str, Any]) -> str:
    changed = summary["provenance"].get("options", {}).get("set", {})
    said = ", ".join(f"{key}={value}" for key, value in changed.items())
    return f"{name}, {said}" if said else name
