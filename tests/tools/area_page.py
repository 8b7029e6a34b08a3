"""The tables of docs/area.md from the suite area: ``python -m tests.tools.area_page`` prints the page with them.

What stands before and behind them is written by hand, in the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from archsim.lab.validate.area import suite
from archsim.lab.validate.suite import WORTH, default_reference
from archsim.report.checks import area
from archsim.report.kit.table_markdown import section

PAGE = Path(__file__).resolve().parents[2] / "docs" / "area.md"
BEHIND = "## How far to trust it"


def page() -> str:
    """The page with the tables of this version."""
    text = PAGE.read_text(encoding="utf-8")
    found: Mapping[str, Any] = suite.run(default_reference(WORTH)).to_json()
    shown = (area.scores(found), area.floorplans(found), area.dies(found))
    tables = [block for made in shown for block in section(made)]
    return text[: text.index(tables[0])] + "\n\n".join(tables) + "\n\n" + text[text.index(BEHIND) :]


if __name__ == "__main__":
    sys.stdout.write(page())
