"""A merged DMA and models: refused before anything is searched, at the place that asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.run.job import Job, build
from archsim.lab.what_if.explain import explained
from archsim.spec import load

GOLDEN_CHIP = Path(__file__).resolve().parents[1] / "golden" / "chip.yaml"
WORKLOAD = str(GOLDEN_CHIP.parent / "workload.yaml")
WHY = "dma.merged: found true; the mapper cannot order loads and stores in one queue yet; allowed false, or a Program"


@pytest.fixture
def chip(tmp_path: Path) -> Path:
    """The golden chip with a merged DMA."""
    text = GOLDEN_CHIP.read_text()
    (place,) = re.findall(r"^  - dma: \{", text, re.MULTILINE)
    found = tmp_path / "merged.yaml"
    found.write_text(text.replace(place, f"{place}merged: true, "))
    return found


@pytest.mark.parametrize("front", [build, lambda job: explained(job, "any")])
def test_a_file_is_named_with_line_and_column(front: Callable[[Job], object], chip: Path) -> None:
    lines = chip.read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "merged" in line)
    column = lines[number - 1].index("merged") + 1
    with pytest.raises(ConfigError, match=re.escape(f"{chip}:{number}:{column}: {WHY}")):
        front(Job(WORKLOAD, str(chip)))


def test_a_chip_that_extends_it_names_the_file_that_says_so(chip: Path, tmp_path: Path) -> None:
    child = tmp_path / "child.yaml"
    child.write_text("schema: archsim.chip/1\nname: child\nsource: by definition\nextends: ./merged.yaml\n")
    with pytest.raises(ConfigError, match=re.escape(f"{chip}:")):
        build(Job(WORKLOAD, str(child)))


def test_an_option_is_named(chip: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"--set: {WHY}")):
        build(Job(WORKLOAD, str(GOLDEN_CHIP), values={"dma.merged": True}))
    assert build(Job(WORKLOAD, str(chip), values={"dma.merged": False})).mapping is not None


def test_a_chip_that_was_loaded_is_named(chip: Path) -> None:
    found = load.load(chip)
    with pytest.raises(ConfigError, match=re.escape(f"{found.name}: {WHY}")):
        build(Job(WORKLOAD, found))
