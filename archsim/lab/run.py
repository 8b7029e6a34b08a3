"""One run: model and chip in, RunResult out. The front door's ``run`` and the command line's are this function.

model, chip -> Workload, Architecture -> mapper -> Program -> machine -> Activity -> accounts -> Result
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archsim.ir.mapping import ModelMapping
from archsim.ir.program import Program
from archsim.ir.result import Result
from archsim.ir.workload import Workload
from archsim.lab import options
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Model = str | Path | Workload
Chip = str | Path | Architecture
Progress = Callable[[str], None]


def quiet(_: str) -> None:
    """A Progress that says nothing."""


@dataclass(frozen=True)
class RunResult:
    """A Result with what led to it: tables and plots for notebooks, files for reports.

    ``mapping`` is None for a Program given as text. ``why``: rows of ``archsim.lab.why``, if asked for.
    """

    result: Result
    program: Program
    mapping: ModelMapping | None = None
    why: tuple[Mapping[str, Any], ...] = ()
    _memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def summary(self) -> dict[str, Any]:
        """The public summary (``archsim.result/1``) and ``details``, as plain JSON types."""
        if "summary" not in self._memo:
            from archsim.report.summary import summarise

            self._memo["summary"] = summarise(self.result, self.why)
        found: dict[str, Any] = self._memo["summary"]
        return found

    @property
    def layers(self) -> DataFrame:
        """One row per layer, indexed by name; ``attrs['units']`` says what bare numbers are in."""
        from pandas import DataFrame

        from archsim.report.tables import UNITS

        table = DataFrame(self.summary["layers"]).set_index("name")
        table.attrs["units"] = dict(UNITS)
        return table

    @property
    def stalls(self) -> DataFrame:
        """Cycles that the arrays waited: a row per layer, a column per cause and operand, 0 where none."""
        from pandas import DataFrame

        rows = {layer["name"]: layer["stalls"] for layer in self.summary["layers"] if layer["stalls"]}
        columns = sorted({key for row in rows.values() for key in row})
        table = DataFrame.from_dict(rows, orient="index", columns=None).reindex(columns=columns)
        table = table.fillna(0).astype("int64").rename_axis("name")
        table.attrs["units"] = dict.fromkeys(columns, "cycles")
        return table

    @property
    def energy(self) -> DataFrame:
        """Energy by part: joules and share of the total."""
        from pandas import DataFrame

        parts = self.summary["energy_breakdown_j"]
        whole = self.summary["energy_j"] or 1.0
        table = DataFrame(
            {"energy_j": parts, "share": {name: joules / whole for name, joules in parts.items()}}
        )
        table.attrs["units"] = {"energy_j": "J", "share": "1"}
        return table.rename_axis("part")

    def plot_timeline(self) -> Figure:
        """Each layer's span over time, coloured by what bounds it."""
        from archsim.report import figures

        return figures.timeline(self.summary)

    def plot_roofline(self) -> Figure:
        """MAC/s of each layer against MACs per DRAM byte, under the chip's ceilings."""
        from archsim.report import figures

        return figures.roofline(self.summary)

    def plot_energy(self) -> Figure:
        """Joules by part."""
        from archsim.report import figures

        return figures.energy(self.summary)

    def plot_stalls(self) -> Figure:
        """The critical path of the slowest layers by cause."""
        from archsim.report import figures

        return figures.stalls(self.summary)

    def save(self, directory: str | Path, trace: bool = False) -> list[Path]:
        """Write summary.json, layers.csv, mappings.yaml, report.html, report.md and, with ``trace``, trace.json.

        Returns the paths; raises ConfigError when the directory cannot be written.
        """
        from archsim.report import files
        from archsim.report.trace import trace_json

        mappings = ""
        if self.mapping is not None:
            from archsim.ir.text import mapping_to_yaml

            mappings = mapping_to_yaml(self.mapping)
        text = trace_json(self.result, self.program) if trace else ""
        return files.write(Path(directory), self.summary, mappings, text)

    def _repr_html_(self) -> str:
        from archsim.report.notebook import card

        return card(self.summary)
