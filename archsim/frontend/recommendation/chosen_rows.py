"""Which rows of the tables a run looks up: drawn from a distribution by a seed, or those of a file.

``distribution=uniform``: every row of a table alike. ``distribution=zipf``: row r, from 0, in proportion to
1 / (r + 1) ** alpha, so that a table is sorted by popularity. Each table has a stream of its own. ``trace=FILE``: a
line for each sample, with the rows of all tables one after the other, as many of each as a sample looks up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from archsim.frontend.configs.asked import AskedParameters
from archsim.ir.indices import Indices

PARAMETERS = ("distribution", "alpha", "seed", "trace")
UNIFORM, ZIPF = "uniform", "zipf"
STEEPEST = 16.0  # alpha; 1 / (r + 1) ** 16 leaves nothing behind the first rows
MOST_SEED = 1 << 48
LONGEST_LINE = 1 << 24  # characters of a sample of a trace


class EmbeddingTable(NamedTuple):
    """``rows`` of a table, of which each sample looks up ``pooling``."""

    rows: int
    pooling: int


def chosen_rows(asked: AskedParameters, tables: Sequence[EmbeddingTable]) -> list[Indices]:
    """The rows that each of ``tables`` is looked up at, sample after sample. Raises ConfigError for parameters without
    a meaning, and for a file that has too few samples or names rows that there are not."""
    if asked.has("trace"):
        for key in PARAMETERS[:-1]:
            if asked.has(key):
                asked.fail(key, "has no meaning beside trace, which states every row")
        return [Indices("trace", trace=rows) for rows in _traced(asked, tables)]
    kind = asked.word("distribution", UNIFORM, (UNIFORM, ZIPF))
    seed = asked.size("seed", 0, low=0, high=MOST_SEED) * len(tables)
    if kind == ZIPF:
        alpha = asked.real("alpha", 0.0, STEEPEST)
        return [Indices("zipf", seed + number, alpha) for number in range(len(tables))]
    if asked.has("alpha"):
        asked.fail("alpha", f"has no meaning with distribution {UNIFORM}; allowed with {ZIPF}")
    return [Indices("uniform", seed + number) for number in range(len(tables))]


def _traced(asked: AskedParameters, tables: Sequence[EmbeddingTable]) -> list[tuple[int, ...]]:
    samples, path = asked.batch, Path(asked.text("trace"))
    try:
        with path.open(encoding="utf-8") as file:
            lines = list(islice(iter(lambda: file.readline(LONGEST_LINE), ""), samples))
    except (OSError, ValueError) as error:
        asked.fail("trace", f"{path} cannot be read: {error}")
    if len(lines) < samples:
        asked.fail("trace", f"{path} has {len(lines)} samples; batch is {samples}; allowed a line for each sample")
    found: list[list[int]] = [[] for _ in tables]
    for number, line in enumerate(lines, start=1):
        _add_sample(asked, f"{path}:{number}", line, tables, found)
    return [tuple(rows) for rows in found]


def _add_sample(
    asked: AskedParameters, place: str, line: str, tables: Sequence[EmbeddingTable], found: list[list[int]]
) -> None:
    words = line.replace(",", " ").split()
    needed = sum(table.pooling for table in tables)
    if len(words) != needed:
        asked.fail("trace", f"{place}: {len(words)} rows; a sample looks {needed} up, those of all tables in turn")
    first = 0
    for number, table in enumerate(tables):
        for word in words[first : first + table.pooling]:
            if not (word.isascii() and word.isdecimal()) or len(word) > len(str(table.rows)) or int(word) >= table.rows:
                asked.fail("trace", f"{place}: row '{word[:20]}' of table {number}; allowed 0 to {table.rows - 1}")
            found[number].append(int(word))
        first += table.pooling
