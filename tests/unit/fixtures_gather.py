"""Programs that look rows up, as text, on the golden chip and variants of it."""

from __future__ import annotations

from archsim.ir.asm.parser import parse_program
from archsim.ir.program import Program
from archsim.spec.architecture import Architecture
from archsim.spec.load import loads
from tests.unit.fixtures_check import GOLDEN

CACHE = "  - cache: {name: rows, size: 1 KiB, line: 32 B, ways: 2, word: 8 B, keeps: [tables], latency: 5 cycles}\n"

TEXT = """
program lookups on golden
layer l
tensor t in dram at 0 bytes 3200 dtype int8 role tables shape [100, 32] {table}
tensor y in dram at 4096 bytes 1280 dtype int8 role {out}
ring e in l1 at 0 slots 2 bytes 256 dtype int8 role inputs writer load readers store
queue load engine load unit dma:
    for t in 5:
        GATHER l.gather [r=8 | 40-8*t, c=32] role tables wait e.free
            index {index} rows 100 row_bytes 32 at r: 8*t
            src t{{c:1}} dst e{{r:32, c:1}} signal e.full
queue store engine store unit dma:
    for t in 5:
        {store}
"""
MOVE = """MOVE l.store [r=8 | 40-8*t, c=32] wait e.full
            src e{r:32, c:1} dst y{r:32, c:1}+256*t signal e.free"""
SCATTER = """SCATTER l.scatter [r=8 | 40-8*t, c=32] wait e.full
            index SECOND rows 40 row_bytes 32 at r: 8*t
            src e{r:32, c:1} dst y{c:1} signal e.free"""


def gather(index: str = "uniform(seed=1)") -> Program:
    """40 rows of 32 bytes from a table of 100, in 5 tiles, to ``y``."""
    text = TEXT.format(index=index, store=MOVE, table="preloaded", out="outputs shape [40, 32]")
    return parse_program(text, "lookups.asm")


def scatter(second: str, combine: str = "", preloaded: str = "preloaded") -> Program:
    """40 rows gathered, then written to the rows of ``y`` that ``second`` says."""
    store = SCATTER.replace("SECOND", second).replace("wait e.full", f"{combine} wait e.full")
    out = f"tables shape [40, 32] {preloaded}"
    return parse_program(TEXT.format(index="uniform(seed=1)", store=store, table="preloaded", out=out), "lookups.asm")


def chip(cache: str = "", dma: str = "{name: dma}", **values: object) -> Architecture:
    """The golden chip with a cache behind its DRAM and other DMA engines; ``values`` by key path, ``__`` for points."""
    text = (GOLDEN / "chip.yaml").read_text(encoding="utf-8")
    text = text.replace("  - dma: {name: dma}\n", f"{cache}  - dma: {dma}\n")
    return loads(text, {key.replace("__", "."): value for key, value in values.items()})
