"""``validate area`` and ``validate power``: square millimetres and watts of dies that exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.writable import check_directory
from archsim.cli import options as opt
from archsim.cli.printing import progress, put

if TYPE_CHECKING:
    from archsim.report.kit.part_page import ResultKind


def validate(suite: str, reference: Path | None, out: Path | None, form: opt.OutputFormat) -> None:
    """Print the scores of ``area`` or ``power``, and write every case with its parts into ``out``."""
    from archsim.lab.validate.area import suite as areas
    from archsim.lab.validate.power import suite as powers
    from archsim.lab.validate.suite import WORTH, default_reference
    from archsim.report.checks import area, area_page, power, power_page
    from archsim.report.kit.console import columns, folded

    of_area = suite == areas.NAME
    kind = area_page.KIND if of_area else power_page.KIND
    _check(out, kind)
    with progress():
        data = reference or default_reference(WORTH)
        found = areas.run(data).to_json() if of_area else powers.run(data).to_json()
    table = (area.to_table if of_area else power.to_table)(found, columns())
    is_json = form is opt.OutputFormat.JSON
    put(json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) if is_json else folded(table, columns()))
    paths = _saved(out, found, kind)
    for path in paths if not is_json else ():
        put(str(path))


def _check(out: Path | None, kind: ResultKind) -> None:
    from archsim.report.kit import part_page

    if out is not None:
        check_directory(out)
        part_page.check_free(out, kind)


def _saved(out: Path | None, found: dict[str, object], kind: ResultKind) -> list[Path]:
    from archsim.report.kit import part_page

    return part_page.save(out, {"schema": kind.schema, **found}, kind) if out is not None else []
