"""The command ``import``: chips and workloads of other tools as archsim's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from archsim.base.errors import ConfigError
from archsim.base.writable import check_directory, check_file, write, write_all
from archsim.cli.printing import put, say_error

EXAMPLE = "Example: archsim import eyeriss.arch.yaml conv.prob.yaml --out eyeriss"


def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Chip and workload of one tool: YAML, or .cfg and .csv.")
    ],
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TOOL",
            help="timeloop, accelforge, zigzag or scalesim. Default: told by what the FILEs hold.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Write into this folder, or one file as this .yaml. Default: on stdout."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing and exit 2 where a key is refused, unknown or left out.")
    ] = False,
) -> None:
    """Read chips and workloads of Timeloop, AccelForge, ZigZag or SCALE-Sim into archsim's YAML.

    Every key of the FILEs is listed: read, approximated, ignored, refused; so is every value that had to be assumed.
    Example: archsim import eyeriss.arch.yaml conv.prob.yaml --out eyeriss
    """
    from archsim.frontend.foreign.load import bring

    single = out is not None and out.suffix in (".yaml", ".yml")
    if out is not None:
        check_file(out) if single else check_directory(out)
    brought = bring(files, from_ or "")
    if len(brought.files) > 1 and (out is None or single):
        raise ConfigError(f"found {len(brought.files)} files to write, {', '.join(brought.files)}; add --out FOLDER")
    if strict and not brought.complete:
        say_error(brought.report())
        raise ConfigError("--strict: keys are refused, unknown or left out (listed above); nothing is written")
    if out is None:
        put(next(iter(brought.files.values())), end="")
        say_error(brought.report())
        return
    _keep(files, [out] if single else [out / name for name in brought.files])
    for path in _write(brought.files, out, single):
        put(f"wrote {path}")
    put(brought.report())


def _keep(sources: list[Path], targets: list[Path]) -> None:
    """Raise ConfigError where a target is a source, or a file that no import has written."""
    from archsim.frontend.foreign.load import is_imported

    for target in targets:
        source = next((source for source in sources if target.exists() and target.samefile(source)), None)
        if source is not None:
            raise ConfigError(f"{target}: is the source {source}, which would be lost; add --out with another place")
        if target.is_file() and not is_imported(target):
            raise ConfigError(
                f"{target}: is there already and is no file that archsim import wrote; add --out with another place, "
                "or take it away"
            )


def _write(files: dict[str, str], out: Path, single: bool) -> list[Path]:
    if single:
        return [write(out, next(iter(files.values())))]
    return write_all(out, files)
