"""GATHER and SCATTER in the Program: text form, checker, numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.indices import Indices
from archsim.ir.program import Lookup, Program
from archsim.ir.streams import entries
from mapper.execute.run import Executor
from tests.unit.fixtures_gather import chip, gather, scatter

ORDER = "trace(" + ", ".join(str(row % 40) for row in range(0, 280, 7)) + ")"  # a permutation of 0 .. 39
EQUAL = f"trace({', '.join(['5'] * 40)})"


def streamed(indices: Indices, rows: int, count: int = 40) -> list[int]:
    return entries(indices, rows, np.arange(count)).tolist()


def test_the_clause_says_stream_table_and_entries() -> None:
    (queue, _) = gather("zipf(exponent=1.25, seed=9)").queues
    (command,) = queue.body[0].body  # type: ignore[union-attr]
    assert command.index == Lookup(Indices("zipf", 9, 1.25), 100, 32, (("r", 1),), command.index.start)  # type: ignore[union-attr]
    assert command.index.start.terms == (("t", 8),)  # type: ignore[union-attr]


def test_a_trace_may_stand_in_a_file_beside_the_listing(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("3, 1 4\n1 5\n" + "9 " * 35)
    text = print_program(gather(ORDER)).replace(ORDER, 'trace("rows.txt")')
    assert "rows.txt" not in text  # it is printed in pieces
    start, end = text.index("trace("), text.index("rows 100")
    text = f'{text[:start]}trace("rows.txt") {text[end:]}'
    found = parse_program(text, str(tmp_path / "lookups.asm"))
    (command,) = found.queues[0].body[0].body  # type: ignore[union-attr]
    assert command.index.indices.trace[:6] == (3, 1, 4, 1, 5, 9)  # type: ignore[union-attr]
    assert parse_program(print_program(found)) == found


@pytest.mark.parametrize(
    ("contents", "message"),
    [("", "is empty"), ("1 x", "entry 1 is 'x'"), ("1 -2", "entry 1 is '-2'"), (None, "cannot be read")],
)
def test_a_bad_file_of_rows_is_named(tmp_path: Path, contents: str | None, message: str) -> None:
    if contents is not None:
        (tmp_path / "rows.txt").write_text(contents)
    text = print_program(gather()).replace("uniform(seed=1)", 'trace("rows.txt")')
    with pytest.raises(ProgramError, match=message) as error:
        parse_program(text, str(tmp_path / "lookups.asm"))
    assert f"{tmp_path}/lookups.asm:" in str(error.value) and "rows.txt" in str(error.value)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("unifrm(seed=1)", "did you mean 'uniform'"),
        ("zipf(seed=1)", "expected an 'exponent'"),
        ("uniform(exponent=1, seed=1)", "expected 'seed' and a parameter"),
        ("trace()", "expected a row number"),
    ],
)
def test_mistakes_in_the_text(index: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        gather(index)


def test_streams_are_those_of_the_stated_generator() -> None:
    """SplitMix64 of seed 1 mixed once: the first entries, by whole numbers."""

    def mix(word: int) -> int:
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        return word ^ word >> 31

    words = [mix((mix(1) + (n + 1) * 0x9E3779B97F4A7C15) % 2**64) for n in range(40)]
    assert streamed(Indices("uniform", 1), 100) == [word * 100 >> 64 for word in words]
    weights = [max(1, int((r + 1) ** -1.5 * float(2**62 // 10))) for r in range(10)]
    ends = np.cumsum(weights).tolist()
    expected = [next(r for r, end in enumerate(ends) if word * ends[-1] >> 64 < end) for word in words]
    assert streamed(Indices("zipf", 1, 1.5), 10) == expected


def test_golden_lookups_are_accepted() -> None:
    for program in (gather(), gather(ORDER), scatter(ORDER), scatter("uniform(seed=2)", "combine add")):
        check(program, chip())
        assert parse_program(print_program(program)) == program


def broken(old: str, new: str) -> Callable[[], Program]:
    return lambda: parse_program(print_program(gather()).replace(old, new))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (broken("rows 100 ", "rows 101 "), r"touches bytes \[0, 3232\) of tensor 't'"),
        (broken("rows 100 ", "rows 0 "), "a table of 0 rows"),
        (broken("row_bytes 32 ", "row_bytes 0 "), "rows of 0 bytes"),
        (broken("at r: 8*t", "at r: 8*t-1"), "takes entries -1 to 6"),
        (broken("at r", "at c"), "counts lookups and moves the table too"),
        (broken("at r", "at 2*r+r"), "each name once"),
        (broken("dst e{r:32, c:1}", "dst e{c:1}"), "does not move the other side"),
        (broken("src t{c:1}", "src t{c:1} clip(c: 0 of 32)"), "is clipped"),
        (broken("src t{c:1}", "src e{c:1}"), "its table is no tensor, 'e'"),
        (broken("uniform(seed=1)", "uniform(seed=-1)"), "seed -1"),
        (broken("uniform(seed=1)", "zipf(exponent=-1, seed=1)"), "zipf exponent -1.0"),
        (broken("uniform(seed=1)", "trace(100)"), "its trace names row 100; the table has rows 0 to 99"),
        (broken("uniform(seed=1)", "trace(1, 2)"), r"l.gather\[t=0\] of load takes entries 0 to 7.*it has 0 to 1"),
        (broken("GATHER", "SCATTER"), "load engines run MOVE, GATHER"),
        (broken("GATHER", "MOVE"), "states 'index', which belongs to GATHER and SCATTER"),
        (broken("index uniform(seed=1) rows 100 row_bytes 32 at r: 8*t", ""), "is a GATHER without index"),
    ],
)
def test_the_checker_refuses(program: Callable[[], Program], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        check(program(), chip())


def test_a_gather_reads_any_row_and_a_scatter_writes_any() -> None:
    """A move that writes one row of the table beside the gather, or reads one beside the scatter, is a race."""
    store = "queue store engine store unit dma:"
    before, behind = print_program(gather()).split(store)
    more = "\n    MOVE l.more [c=32] src e{c:1} dst t{c:1}+96 wait e.full signal e.free"
    with pytest.raises(ProgramError, match="race: l.more .* writes and l.gather.* reads bytes"):
        check(parse_program(before + store + more + behind.replace("in 5", "in 4")), chip())
    before, behind = print_program(scatter(ORDER)).split(store)
    more = "    MOVE l.more [c=32] src y{c:1}+96 dst e{c:1} wait e.free signal e.full\n\n"
    with pytest.raises(ProgramError, match="race: l.scatter.* writes and l.more .* reads bytes"):
        check(parse_program(before.replace("in 5", "in 4") + more + store + behind), chip())


def test_what_a_scatter_writes_counts_for_nobody() -> None:
    """Whether it wrote a certain row is not known: who adds onto rows needs them to be there."""
    check(scatter(ORDER, preloaded=""), chip())
    with pytest.raises(ProgramError, match="read of unwritten bytes: l.scatter"):
        check(scatter(ORDER, "combine add", preloaded=""), chip())


def executed(program: Program, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(table, y before, y after)."""
    executor = Executor(program, seed=seed)
    random = np.random.default_rng(0)
    table, before = random.integers(-60, 60, (100, 32)), random.integers(-60, 60, (40, 32))
    executor.fill("t", table)
    executor.fill("y", before)
    executor.run()
    return table, before, executor.values("y")


@pytest.mark.parametrize("indices", [Indices("uniform", 1), Indices("zipf", 4, 0.75)])
def test_gathered_numbers(indices: Indices) -> None:
    exponent = f"exponent={indices.exponent}, " if indices.kind == "zipf" else ""
    table, _, found = executed(gather(f"{indices.kind}({exponent}seed={indices.seed})"))
    assert np.array_equal(found, table[streamed(indices, 100)])


@pytest.mark.parametrize("seed", range(4))
def test_scattered_numbers(seed: int) -> None:
    rows = streamed(Indices("uniform", 1), 100)
    table, before, found = executed(scatter(ORDER), seed)
    expected = before.copy()
    expected[[row % 40 for row in range(0, 280, 7)]] = table[rows]
    assert np.array_equal(found, expected)
    _, _, last = executed(scatter(EQUAL), seed)
    assert np.array_equal(last[5], table[rows[-1]]) and np.array_equal(last[6], before[6])
    _, _, added = executed(scatter(EQUAL, "combine add"), seed)
    assert np.array_equal(added[5], (before[5] + table[rows].sum(axis=0)).astype(np.int8))
    _, _, most = executed(scatter(EQUAL, "combine max"), seed)
    assert np.array_equal(most[5], np.maximum(before[5], table[rows].max(axis=0)))
