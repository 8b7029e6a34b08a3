"""The few SVG elements that the charts are made of. Text is escaped here, and only here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from math import ceil, floor, log10
from typing import NamedTuple

from archsim.base.plain import html

WIDTH = 1120.0  # user units of every chart: one per CSS pixel in a page of 1280
PHONE = 362.0  # the same on a phone of 390

SvgAttribute = str | float | int


class DrawingFrame(NamedTuple):
    """The room that a drawing has, user units."""

    width: float = WIDTH
    is_narrow: bool = False

    def tip(self, words: str) -> str:
        """A tooltip, of drawings that a mouse can point at."""
        return "" if self.is_narrow else words

    def middle(self, x: float, words: str, letter: float = 6.2) -> float:
        """Where words around ``x`` stand whole in the frame."""
        half = len(words) * letter / 2
        return min(max(x, half), max(self.width - half, half))


WIDE, NARROW = DrawingFrame(), DrawingFrame(PHONE, True)


def both(draw: Callable[[DrawingFrame], str]) -> str:
    """A drawing for wide screens and paper, and one for phones; the style shows one of them."""
    return draw(WIDE) + draw(NARROW)


def tag(name: str, content: str = "", **attributes: SvgAttribute) -> str:
    """One element; ``content`` is markup. Underscores in attribute names become hyphens."""
    pairs = "".join([f' {_named(key)}="{_value(value)}"' for key, value in attributes.items()])
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def text(x: float, y: float, words: str, css: str = "", anchor: str = "start", **attributes: SvgAttribute) -> str:
    """A line of text with its baseline at ``y``."""
    return tag("text", html(words), x=x, y=y, class_=css or "t", text_anchor=anchor, **attributes)


def rect(x: float, y: float, width: float, height: float, fill: str, tip: str = "", **attributes: SvgAttribute) -> str:
    """A filled rectangle with an optional tooltip."""
    return tag("rect", title(tip), x=x, y=y, width=width, height=height, fill=fill, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, css: str = "grid") -> str:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css)


def title(tip: str) -> str:
    """A tooltip as child element, '' for none."""
    return f"<title>{html(tip)}</title>" if tip else ""


def picture(height: float, description: str, parts: list[str], frame: DrawingFrame | None = None) -> str:
    """The whole drawing, ``height`` high; ``description`` is read to those who cannot see it. Of a ``frame``: shown on
    screens of its kind alone, else on all."""
    width, kind = (WIDTH, "") if frame is None else (frame.width, " narrow" if frame.is_narrow else " wide")
    return tag(
        "svg",
        title(description) + "".join(parts),
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        role="img",
        class_=f"chart{kind}",
    )


def ticks(high: float, most: int = 6, low: float = 0.0) -> list[float]:
    """At most ``most`` + 1 round numbers in [``low``, ``high``]: steps of 1, 2 or 5 times a power of ten."""
    if high <= low:
        return [low]
    power = 10.0 ** floor(log10(high - low))
    step = next(
        (power * factor for factor in (0.1, 0.2, 0.5, 1, 2, 5) if (high - low) / (power * factor) <= most),
        power * 10,
    )
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def thinned(values: Sequence[float], room: float, letters: int) -> Sequence[float]:
    """As many of ``values``, evenly, as there is ``room`` for labels of so many letters."""
    most = max(1, int(room / (7.2 * letters + 6)))
    return values[:: max(1, ceil(len(values) / most))]


@cache
def _named(key: str) -> str:
    return key.strip("_").replace("_", "-")


def _value(value: SvgAttribute) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return _escaped(value) if isinstance(value, str) else str(value)


@lru_cache(maxsize=256)
def _escaped(value: str) -> str:
    """Of attributes, which are often the same: colours, classes."""
    return html(value)
