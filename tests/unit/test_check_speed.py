"""The checker is linear in commands: some 20 microseconds each, far less than it takes to map them."""

from __future__ import annotations

import time

from archsim.ir.asm.parser import parse_program
from archsim.ir.check.program import check
from archsim.ir.unroll import unroll
from tests.unit.fixtures_check import chip

LIMIT_S_PER_COMMAND = 150e-6
TILES = 1000
TEXT = f"""
program long on golden
layer l
tensor x in dram at 0 bytes {64 * TILES} dtype int8 role inputs shape [{64 * TILES}] preloaded
tensor y in dram at {64 * TILES} bytes {64 * TILES} dtype int8 role outputs shape [{64 * TILES}]
ring i in l1 at 0 slots 2 bytes 64 dtype int8 role inputs writer load readers vector
ring o in l1 at 1024 slots 2 bytes 64 dtype int8 role outputs writer vector readers store
semaphore ready
queue load engine load unit dma:
    for t in {TILES}:
        MOVE l.load [j=64] src x{{j:1}}+64*t dst i{{j:1}} wait i.free signal i.full
    for u in {TILES}:
        MOVE l.again [j=64] src y{{j:1}}+64*u dst i{{j:1}} wait ready, i.free signal i.full
queue vector engine vector unit vpu:
    for t in {2 * TILES}:
        VECTOR l.work [j=64] function relu passes 1 dtypes int8 in0 i{{j:1}} out o{{j:1}}
            wait i.full, o.free signal i.free, o.full
queue store engine store unit dma:
    for t in {TILES}:
        MOVE l.store [j=64] src o{{j:1}} dst y{{j:1}}+64*t wait o.full signal o.free, ready
    for u in {TILES}:
        MOVE l.last [j=64] src o{{j:1}} dst y{{j:1}}+64*u wait o.full signal o.free
"""


def test_time_per_command() -> None:
    program = parse_program(TEXT)
    commands = sum(len(list(unroll(queue))) for queue in program.queues)
    start = time.process_time()
    check(program, chip())
    spent = time.process_time() - start
    assert spent < LIMIT_S_PER_COMMAND * commands
