"""Every chart of the pages, stroke for stroke: small inputs drawn as tests/golden/charts/NAME.svg has them.

``python -m tests.golden.test_charts`` draws all anew; look at the difference, and at the pictures, before you keep it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.report.kit.svg import NARROW, WIDE
from tests.tools.commands import ROOT
from tests.tools.drawings import ONCE, TWICE

HERE = Path(__file__).parent / "charts"
NAMES = sorted([*ONCE, *(f"{name}_{width}" for name in TWICE for width in ("wide", "narrow"))])


def drawn(name: str) -> str:
    """The chart with an element on each line."""
    kind, _, width = name.partition("_")
    picture = TWICE[kind](NARROW if width == "narrow" else WIDE) if width else ONCE[kind]()
    return picture.replace("><", ">\n<") + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_is_drawn_as_it_was(name: str) -> None:
    assert drawn(name) == (HERE / f"{name}.svg").read_text(encoding="utf-8")


def test_every_chart_is_among_them() -> None:
    """A new chart needs an input in tests/tools/drawings.py."""
    files = {path.stem for path in (ROOT / "archsim" / "report" / "charts").glob("*.py")}
    assert files - {"__init__", "lanes", "plot", "power", "time_axis"} == {*TWICE, *ONCE}  # these are parts of others
    assert {path.stem for path in HERE.glob("*.svg")} == set(NAMES)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for each in NAMES:
        (HERE / f"{each}.svg").write_text(drawn(each), encoding="utf-8")
