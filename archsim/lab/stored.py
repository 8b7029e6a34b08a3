"""What a run, a sweep, a comparison or a part alone left in its directory: pages made again, and exported."""

from __future__ import annotations

from pathlib import Path

from archsim.errors import ConfigError, nearest

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
    from archsim.lab.sweep.questions import RESULTS
    from archsim.report import compare_page, dram_page, files, noc_page, part_page

    if (directory / RESULTS).is_file():
        from archsim.lab.sweep.questions import SweepTable
        from archsim.lab.sweep.run import write_pages

        return write_pages(SweepTable.load(directory), directory)
    if (directory / compare_page.FILE).is_file():
        return compare_page.rebuild(directory)
    for kind in (noc_page.KIND, dram_page.KIND):
        if (directory / kind.file).is_file():
            return part_page.rebuild(directory, kind)
    return files.rebuild(directory)


def exported(directory: Path, formats: str) -> list[Path]:
    """Write the formats (``csv,xlsx,tex,md,pdf``) into the directory; returns their paths.

    Raises ConfigError for other formats, for tables of what is no sweep, and where something needed is not installed.
    """
    from archsim.lab.sweep.export import FORMATS, export
    from archsim.lab.sweep.questions import RESULTS, SweepTable
    from archsim.report.pdf import print_pdf

    asked = list(dict.fromkeys(part.strip() for part in formats.split(",")))
    allowed = [*FORMATS, PDF] if (directory / RESULTS).is_file() else [PDF]
    for name in asked:
        if name not in allowed:
            only = "" if len(allowed) > 1 else "; the other formats are of sweeps"
            raise ConfigError(f"--export: found '{name}'{nearest(name, allowed)}; allowed {', '.join(allowed)}{only}")
    table = SweepTable.load(directory) if any(name in FORMATS for name in asked) else None
    return [
        print_pdf(directory / PAGE, directory / "report.pdf") if table is None or name == PDF
        else export(table, directory, name)
        for name in asked
    ]  # fmt: skip
