"""A figure and a cause that are each one new row of a table, and every place in which they must then be seen.

``check_figure`` and ``check_cause`` add the row, run a small model, and fail with the name of the place that does not
show it. Nothing of the tables is left changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from jsonschema import Draft202012Validator
from rich.console import Console

from archsim.ir.causes import CAUSES, CauseKind, StallCause
from archsim.ir.figure_table import FIGURES, ResultFigure, RunQuantities, SampleFigure
from archsim.lab.compare.runs import compare
from archsim.lab.files import schemas
from archsim.lab.run.estimate import estimated
from archsim.lab.run.export import export as export_run
from archsim.lab.run.job import Job
from archsim.lab.run.run import RunResult, execute
from archsim.lab.sweep.executor import SweepExecutor
from archsim.lab.sweep.export import export as export_sweep
from archsim.lab.sweep.resolve import resolve
from archsim.lab.sweep.run import RunningSweep, SilentWatch
from archsim.lab.sweep.worker import work
from archsim.report.compare import page as compare_page
from archsim.report.compare import terminal as compare_terminal
from archsim.report.run import html, markdown, notebook, terminal
from archsim.report.run.summary import to_text
from tests.tools.commands import GOLDEN

MODEL, CHIP = GOLDEN / "workload.yaml", GOLDEN / "chip.yaml"
WIDTH = 200
ARRAY_PHASES = ("weight_load", "thermal", "busy", "fill_drain", "sram_port")  # the filling of the array is too hot


def _bytes_per_mac(run: RunQuantities) -> float:
    return (run.in_dram("read_bytes") + run.in_dram("write_bytes")) / max(run.macs, 1)


BYTES_PER_MAC = ResultFigure(
    "bytes_per_mac",
    "DRAM bytes of a MAC",
    "B/MAC",
    "Bytes on the pins of all DRAM over all multiply-accumulates.",
    _bytes_per_mac,
    estimate=lambda run: 2 * _bytes_per_mac(run),
    short="bytes a MAC",
    headline=12,
    remark="of {macs}",
    sample=SampleFigure("bytes_per_mac", "DRAM bytes of a MAC, a sample", "The same for each sample."),
)
THERMAL = StallCause(
    "stall_thermal",
    "waits for the chip to cool",
    "#AA3377",
    CauseKind.WAIT,
    "the chip is too hot to go on",
    mended_by=("array",),
    engine="thermal",
    bound="thermal",
)


@contextmanager
def added(row: ResultFigure | StallCause) -> Iterator[None]:
    """The row at the end of its table for a while."""
    figures, causes = FIGURES.rows, CAUSES.rows
    try:
        if isinstance(row, ResultFigure):
            FIGURES.rows = (*figures, row)
        else:
            CAUSES.rows = (*causes, row)
        yield
    finally:
        FIGURES.rows, CAUSES.rows = figures, causes


class InThisProcess:
    """An executor of sweeps that works out each row here, where a table may be changed."""

    def rows(self, tasks: Any, seconds: float | None = None) -> Iterator[Any]:
        """The rows, one after the other."""
        yield from map(work, tasks)

    def __enter__(self) -> SweepExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left behind."""


@dataclass(frozen=True)
class Seen:
    """Texts of every place that shows a run, by the name of the place, and what was run."""

    run: RunResult
    places: Mapping[str, str]
    sweep: Mapping[str, Any]

    @property
    def summary(self) -> Mapping[str, Any]:
        """The run's summary."""
        return self.run.summary

    def must_show(self, text: str, *places: str) -> None:
        """Fail with the names of those places that do not have a text."""
        lacking = [name for name in places if text not in self.places[name]]
        assert not lacking, f"{text!r} is not in {', '.join(lacking)}"


def seen(
    folder: Path, objective: str, constraint: str, key: str = "clock", values: tuple[object, ...] = ("1 GHz", "2 GHz")
) -> Seen:
    """Run the golden model as the tables are now, with two values of a key of the chip.

    ``objective`` and ``constraint`` are those of a sweep over them.
    """
    one, two = (execute(Job(MODEL, CHIP, values={key: value})) for value in values)
    summary, compared = one.summary, compare([one, two], ["one", "two"])
    errors = [error.json_path for error in Draft202012Validator(_schema()).iter_errors(json.loads(to_text(summary)))]
    assert errors == [], "the JSON Schema of results does not take the summary"
    run = folder / "run"
    one.save(run)
    places = {
        "summary": to_text(summary),
        "schema": json.dumps(_schema()),
        "terminal": _printed(lambda console: terminal.show(summary, console)),
        "markdown": markdown.render(summary),
        "html": html.render(summary),
        "notebook": notebook.card(summary),
        "comparison": compare_terminal.to_json(compared.told),
        "comparison, terminal": _printed(lambda console: compare_terminal.show(compared.told, console)),
        "comparison, markdown": compare_page.markdown(compared.told),
        "comparison, html": compare_page.html(compared.told),
        "export, csv": "".join(path.read_text("utf-8") for path in export_run(run, "csv")),
        "export, md": "".join(path.read_text("utf-8") for path in export_run(run, "md")),
    }
    sweep, texts = _swept(folder, objective, constraint, f"{key}: [{', '.join(map(str, values))}]")
    return Seen(one, places | texts, sweep)


def _schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(schemas.schema("result"))
    return found


def _printed(show: Any) -> str:
    console = Console(file=StringIO(), width=WIDTH)
    show(console)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def _swept(folder: Path, objective: str, constraint: str, axis: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The rows of a sweep over an axis, first estimated and then simulated, and the texts made of its table."""
    file = folder / "sweep.yaml"
    file.write_text(
        f"name: s\nchip: {CHIP}\nmodels: [{MODEL}]\naxes: {{{axis}}}\n"
        f"objectives: [{objective}, energy_j]\nconstraints: ['{constraint}']\nfidelity: fast\n",
        encoding="utf-8",
    )
    out = folder / "sweep"
    with RunningSweep(resolve(file), out, resume=False) as sweeping:
        made = sweeping.run(InThisProcess(), SilentWatch())
    texts = {f"sweep, {name}": (out / name).read_text("utf-8") for name in ("report.html", "report.md")}
    for name in ("csv", "md", "tex"):
        texts[f"sweep, {name}"] = export_sweep(made, made.pareto(), out, name).read_text("utf-8")
    return {"table": made}, texts


def check_figure(folder: Path) -> None:
    """Add the figure and see it wherever results are stored, shown, compared, swept and exported."""
    row = BYTES_PER_MAC
    with added(row):
        found = seen(folder, row.key, f"{row.key} <= 1000")
        about = estimated(Job(MODEL, CHIP))
    summary, table = found.summary, found.sweep["table"]
    moved = summary["dram"]["read_bytes"] + summary["dram"]["write_bytes"]
    assert summary[row.key] == moved / summary["macs"] > 0
    assert summary["per_sample"][row.key] == summary[row.key] / summary["per_sample"]["samples"]
    assert about[row.key] == 2 * (about["dram"]["read_bytes"] + about["dram"]["write_bytes"]) / about["macs"]
    found.must_show(row.key, "summary", "schema", "comparison", "export, csv", "sweep, csv", "sweep, report.html")
    found.must_show(row.says, "schema")
    found.must_show(row.short, "terminal", "markdown", "html", "notebook", "export, md")
    found.must_show(row.label, "comparison, terminal", "comparison, markdown", "comparison, html", "sweep, md")
    assert table[row.key].notna().all() and table["meets"].all() and table["front"].any()
    assert table.best(row.key)[row.key].iloc[0] == table[row.key].min()
    assert FIGURES.get(row.key) is None


def check_key(folder: Path, path: str, values: tuple[object, ...]) -> None:
    """Set a key of the chip to two values, and see it wherever a chip or what was asked of it is shown."""
    found = seen(folder, "latency_s", "energy_j >= 0", path, values)
    assert set(found.sweep["table"][path]) == set(values)
    found.must_show(path, "summary", "terminal", "markdown", "html", "notebook")
    found.must_show(path, "comparison", "comparison, terminal", "comparison, markdown", "comparison, html")
    found.must_show(path, "sweep, csv", "sweep, md", "sweep, report.html", "sweep, report.md")


def check_cause(folder: Path) -> None:
    """Add the cause, let the array's engine name it in its phases, and see it wherever causes are."""
    row = THERMAL
    with added(row), patch("archsim.pe.array.PHASES", ARRAY_PHASES):
        found = seen(folder, f"mac_breakdown.{row.key}", f"mac_breakdown.{row.key} >= 1")
    summary, table = found.summary, found.sweep["table"]
    units = summary["time_breakdown"]
    assert any(causes[row.key] for causes in units.values())
    assert {sum(causes.values()) for causes in units.values()} == {summary["cycles_total"]}
    assert summary["mac_breakdown"][row.key] > 0
    assert any(causes.get(row.bound) for causes in summary["details"]["critical"].values())
    assert any(key.partition(".")[0] == row.key for layer in summary["layers"] for key in layer["stalls"])
    found.must_show(row.key, "summary", "schema", "comparison", "export, csv", "sweep, csv")
    found.must_show(row.meaning.capitalize(), "schema")
    shown = ("terminal", "markdown", "html", "notebook", "export, md")
    found.must_show(row.label, *shown, "comparison, terminal", "comparison, markdown", "comparison, html")
    found.must_show(row.colour, "html", "notebook", "comparison, html")
    found.must_show(f"{row.meaning}; keys of array can mend it", "html")
    assert (table[f"mac_breakdown.{row.key}"] > 0).all() and table["meets"].all()
    assert CAUSES.get(row.key) is None
