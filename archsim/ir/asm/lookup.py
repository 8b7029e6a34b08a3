"""The ``index`` clause of GATHER and SCATTER, and index streams wherever a text states them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from archsim.base.errors import ProgramError
from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.fragments import CommandScope, read_affine
from archsim.ir.asm.words import affine_text, indices_text
from archsim.ir.indices import DISTRIBUTIONS, Indices
from archsim.ir.program import Affine, Lookup

NUMBERS_A_PIECE = 16  # of a trace: pieces of a statement may stand on lines of their own


def read_lookup(cursor: WordCursor, scope: CommandScope, dims: Collection[str]) -> Lookup:
    """``uniform(seed=3) rows 5000 row_bytes 64 at r: 64*t``."""
    indices = read_indices(cursor)
    cursor.keyword(("rows",), "the number of rows of the table")
    rows = cursor.integer("a number of rows")
    cursor.keyword(("row_bytes",), "the bytes from one row to the next")
    row_bytes = cursor.integer("a number of bytes")
    cursor.keyword(("at",), "the extents that count lookups")
    index = read_affine(cursor, CommandScope(tuple(dims), (), {}, ()))
    if index.const:
        cursor.fail("a sum of extents without a number; it belongs behind the ':'")
    start = read_affine(cursor, scope) if cursor.accept(":") else Affine()
    return Lookup(indices, rows, row_bytes, index.terms, start)


def read_indices(cursor: WordCursor) -> Indices:
    """``uniform(seed=3)``, ``zipf(exponent=1.2, seed=3)``, ``trace(5, 0, 5)`` or ``trace("rows.txt")``."""
    kind: Any = cursor.keyword(DISTRIBUTIONS, "a distribution")
    if kind == "trace":
        return Indices("trace", trace=_trace(cursor))
    known = ("seed",) if kind == "uniform" else ("exponent", "seed")
    given = dict(cursor.many("(", ")", lambda: _parameter(cursor, known)))
    if "exponent" in known and "exponent" not in given:
        cursor.fail("an 'exponent' in the brackets of zipf")
    return Indices(kind, **given)


def _parameter(cursor: WordCursor, known: tuple[str, ...]) -> tuple[str, int | float]:
    name = cursor.keyword(known, "a parameter")
    cursor.expect("=")
    return name, cursor.integer("a seed") if name == "seed" else float(cursor.number("an exponent"))


def _trace(cursor: WordCursor) -> tuple[int, ...]:
    """Row numbers between commas, or the name of a file of them beside the listing."""
    cursor.expect("(")
    if cursor.word.kind == "name":
        found = _stored(cursor, Path(cursor.path).parent / cursor.word.text)
        cursor.name("a file of row numbers")
        cursor.expect(")")
        return found
    numbers = [cursor.integer("a row number, or a file of them")]
    while not cursor.accept(")"):
        cursor.expect(",")
        numbers.append(cursor.integer("a row number"))
    return tuple(numbers)


def _stored(cursor: WordCursor, path: Path) -> tuple[int, ...]:
    try:
        return numbers_in(path)
    except ValueError as error:
        raise ProgramError(f"{cursor.path}:{cursor.word.line}: {error}") from None


def numbers_in(path: Path) -> tuple[int, ...]:
    """The row numbers of a text file, between spaces, commas or line ends; ValueError names the file and the fault."""
    try:
        words = path.read_text(encoding="utf-8").replace(",", " ").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"trace file {path} cannot be read: {error}") from None
    for number, word in enumerate(words):
        if not word.isdecimal():
            raise ValueError(f"trace file {path}: entry {number} is {word!r}; allowed row numbers from 0")
    if not words:
        raise ValueError(f"trace file {path} is empty; allowed one row number or more")
    return tuple(map(int, words))


def lookup_pieces(lookup: Lookup) -> Iterator[str]:
    """The clause as it is printed, in pieces that may stand on lines of their own."""
    words = indices_text(lookup.indices).split(" ")
    for first in range(0, len(words), NUMBERS_A_PIECE):
        text = " ".join(words[first : first + NUMBERS_A_PIECE])
        yield f"index {text}" if first == 0 else text
    yield f"rows {lookup.rows} row_bytes {lookup.row_bytes}"
    start = affine_text(lookup.start)
    yield f"at {affine_text(Affine(0, lookup.terms))}" + (f": {start}" if start != "0" else "")
