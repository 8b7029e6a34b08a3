"""The commands on stored results: compare runs, make pages and exports again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from archsim.base.writable import check_directory
from archsim.cli import options as opt
from archsim.cli.printing import progress, put


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="A B ...", help="What 'run --out' wrote, or a summary.json; A is the base.")
    ],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write report.html and report.md into DIR.")] = None,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
) -> None:
    """Runs side by side, with the reason for each difference."""
    if len(runs) < 2:
        raise typer.BadParameter("give two runs or more", param_hint="A B ...")
    from archsim.lab.compare.runs import compare as compared
    from archsim.report.compare import terminal as compare_table
    from archsim.report.run import terminal

    if out is not None:
        check_directory(out)
    with progress() as say:
        say("comparing")
        found = compared(runs)
    paths = found.save(out) if out is not None else []
    if format_ is opt.OutputFormat.JSON:
        put(compare_table.to_json(found.told))
        return
    compare_table.show(found.told, terminal.console(compare_table.width(found.told)))
    for path in paths:
        put(str(path))


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What 'run', 'sweep' or 'compare' wrote.")],
    export: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Also pdf (needs Chromium or Chrome); of a run its tables as csv, xlsx, tex, md, parquet; of a sweep "
            "csv, xlsx, and its front as tex, md.",
        ),
    ] = None,
) -> None:
    """Make report.html and report.md again from stored results, and export them."""
    from archsim.lab.files.stored_results import exported, rebuilt

    with progress() as say:
        say("making the pages")
        paths = rebuilt(directory)
        say("exporting")
        paths += exported(directory, export) if export is not None else []
    for path in paths:
        put(str(path))
