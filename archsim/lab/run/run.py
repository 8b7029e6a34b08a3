"""One run: model and chip in, RunResult out, for the front door and the command line alike.

model, chip -> Workload, Architecture -> mapper -> Program -> machine -> Activity -> accounts -> Result
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archsim.base.errors import ArchsimError
from archsim.ir.result import Result, single_layers
from archsim.ir.result_parts import Provenance, Refinement
from archsim.lab.run.job import BuiltJob, Job, Progress, build, quiet
from archsim.lab.run.net import caught, figures
from archsim.lab.run.schedule_facts import netted, side_by_side
from archsim.lab.run.simulation import simulated
from archsim.report.run.tables import UNITS, layer_table
from archsim.report.run.trace import trace_json
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from archsim.report.run.details import WhyRow


@dataclass(frozen=True)
class RunResult:
    """A Result with what led to it: tables and plots for notebooks, files for reports.

    ``built``: chip, Program and mapping (None for a Program as text). ``why``: rows of ``archsim.lab.what_if.why``.
    """

    result: Result
    built: BuiltJob
    why: tuple[WhyRow, ...] = ()
    _memo: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def summary(self) -> dict[str, Any]:
        """The public summary (``archsim.result/2``) and ``details``, as plain JSON types."""
        if "summary" not in self._memo:
            from archsim.report.run.summary import summarise

            self._memo["summary"] = summarise(self.result, self.why)
        found: dict[str, Any] = self._memo["summary"]
        return found

    @property
    def layers(self) -> DataFrame:
        """One row per layer, indexed by name; ``attrs['units']`` says what bare numbers are in."""
        from pandas import DataFrame

        table = DataFrame(layer_table(self.summary)).set_index("name")
        table.attrs["units"] = dict(UNITS)
        return table

    @property
    def stalls(self) -> DataFrame:
        """Cycles that the arrays waited: a row per layer, a column per cause and operand, 0 where none."""
        from pandas import DataFrame

        rows = {layer["name"]: layer["stalls"] for layer in single_layers(self.summary) if layer["stalls"]}
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
        table = DataFrame({"energy_j": parts, "share": {name: joules / whole for name, joules in parts.items()}})
        table.attrs["units"] = {"energy_j": "J", "share": "1"}
        return table.rename_axis("part")

    def plot_waterfall(self) -> Figure:
        """MAC slots from the peak down to the useful ones, one loss per row."""
        from archsim.report.run import plots

        return plots.waterfall(self.summary)

    def plot_timeline(self) -> Figure:
        """Each layer's span over time, coloured by what bounds it."""
        from archsim.report.run import plots

        return plots.timeline(self.summary)

    def plot_roofline(self) -> Figure:
        """MAC/s of each layer against MACs per DRAM byte, under the chip's ceilings."""
        from archsim.report.run import plots

        return plots.roofline(self.summary)

    def plot_energy(self) -> Figure:
        """Joules by part."""
        from archsim.report.run import plots

        return plots.energy(self.summary)

    def plot_stalls(self) -> Figure:
        """The critical path of the slowest layers by cause."""
        from archsim.report.run import plots

        return plots.stalls(self.summary)

    def plot_dram(self) -> Figure:
        """Each DRAM part over time: bandwidth read and written under the peak, and the row-hit rate."""
        from archsim.report.run import plots

        return plots.dram(self.summary)

    def plot_power(self) -> Figure:
        """Power over time, stacked by part."""
        from archsim.report.run import plots

        return plots.power(self.summary)

    def save(self, directory: str | Path, trace: bool = False) -> list[Path]:
        """Write summary.json, layers.csv, mappings.yaml, report.html, report.md and, with ``trace``, its json.

        Returns the paths; raises ConfigError when the directory cannot be written.
        """
        from archsim.report.run import run_files

        mappings = ""
        if self.built.mapping is not None:
            from archsim.lab.run.mapping_file import to_text

            mappings = to_text(self.built.mapping)
        program = self.built.program if not self.built.left_out else None  # it lacks commands that the result has
        text = trace_json(self.result, program) if trace else ""
        return run_files.write(Path(directory), self.summary, mappings, text)

    def _repr_html_(self) -> str:
        from archsim.report.run.notebook import card

        return card(self.summary)

    def beside(self, best: RunResult, platform: RunResult) -> RunResult:
        """This run with the cycles of the best schedule and of the platform's, of which it is one."""
        cycles = best.result.cycles_total, platform.result.cycles_total
        return replace(self, result=side_by_side(self.result, *cycles), _memo={})

    def explained(self, job: Job) -> RunResult:
        """This run with ``why``: ``job`` simulated again on the chip with each resource enlarged."""
        from archsim.lab.what_if.why import no_mapping, why

        def again(chip: Architecture, _: str) -> Result:
            other = job.on(chip)
            return simulated(other, build(other))

        def kept(chip: Architecture) -> Result | None:
            other = replace(job.on(chip), refine=0)
            try:
                return simulated(other, build(other, keep=self.built.lowered or self.built.mapping))
            except ArchsimError:
                return None

        keep = kept if self.built.mapping is not None else no_mapping
        found = why(self.result, self.built.architecture, again, keep, job.objective)
        rows = tuple(row.to_json() for row in found)
        return replace(self, why=rows, _memo={})


def execute(job: Job, say: Progress = quiet) -> RunResult:
    """Run ``job`` from model and chip to its Result; raises ArchsimError's children.

    Refined mappings are the best of each layer alone; layers overlap, so the whole is run with the analytic choice as
    well, and the better one is kept by the objective's figures.
    """
    if job.has_net:
        best = caught(job, say)
        result = best.result if best.result is not None else simulated(job, best.built, say)
        return RunResult(netted(result, best.net), best.built)
    built = build(job, say)
    done = RunResult(simulated(job, built, say), built)
    if not job.refine or job.is_program:
        return done
    plain = replace(job, refine=0)
    before = build(plain, say)
    analytic = simulated(plain, before, say)
    kept = figures(job.objective, done.result) <= figures(job.objective, analytic)
    said: Refinement = {
        "candidates": job.refine,
        "refined_cycles": done.result.cycles_total,
        "analytic_cycles": analytic.cycles_total,
        "kept": "refined" if kept else "analytic",
    }
    if kept:
        return replace(done, result=replace(done.result, refinement=said))
    provenance: Provenance = {**analytic.provenance, "options": done.result.provenance["options"]}
    return RunResult(replace(analytic, refinement=said, provenance=provenance), before)
