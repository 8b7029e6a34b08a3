"""A GEMM of four cores as a Program text: rows to each, weights multicast tile by tile, sums reduced to one of them."""

from __future__ import annotations

from archsim.ir.asm.parser import parse_program
from archsim.ir.program import Program

CORES = 4
_HEAD = """
program shared_gemm on grid
layer gemm, total
tensor a in dram at 0 bytes 128 dtype int8 role inputs shape [16, 8] preloaded
tensor w in dram at 4096 bytes 128 dtype int8 role weights shape [16, 8] preloaded
tensor y in dram at 8192 bytes 1024 dtype int32 role partials shape [16, 16]
tensor total in dram at 16384 bytes 256 dtype int32 role partials shape [4, 16]
tensor sum in l1[0] at 4096 bytes 256 dtype int32 role partials shape [4, 16]
semaphore cleared
semaphore summed
"""
_RINGS = """
ring w{i} in l1[{i}] at 0 slots 2 bytes 64 dtype int8 role weights writer core[0].load readers core[{i}].array
ring a{i} in l1[{i}] at 128 slots 1 bytes 32 dtype int8 role inputs writer core[{i}].load1 readers core[{i}].array
ring s{i} in l1[{i}] at 256 slots 2 bytes 128 dtype int32 role partials writer core[{i}].array readers core[{i}].store
semaphore turn{i}
"""
_MULTICAST = """
queue core[0].load engine load unit dma:
    MOVE clear [m=4, n=16] layer total dst sum{m:64, n:4} signal cleared
    for t in 2:
        MOVE share [n=8, k=8] layer gemm role weights wait w0.free, w1.free, w2.free, w3.free
            src w{n:8, k:1}+64*t dst w0{n:8, k:1} dst w1{n:8, k:1} dst w2{n:8, k:1} dst w3{n:8, k:1}
            signal w0.full, w1.full, w2.full, w3.full
"""
_CORE = """
queue core[{i}].load1 engine load unit dma:
    MOVE mine{i} [m=4, k=8] layer gemm role inputs
        wait a{i}.free src a{{m:8, k:1}}+{a} dst a{i}{{m:8, k:1}} signal a{i}.full
queue core[{i}].array engine array unit mxu:
    for i{i} in 2:
        MATMUL mm{i} [m=4, n=8, k=8] layer gemm role partials dtypes int8, int8 nest m(m) n(n) k(k)
            wait a{i}.full if first(i{i}), w{i}.full, s{i}.free
            a a{i}{{m:8, k:1}} b w{i}{{n:8, k:1}} acc s{i}{{m:32, n:4}}
            signal w{i}.free, s{i}.full, a{i}.free if last(i{i})
queue core[{i}].store engine store unit dma:
    for o{i} in 2:
        MOVE add{i} [m=4, n=8] layer total role partials combine add
            wait s{i}.full, {turn} if first(o{i}) src s{i}{{m:32, n:4}} dst sum{{m:64, n:4}}+32*o{i}
        MOVE out{i} [m=4, n=8] layer gemm role partials
            src s{i}{{m:32, n:4}} dst y{{m:64, n:4}}+{y}+32*o{i} signal s{i}.free, {done} if last(o{i})

"""
_END = """
queue core[0].store1 engine store unit dma:
    MOVE write [m=4, n=16] layer total role partials wait summed src sum{m:64, n:4} dst total{m:64, n:4}
"""


def shared_gemm() -> Program:
    """y = a w^T in slices of four rows, total = the sum of the slices."""
    text = _HEAD + "".join(_RINGS.format(i=core) for core in range(CORES)) + _MULTICAST
    for core in range(CORES):
        turn = "cleared" if core == 0 else f"turn{core}"
        done = "summed" if core == CORES - 1 else f"turn{core + 1}"
        text += _CORE.format(i=core, a=32 * core, y=256 * core, turn=turn, done=done)
    return parse_program(text + _END, "shared_gemm.asm")
