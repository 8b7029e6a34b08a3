"""What a part that ran alone leaves in its directory: its numbers as JSON, tables, and pages made from the JSON alone.

Networks (``archsim noc``) and memories (``archsim dram``) say what their pages hold as a ``ResultPage``; this file says
how such a page looks, and keeps results of different commands out of one another's directories.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archsim.base import plain
from archsim.base.errors import ConfigError
from archsim.base.version import __version__
from archsim.base.writable import write_all
from archsim.report.compare import page as compare_page
from archsim.report.kit.table import HTML, ReportTable
from archsim.report.kit.table_html import rendered
from archsim.report.kit.table_markdown import bullets, section
from archsim.report.kit.templates import page
from archsim.report.run import summary

RESULTS = "results.parquet"  # of a sweep

Found = Mapping[str, Any]


@dataclass(frozen=True)
class PageSection:
    """A table under its title, with drawings (SVG) above it."""

    table: ReportTable
    charts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResultPage:
    """A page: title, what was asked in lines, what came of it in sentences, sections; ``tables``: text by file name."""

    title: str
    setting: tuple[str, ...]
    says: tuple[str, ...]
    sections: tuple[PageSection, ...]
    tables: Mapping[str, str]


@dataclass(frozen=True)
class ResultKind:
    """A kind of result: the file with its numbers, their schema, and the page that they make."""

    file: str
    schema: str
    page: Callable[[Found], ResultPage]


def save(directory: Path, found: Found, kind: ResultKind) -> list[Path]:
    """Write the numbers, tables and pages into ``directory``, all or none of them; returns their paths.

    Raises ConfigError where they cannot be written or would stand beside the pages of another kind of result.
    """
    check_free(directory, kind)
    text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    made = kind.page(found)
    return write_all(directory, {kind.file: text, **made.tables, **_texts(made)})


def check_free(directory: Path, kind: ResultKind) -> None:
    """Raise ConfigError where a directory holds results of another kind, whose pages would be replaced."""
    others = {summary.FILE: "a run or scenario", compare_page.FILE: "a comparison", RESULTS: "a sweep"}
    others |= {"noc.json": "a network's run", "dram.json": "a memory's run", "generation.json": "generated tokens"}
    others |= {"silicon.json": "the suite silicon", "area.json": "the suite area", "power.json": "the suite power"}
    for name, what in others.items():
        if name != kind.file and (directory / name).exists():
            raise ConfigError(f"{directory}: holds {what}, whose pages would be replaced; allowed another directory")


def rebuild(directory: Path, kind: ResultKind) -> list[Path]:
    """Make the pages again from the stored numbers; returns their paths. Raises ConfigError where these are not to be
    read."""
    file = directory / kind.file
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error
    schema = found.get("schema") if isinstance(found, dict) else type(found).__name__
    if schema != kind.schema:
        raise ConfigError(f"{file}: found schema {schema!r}; allowed {kind.schema!r}")
    return write_all(directory, _texts(kind.page(found)))


def _texts(made: ResultPage) -> dict[str, str]:
    return {"report.html": html(made), "report.md": markdown(made)}


def html(made: ResultPage) -> str:
    """The page; equal numbers give equal bytes."""
    sections = [rendered(each.table, 2, each.charts) for each in made.sections if HTML in each.table.media]
    return page("part.html.j2", {**vars(made), "sections": sections, "version": __version__})


def markdown(made: ResultPage) -> str:
    """The same in words and tables."""
    blocks = [f"# {plain.markdown(made.title)}", "  \n".join(plain.markdown(line) for line in made.setting)]
    blocks += [bullets(made.says)]
    blocks += [block for each in made.sections for block in section(each.table)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def csv_text(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as CSV text (RFC 4180 quoting, newlines)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([plain.cell(value) for value in row] for row in rows)
    return out.getvalue()
