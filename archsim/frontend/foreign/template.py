"""Jinja in files of other tools: constants are put in, everything else is refused; nothing is executed.

``{% set NAME = VALUE %}`` and ``{% set NAME = NAME | default(VALUE) %}`` with a number or a quoted text, ``{{ NAME }}``
with such a NAME, ``{{ NAME | default(VALUE) }}`` and comments ``{# ... #}`` are constants. Lines keep their numbers.
"""

from __future__ import annotations

import re

from archsim.base.errors import NotBuiltError

_VALUE = r"""(-?[0-9][0-9_.eE+-]*|"[^"\n]*"|'[^'\n]*')"""
_NAME = r"([A-Za-z_]\w*)"
_DEFAULT = rf"{_NAME}\s*\|\s*default\(\s*{_VALUE}\s*\)"
_SET = re.compile(rf"\{{%-?\s*set\s+{_NAME}\s*=\s*(?:{_VALUE}|{_DEFAULT})\s*-?%\}}")
_USE = re.compile(rf"\{{\{{-?\s*(?:{_NAME}|{_DEFAULT})\s*-?\}}\}}")
_ANY = re.compile(r"\{%|\{\{[^{]|\{#")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


def rendered(text: str, file: str) -> str:
    """The text with its constants put in. Raises NotBuiltError with file:line:column for any other template."""
    if not _ANY.search(text):
        return text
    values: dict[str, str] = {}
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)

    def put(found: re.Match[str]) -> str:
        name, own, default = found[1], found[2], found[3]
        if name is not None:
            return values.get(name, found[0])
        return values.get(own, _plain(default))

    lines = []
    for line in text.split("\n"):
        for found in _SET.finditer(line):
            values[found[1]] = values.get(found[3] or "", _plain(found[2] or found[4]))
        lines.append(_USE.sub(put, _SET.sub("", line)))
    for number, line in enumerate(lines, start=1):
        left = _ANY.search(line)
        if left and not line.lstrip().startswith("#"):
            raise NotBuiltError(
                f"{file}:{number}:{left.start() + 1}: found Jinja that is no constant: '{line.strip()[:60]}'; render "
                "the template first (the tool's own parser can write what it made of it), then import that"
            )
    return "\n".join(line if not _ANY.search(line) else "" for line in lines)


def _plain(value: str) -> str:
    return value.strip("\"'")
