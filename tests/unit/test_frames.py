"""Drawings of two widths by the same functions: nothing leaves its frame, the same rows and numbers stand in both."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from archsim.report.kit import svg
from archsim.report.kit.number_format import at_word
from archsim.report.kit.svg import NARROW, WIDE
from tests.tools.drawings import TWICE

LETTER = 6.2  # user units, of the smallest letters in the mean


def read(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def extent(text: ElementTree.Element) -> tuple[float, float]:
    """From where to where a line of text goes, about."""
    x, wide = float(text.get("x", "0")), LETTER * len(text.text or "")
    begin = x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.get("text-anchor", "start")]
    return begin, begin + wide


@pytest.mark.parametrize("name", TWICE)
def test_a_narrow_drawing_lies_in_its_frame(name: str) -> None:
    drawn = read(TWICE[name](NARROW))
    _, _, width, height = (float(each) for each in drawn.get("viewBox", "").split())
    assert width == NARROW.width == svg.PHONE and drawn.get("class") == "chart narrow"
    texts = [text for text in drawn.iter("text") if text.get("transform") is None]
    assert texts and drawn.find("title") is not None
    for text in texts:
        begin, end = extent(text)
        assert begin >= -2 and end <= width + 2 and 8 <= float(text.get("y", "0")) <= height + 2, text.text
    for bar in drawn.iter("rect"):
        assert float(bar.get("x", "")) >= 0 and float(bar.get("x", "")) + float(bar.get("width", "")) <= width + 0.01
    for dot in drawn.iter("circle"):
        assert 0 <= float(dot.get("cx", "")) <= width


@pytest.mark.parametrize("name", TWICE)
def test_both_drawings_have_the_same_rows(name: str) -> None:
    wide, narrow = (read(TWICE[name](frame)) for frame in (WIDE, NARROW))
    assert wide.get("class") == "chart wide"
    for tag in ("rect", "circle", "polyline"):
        assert len([*wide.iter(tag)]) == len([*narrow.iter(tag)])
    assert wide.findtext("title") == narrow.findtext("title")
    assert len([*narrow.iter("title")]) == 1 <= len([*wide.iter("title")])  # tips are for a mouse
    assert TWICE[name](WIDE) + TWICE[name](NARROW) == svg.both(TWICE[name])


@pytest.mark.parametrize("name", ["waterfall", "tornado", "stacked", "diverging", "histogram", "parts"])
def test_words_of_rows_stand_above_their_bars_and_apart(name: str) -> None:
    drawn = read(TWICE[name](NARROW))
    lines: dict[str, list[tuple[float, float]]] = {}
    for text in drawn.iter("text"):
        if text.text:
            lines.setdefault(text.get("y", ""), []).append(extent(text))
    for row in lines.values():
        assert len(row) <= 2 and (len(row) < 2 or row[0][1] <= row[1][0])
    tops = sorted({float(bar.get("y", "")) for bar in drawn.iter("rect")})
    assert all(any(top - 8 < float(y) < top for y in lines) for top in tops)


def test_numbers_of_the_wide_waterfall_stand_in_the_narrow_one() -> None:
    wide, narrow = (" ".join(read(TWICE["waterfall"](frame)).itertext()) for frame in (WIDE, NARROW))
    for figure in re.findall(r"< 0\.1 %|[0-9.]+ %", wide.partition("slots, ")[2]):
        assert figure in narrow


def test_a_name_is_whole_or_ends_at_a_word() -> None:
    assert at_word("conv_20_56x56x64", 16) == "conv_20_56x56x64"
    assert at_word("conv_20_56x56x64", 9) == "conv_20\N{HORIZONTAL ELLIPSIS}"
    assert at_word("conv_20_56x56x64", 6) == "conv\N{HORIZONTAL ELLIPSIS}"
    assert at_word("conv_20_56x56x64", 3) == at_word("depthwise", 8) == at_word("abc", 0) == ""
    assert all(len(at_word("dram interface of l1", room)) <= room for room in range(30))
