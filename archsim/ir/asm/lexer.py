"""Text to logical lines of words. A line indented deeper than a statement that opens no block continues it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal

from archsim.base.errors import ProgramError
from archsim.ir.asm.words import NAME

_WORD = re.compile(
    rf"""\s*(?:
        (?P<comment>\#.*)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<real>[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)(?![0-9A-Za-z_.]))
      | (?P<integer>(?:0[xX][0-9a-fA-F_]+|[0-9][0-9_]*)(?![0-9A-Za-z_.]))
      | (?P<name>{NAME.pattern})
      | (?P<mark>[<>]=|[{{}}()\[\],:+*|&!=^<>-])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class AsmWord:
    """``kind`` name (quoted or not), integer, real, mark or end; ``text`` without quotes; ``line`` counts from 1."""

    kind: Literal["name", "integer", "real", "mark", "end"]
    text: str
    line: int
    quoted: bool = False

    @property
    def shown(self) -> str:
        """The word as an error message shows it."""
        return "the end of the line" if self.kind == "end" else f"'{self.text}'"


@dataclass(frozen=True, slots=True)
class AsmLine:
    """One statement: its indentation in columns and its words, the last of them of kind 'end'."""

    indent: int
    words: tuple[AsmWord, ...]
    opens_block: bool


def read_lines(text: str, path: str) -> list[AsmLine]:
    """The statements of a listing; raises ProgramError with file:line for tabs and characters of no meaning."""
    lines: list[AsmLine] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        body = raw.rstrip()
        indent = len(body) - len(body.lstrip(" "))
        if body[indent : indent + 1] == "\t":
            raise ProgramError(f"{path}:{number}: a tab as indentation; expected spaces")
        words = _words(body[indent:], number, path)
        if len(words) == 1:
            continue
        opens = words[0].text in ("queue", "for") and not words[0].quoted
        if lines and not lines[-1].opens_block and indent > lines[-1].indent:
            last = lines.pop()
            lines.append(AsmLine(last.indent, (*last.words[:-1], *words), last.opens_block))
        else:
            lines.append(AsmLine(indent, tuple(words), opens))
    return lines


def phrase(text: str, line: int, path: str) -> AsmLine:
    """The words of a short text that stands at ``line`` of another file; raises ProgramError with file:line."""
    return AsmLine(0, tuple(_words(text.strip(), line, path)), opens_block=False)


def _words(body: str, number: int, path: str) -> list[AsmWord]:
    words: list[AsmWord] = []
    at = 0
    while True:
        match = _WORD.match(body, at)
        if match is None:
            rest = body[at:].lstrip()
            raise ProgramError(f"{path}:{number}: expected a name, a number or punctuation, found {rest[:20]!r}")
        kind = str(match.lastgroup)
        if kind in ("comment", "end"):
            return [*words, AsmWord("end", "", number)]
        words.append(_word(kind, match.group(kind), number, path))
        at = match.end()


def _word(kind: str, text: str, number: int, path: str) -> AsmWord:
    if kind == "string":
        try:
            return AsmWord("name", str(json.loads(text)), number, quoted=True)
        except json.JSONDecodeError:
            raise ProgramError(f"{path}:{number}: expected a quoted name with JSON escapes, found {text}") from None
    if kind == "integer":
        return AsmWord("integer", text, number)
    if kind == "real":
        return AsmWord("real", text, number)
    return AsmWord("name", text, number) if kind == "name" else AsmWord("mark", text, number)
