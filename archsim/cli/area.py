"""``validate area``: square millimetres of dies that exist."""

from __future__ import annotations

import json
from pathlib import Path

from archsim.base.writable import check_directory
from archsim.cli import options as opt
from archsim.cli.printing import progress, put


def validate(reference: Path | None, out: Path | None, form: opt.OutputFormat) -> None:
    """Print the scores, and write every die with its parts into ``out``."""
    from archsim.lab.validate.area import suite
    from archsim.lab.validate.suite import default_reference
    from archsim.report.checks import area, area_page
    from archsim.report.kit import part_page
    from archsim.report.kit.console import columns, folded

    if out is not None:
        check_directory(out)
        part_page.check_free(out, area_page.KIND)
    with progress():
        found = suite.run(reference or default_reference(suite.NAME)).to_json()
    figures = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)
    put(figures if form is opt.OutputFormat.JSON else folded(area.to_table(found, columns()), columns()))
    paths = part_page.save(out, {"schema": area_page.KIND.schema, **found}, area_page.KIND) if out is not None else []
    for path in paths if form is opt.OutputFormat.TABLE else ():
        put(str(path))
