"""The figures of a process node one by one, each with how sure it is and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel

from archsim.energy.technology import TableFigures, Technology, load_technology
from archsim.spec import nodes_between, schema_tables, table_files
from archsim.spec.part import STATUSES, SourcedNumber

_DERIVED = "derived"


class ShownFigure(NamedTuple):
    """A figure by its key path, which ends in its unit."""

    key: str
    value: str
    status: str
    source: str


def technology(name: str) -> str:
    """The figures of a node that has a table, or that lies between two, in columns; raises ConfigError for others."""
    if nodes_between.of(name) is not None:
        found = list(_between(load_technology(name)))
    else:
        path = table_files.find("technology", name, "technology table")
        table = table_files.load(path, schema_tables.TechnologyTable)
        found = list(_stated(table, "", TableFigures(table.sources)))
    widths = [max(len(row[column]) for row in found) for column in range(3)]
    lines = (
        f"{row.key:{widths[0]}}  {row.value:>{widths[1]}}  {row.status:{widths[2]}}  {row.source}" for row in found
    )
    return "\n".join(lines) + "\n"


def _stated(section: BaseModel, prefix: str, figures: TableFigures) -> Iterator[ShownFigure]:
    """Figures of a section of a table, and of those inside it; points of SRAM as how many there are."""
    for key, value in section:
        path = f"{prefix}{key}"
        if isinstance(value, schema_tables.TableNumber):
            yield _shown(path, f"{value.value:g}", value.status, figures.source(value.source))
        elif isinstance(value, schema_tables.PointsTable):
            yield _shown(f"{path}.points", str(len(value.points)), value.status, figures.source(value.source))
        elif isinstance(value, BaseModel):
            yield from _stated(value, f"{path}.", figures)
        elif isinstance(value, dict):
            for name, inner in value.items():
                if isinstance(inner, BaseModel):
                    yield from _stated(inner, f"{path}.{name}.", figures)


def _between(found: Technology) -> Iterator[ShownFigure]:
    """Figures of a node that is made of two tables."""
    for dtype, unit in found.arithmetic.items():
        yield _made(f"arithmetic.{dtype}.multiply_pj", unit.multiply_pj)
        yield _made(f"arithmetic.{dtype}.add_pj", unit.add_pj)
    for key in found.__dataclass_fields__:
        value = getattr(found, key)
        if isinstance(value, SourcedNumber):
            yield _made(key, value)
    yield _made("sram.cell_um2_per_bit", found.sram.cell_um2_per_bit)
    yield _made("sram.extra_port", found.sram.extra_port)


def _made(key: str, figure: SourcedNumber) -> ShownFigure:
    return _shown(key, f"{figure.value:.4g}", None, figure.source)


def _shown(key: str, value: str, status: str | None, source: str) -> ShownFigure:
    """``status``: as a table states it, else that with which the source begins."""
    said = next((word for word in STATUSES if source.startswith(f"{word}:")), "")
    return ShownFigure(key, value, status or said or _DERIVED, source.removeprefix(f"{said}: ") if said else source)
