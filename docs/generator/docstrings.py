"""Shows docstrings as what they are: plain sentences with ``code`` between backticks and indented examples.

Markdown would read brackets, stars, underscores and angles of a formula as links, emphasis and elements. So they are
escaped wherever they stand outside code, before mkdocstrings renders the text. A line that ends in a colon, with
indented lines behind it, gets the empty line that Markdown wants before a block of code.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

CODE = re.compile(r"(``.*?``|`[^`\n]*`)", re.DOTALL)
SPECIAL = re.compile(r"([\\\[\]*_<>#|~])")


def plain(text: str) -> str:
    """Markdown that shows a docstring letter by letter, its code and its indented blocks as code."""
    blocks = re.split(r"\n[ \t]*\n", text)
    return "\n\n".join(block if block.startswith("    ") else _sentences(block) for block in blocks)


def _sentences(block: str) -> str:
    lines = block.split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith("    ")), len(lines))
    words, code = "\n".join(lines[:first]), "\n".join(lines[first:])
    pieces = CODE.split(words)
    pieces[::2] = [SPECIAL.sub(r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces) + (f"\n\n{code}" if code else "")


class PlainDocstrings(Extension):
    """The extension of griffe that escapes each docstring when it has been read."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Called by griffe for every module, class, function and attribute that it has read."""
        if obj.docstring:
            obj.docstring.value = plain(obj.docstring.value)
