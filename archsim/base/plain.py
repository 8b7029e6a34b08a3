"""Text from files is data: the one place that makes it harmless wherever it is shown.

Names of nodes, streams and files, descriptions and sources may hold anything. ``visible`` is for terminals and for all
other forms first: control characters (escape sequences, NUL), characters that turn the direction of text or take no
room, and line separators become escapes as JSON writes them, ``\\u001b``. So text in JSON stays the same JSON, and
names in a Program read back. The others make text plain in one form each: HTML and SVG, Markdown, a cell of a
spreadsheet, a label of a plot.
"""

from __future__ import annotations

import html as _html
import re
from typing import Any

# Categories Cc, Cf, Zl, Zp and Cs of Unicode 15.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
_MARKDOWN = re.compile(r"[\\`*|~$]|(?<=\])[(\[:]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_ENTITY = re.compile(r"&(?=#?\w{1,31};)")
_OPENS_BLOCK = re.compile(r"(#{1,6}|[+-])(\s|$)|>|(=+|-+)\s*$")
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four: full width
_NUMBER = re.compile(r"[-+]?[0-9][0-9_,]*(\.[0-9]*)?([eE][-+]?[0-9]+)?")


def visible(text: str, keep: str = "") -> str:
    """``text`` with every hidden character but those of ``keep`` as an escape."""
    if text.isprintable():
        return text
    return _HIDDEN.sub(lambda match: match[0] if match[0] in keep else _escaped(match[0]), text)


def html(text: str) -> str:
    """``text`` in HTML and SVG, in elements and in quoted attributes."""
    return _html.escape(visible(text, keep="\n\t"), quote=True)


def markdown(text: str) -> str:
    """``text`` on one line of Markdown: no link, no emphasis, no element, no cell of a table, no block of its own."""
    line = visible(text.replace("\n", " "))
    line = _ENTITY.sub("&amp;", _MARKDOWN.sub(r"\\\g<0>", line)).replace("<", "&lt;")
    return f"\\{line}" if _OPENS_BLOCK.match(line) else _no_list(line)


def code(text: str) -> str:
    """``text`` as code within a line of Markdown."""
    line = visible(text.replace("\n", " ")).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"


def cell(value: Any) -> Any:
    """A value in a table for other programs: text that a spreadsheet takes for a formula gets a ``'`` before it."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def label(text: str) -> str:
    """``text`` in a plot of matplotlib, where dollar signs would begin a formula."""
    return visible(text).replace("$", r"\$")


def _escaped(character: str) -> str:
    point = ord(character)
    if point < 0x10000:
        return f"\\u{point:04x}"
    point -= 0x10000
    return f"\\u{0xD800 + (point >> 10):04x}\\u{0xDC00 + (point & 0x3FF):04x}"


def _no_list(line: str) -> str:
    """A number with a point at the beginning is no list."""
    return re.sub(r"^([0-9]{1,9})([.)])(?=\s|$)", r"\1\\\2", line)
