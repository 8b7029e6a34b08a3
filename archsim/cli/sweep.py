"""The command ``sweep``: a chip over axes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from archsim.base.writable import check_directory
from archsim.cli.printing import put, say_error, shown

if TYPE_CHECKING:
    from archsim.lab.sweep.questions import SweepTable


def sweep(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.yaml", help="A file with chip, models, axes, constraints and objectives.")
    ],
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", min=1, metavar="N", help="Processes. Default: one for each processor."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a sweep into the same --out that was stopped.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results go. Default: a folder called as the sweep.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS|FILE",
            help="Run on a cluster instead: a Dask scheduler (tcp://host:8786) or a cluster file.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say how many rows there are and what jobs would be submitted.")
    ] = False,
) -> None:
    """Simulate every point of a sweep file, and the best ones again in more detail."""
    from archsim.lab.sweep import clusters, preview
    from archsim.lab.sweep.progress import SweepPace, SweepStretches
    from archsim.lab.sweep.questions import RESULTS
    from archsim.lab.sweep.resolve import resolve
    from archsim.lab.sweep.run import RunningSweep

    place = clusters.place(jobs, cluster)
    with shown() as say:
        say("reading what the sweep names")
        resolved = resolve(spec)
    for note in resolved.sweep.notes:
        say_error(f"note: {note}")
    folder = out or Path(resolved.sweep.name)
    check_directory(folder)
    if dry_run:
        put("\n".join(preview.lines(resolved, folder, place)))
        return
    try:
        with (
            RunningSweep(resolved, folder, resume=resume, say=say_error) as sweeping,
            clusters.crew(place) as crew,
            shown(),
            SweepStretches(sweeping.goal, put) as telling,
        ):
            pace = SweepPace(telling)
            table = sweeping.run(crew, pace)
    except KeyboardInterrupt:
        say_error(f"stopped; {folder} keeps what was done: go on with --resume")
        raise typer.Exit(130) from None
    _print(table)
    put(str(pace))
    put(str(folder / RESULTS))


def _print(table: SweepTable) -> None:
    """The front at the best fidelity, or why there is none, and how many rows came to nothing."""
    from archsim.lab.sweep import ranks
    from archsim.lab.sweep.digest import digest, fronts
    from archsim.report.kit.console import columns, console, folded
    from archsim.report.sweep import terminal

    width = columns()
    if table["front"].any():
        terminal.show(fronts(table), console())
        for model in dict.fromkeys(table["model"]):
            for sentence in ranks.left(table, str(model)):
                put(folded(f"{model}: {sentence}", width))
    else:
        for model in digest(table)["models"]:
            put(folded(f"{model['model']}: {' '.join(model['says'])}", width))
    counts = table["status"].value_counts()
    told = f"{table.attrs['search']}; rows: {', '.join(f'{counts[status]} {status}' for status in counts.index)}"
    put(folded(told, width))
    for _, row in table[table["status"] == "failed"].iterrows():
        say_error(f"failed: point {row['point']} of {row['model']}: {row['reason']}")
