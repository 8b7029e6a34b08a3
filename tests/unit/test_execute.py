"""The executor of Programs: moves, halos, products, reductions, formats, orders, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.program import Program
from mapper.execute.memory import quantised
from mapper.execute.run import Executor

HEAD = """program p on golden
layer l
tensor x in dram at 0 bytes {bytes} dtype {dtype} role inputs shape [{n}] preloaded {more}
tensor y in dram at 4096 bytes {bytes} dtype {dtype} role outputs shape [{n}] {out}
"""


def program(body: str, n: int = 12, dtype: str = "int8", more: str = "", out: str = "", rings: str = "") -> Program:
    size = n * {"int8": 1, "int32": 4}[dtype]
    return parse_program(HEAD.format(bytes=size, n=n, dtype=dtype, more=more, out=out) + rings + body)


def run(text: Program, values: object, seed: int = 0, numbers: str = "exact") -> np.ndarray:
    executor = Executor(text, numbers=numbers, seed=seed)  # type: ignore[arg-type]
    executor.fill("x", np.asarray(values, np.float64))
    executor.run()
    return executor.values("y")


COPY = """
queue load engine load unit dma:
    MOVE l.in [i=12] src x{i:1} dst y{i:1}
"""


@pytest.mark.parametrize("numbers", ["exact", "float32", "float64"])
def test_a_move(numbers: str) -> None:
    assert run(program(COPY), range(12), numbers=numbers).tolist() == list(range(12))


def test_clips_and_fill() -> None:
    body = """
queue load engine load unit dma:
    MOVE l.in [i=12] fill 7 src x{i:1}-2 clip(i: -2 of 8) dst y{i:1}
"""
    assert run(program(body), range(12)).tolist() == [7, 7, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7]


def test_padding_is_the_zero_of_the_destination() -> None:
    body = """
queue load engine load unit dma:
    MOVE l.in [i=12] src x{i:1}-2 clip(i: -2 of 8) dst y{i:1}
"""
    zero = "scale 2^-3 zero 5"
    found = run(program(body, more=zero, out=zero), np.arange(12) / 8)
    assert found.tolist() == [0, 0, 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0, 0]


def test_combine() -> None:
    body = """
queue load engine load unit dma:
    MOVE l.in [i=12] src x{i:1} dst y{i:1}
    MOVE l.again [i=12] combine add src x{i:1} dst y{i:1}
    MOVE l.most [i=11] combine max src x{i:1}+1 dst y{i:1}
"""
    assert run(program(body), [5, 0, 9, *range(9)]).tolist() == [10, 9, 18, 1, 2, 4, 6, 8, 10, 12, 14, 16]


HALO = """
semaphore turn initial 1
queue load engine load unit dma:
    MOVE l.top [i=4] wait h.free src x{i:1} dst h{i:1} signal h.full
    for t in 4:
        MOVE l.next [i=2] retains wait h.free src x{i:1}+2*t+4 dst h{i:1}+2 signal h.full
queue store engine store unit dma:
    for t in 5:
        MOVE l.out [i=4] wait h.full src h{i:1} dst y{i:1}+2*t signal h.free
"""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("slots", [2, 3])
def test_halos_wrap_around_the_ring(seed: int, slots: int) -> None:
    ring = f"ring h in l1 at 8 slots {slots} bytes 4 dtype int8 role inputs retain 2 writer load readers store\n"
    assert run(program(HALO, rings=ring), range(12), seed).tolist() == list(range(12))


MATMUL = """program p on golden
layer l
tensor x in dram at 0 bytes 6 dtype int8 role inputs shape [2, 3] preloaded scale 2^-2
tensor w in dram at 64 bytes 12 dtype int8 role weights shape [4, 3] preloaded scale 2^-3
tensor c in dram at 128 bytes 16 dtype int32 role weights shape [4] preloaded scale 2^-5
tensor s in acc at 0 bytes 32 dtype int32 role partials shape [2, 4] scale 2^-5
tensor y in dram at 192 bytes 8 dtype int8 role outputs shape [2, 4] scale 2^-1
semaphore summed
queue array engine array unit mxu:
    for k in 3:
        MATMUL l.mm [m=2, n=4, k=1] nest m(m) n(n) k(k) fresh first(k) dtypes int8, int8
            a x{m:3}+k b w{n:3}+k bias c{n:4} acc s{m:16, n:4} signal summed if last(k)
queue vector engine vector unit vpu:
    VECTOR l.drain [m=2, n=4] wait summed function requantise+clip(low=-2, high=2.5) passes 1 dtypes int8
        in0 s{m:16, n:4} out y{m:4, n:1}
"""


def test_product_in_parts_with_bias_and_formats() -> None:
    """Sums of parts in exact integers; the drain rounds half to even and clamps."""
    x = np.array([[1.0, -0.5, 2.25], [0.25, 3.0, -1.75]])
    w = np.array([[0.5, 1.0, -0.125], [0.25, -1.0, 1.0], [2.0, 0.375, 0.5], [-0.625, 0.0, 1.5]])
    c = np.array([0.03125, -1.0, 0.5, 0.25])
    executor = Executor(parse_program(MATMUL))
    for name, values in (("x", x), ("w", w), ("c", c)):
        executor.fill(name, values)
    executor.run()
    exact = np.clip(x @ w.T + c, -2, 2.5)
    assert executor.values("y").tolist() == (np.rint(exact * 2) / 2).tolist()
    assert np.array_equal(executor.values("s"), x @ w.T + c)


def test_rounding_and_clamping() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300.0, -300.0])
    assert quantised(values, "int8", 1.0, 0).tolist() == [0, 2, 2, 0, -2, 127, -128]
    assert quantised(np.array([1.0, -1.0]), "uint8", 0.5, 128).tolist() == [130, 126]


def test_reading_what_nobody_wrote() -> None:
    text = parse_program(HEAD.format(bytes=12, n=12, dtype="int8", more="", out="") + COPY)
    with pytest.raises(ProgramError, match=r"l\.in of load: operand 'src' reads bytes of 'x' that nothing has written"):
        Executor(text).run()
    partial = program(COPY.replace("i=12", "i=11"))
    with pytest.raises(ProgramError, match="'y'"):
        run(partial, range(12))


def test_leaving_a_tensor_and_waiting_for_ever() -> None:
    outside = program(COPY.replace("x{i:1}", "x{i:1}+1"))
    with pytest.raises(ProgramError, match=r"touches bytes \[1, 13\) of 'x', which has \[0, 12\)"):
        run(outside, range(12))
    waits = program("semaphore never\n" + COPY.replace("src x", "wait never src x"))
    with pytest.raises(ProgramError, match="nothing can start any more; waiting: l.in of load"):
        run(waits, range(12))


RACE = """
queue load engine load unit dma:
    MOVE l.in [i=12] src x{i:1} dst y{i:1}
queue store engine store unit dma:
    MOVE l.zero [i=6] dst y{i:1}
"""


def test_a_race_shows_under_some_seed() -> None:
    results = {tuple(run(program(RACE), range(1, 13), seed).tolist()) for seed in range(20)}
    assert len(results) == 2


def test_a_seed_is_one_order() -> None:
    for seed in range(3):
        first, second = (run(program(RACE), range(12), seed).tolist() for _ in range(2))
        assert first == second


def test_accumulators_wrap_around() -> None:
    body = """
queue array engine array unit mxu:
    MATMUL l.mm [m=12, k=2] nest m(m) k(k) dtypes int8, int8 a x{m:1, k:0} b x{k:0} acc y{m:4}
"""
    text = program(body, dtype="int8")
    wide = replace(text.tensors[1], dtype="int32", size_bytes=48, strides=(4,))
    text = replace(text, tensors=(text.tensors[0], wide))
    assert run(text, np.full(12, -128.0)).tolist() == [32768.0] * 12


FAR_AHEAD = """
queue load engine load unit dma:
    for n in {ahead}:
        MOVE l.in [i=12] src x{{i:1}} dst z{{i:1}}
    MOVE l.late [i=12] src x{{i:1}} dst y{{i:1}}
queue store engine store unit dma:
    MOVE l.zero [i=6] dst y{{i:1}}
    for n in {ahead}:
        MOVE l.out [i=6] dst z{{i:1}}
"""


@pytest.mark.parametrize("ahead", [10, 1000])
def test_a_race_of_queues_far_apart_shows(ahead: int) -> None:
    """Whichever of two queues has to run ``ahead`` commands before the other one starts."""
    spare = "tensor z in dram at 8192 bytes 12 dtype int8 role outputs shape [12]\n"
    text = program(FAR_AHEAD.format(ahead=ahead), rings=spare)
    results = [tuple(run(text, range(1, 13), seed).tolist()) for seed in range(20)]
    assert 2 <= results.count(tuple(range(1, 13))) <= 18
