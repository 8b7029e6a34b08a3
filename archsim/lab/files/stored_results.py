"""What a run, a sweep, a comparison or a part alone left in its directory: pages made again, and exported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from archsim.base.errors import ConfigError, nearest
from archsim.lab.run import export as run_export
from archsim.lab.sweep import export as sweep_export
from archsim.lab.sweep.questions import RESULTS, SweepTable
from archsim.report.checks import area_page, power_page, silicon_page
from archsim.report.compare import page as compare_page
from archsim.report.dram import page as dram_page
from archsim.report.generation import page as generation_page
from archsim.report.kit import part_page
from archsim.report.kit.pdf import print_pdf
from archsim.report.noc import page as noc_page
from archsim.report.run import run_files
from archsim.report.run.summary import holds_run

PDF = "pdf"
PAGE = "report.html"


def rebuilt(directory: Path) -> list[Path]:
    """Make report.html and report.md again; returns their paths. Raises ConfigError where nothing is stored, or what
    is stored is damaged."""
    try:
        return _rebuilt(directory)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        lacks = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{directory}: what is stored there is damaged ({lacks}); write it again") from error


def _rebuilt(directory: Path) -> list[Path]:
    if (directory / RESULTS).is_file():
        from archsim.lab.sweep.run import write_pages

        return write_pages(SweepTable.load(directory), directory)
    if (directory / compare_page.FILE).is_file():
        return compare_page.rebuild(directory)
    for kind in (
        noc_page.KIND,
        dram_page.KIND,
        generation_page.KIND,
        silicon_page.KIND,
        area_page.KIND,
        power_page.KIND,
    ):
        if (directory / kind.file).is_file():
            return part_page.rebuild(directory, kind)
    return run_files.rebuild(directory)


def exported(directory: Path, formats: str) -> list[Path]:
    """Write the formats (``csv,xlsx,tex,md,pdf``, of a run also ``parquet``) into the directory; returns their paths.

    Raises ConfigError for formats that what is stored there has not, and where something needed is not installed.
    """
    writers = _writers(directory)
    allowed = [*writers, PDF]
    asked = list(dict.fromkeys(part.strip() for part in formats.split(",")))
    for name in asked:
        if name not in allowed:
            only = "" if writers else "; the other formats are of runs and sweeps"
            raise ConfigError(f"--export: found '{name}'{nearest(name, allowed)}; allowed {', '.join(allowed)}{only}")
    paths: list[Path] = []
    for name in asked:
        paths += [print_pdf(directory / PAGE, directory / "report.pdf")] if name == PDF else writers[name]()
    return paths


def _writers(directory: Path) -> dict[str, Callable[[], list[Path]]]:
    """Format -> what writes it, of what is stored in the directory."""
    if (directory / RESULTS).is_file():
        return {name: partial(_of_sweep, directory, name) for name in sweep_export.FORMATS}
    if holds_run(directory):
        return {name: partial(run_export.export, directory, name) for name in run_export.FORMATS}
    return {}


def _of_sweep(directory: Path, name: str) -> list[Path]:
    table = SweepTable.load(directory)
    return [sweep_export.export(table, table.pareto(), directory, name)]
