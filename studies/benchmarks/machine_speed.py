"""Speed of the token machine: commands per second for a tiled matrix product of 20,000 commands.

Usage: python studies/benchmarks/machine_speed.py [COMMANDS]

Each output tile: K tiles of A and B are loaded and multiplied, the sums drained by the vector unit and stored. The
memory is a constant-rate one, so that what is measured is the machine itself (queues, tokens, ports, counts); a
second line has the DRAM model of LPDDR5 behind it. Times are user CPU seconds, the median of three runs.
"""

from __future__ import annotations

import resource
import statistics
import sys
from fractions import Fraction
from typing import Any

from archsim.ir.functions import Function
from archsim.ir.program import (
    Affine,
    Command,
    CommandLoop,
    Extent,
    LoopEdge,
    MatmulNest,
    PlacedTensor,
    Program,
    Queue,
    Region,
    Ring,
    Token,
)
from archsim.spec.architecture import ROLES, Architecture, Array, Dma, Vector
from archsim.spec.memories import Memory
from archsim.system import simulate

CLOCK_HZ = 10**9
M, N, K = 64, 64, 64  # of a tile
REDUCTION_TILES = 8
COMMANDS_PER_OUTPUT = 3 * REDUCTION_TILES + 2
LOAD, STORE, ARRAY, VECTOR = "core[0].load", "core[0].store", "core[0].array", "core[0].vector"


def _part(name: str, kind: str) -> dict[str, Any]:
    empty = {"energy_pj": {}, "area_mm2": None, "leakage_w": None}
    return {"name": name, "kind": kind, "clock_hz": CLOCK_HZ, "sync_stages": 0, "scope": "chip", "copies": 1, **empty}


def chip(standard: str) -> Architecture:
    """One 32x32 core with a scratchpad, an accumulator memory and one DRAM."""
    common = {"capacity_bytes": 2**33, "slots": {}, "filled_by": "dma"}
    lpddr5 = {"speed_mts": 6400, "width_bits": 16, "channels": 4}
    constant = {"bytes_per_cycle": Fraction(51)}
    return Architecture(
        name="bench",
        clock_hz=CLOCK_HZ,
        technology="",
        voltage_v=1.0,
        memories=(
            Memory(
                **_part("dram", "dram"),
                **common,
                keeps=ROLES,
                standard=standard,
                **(constant if standard == "constant" else lpddr5),
            ),
            Memory(**_part("l1", "sram"), **common, keeps=ROLES, banks=16, word_bytes=16),
            Memory(**_part("acc", "sram"), **common, keeps=("partials",), banks=32, word_bytes=4),
        ),
        arrays=(
            Array(
                **_part("mxu", "array"),
                rows=32,
                cols=32,
                dataflow="weight_stationary",
                fanouts=(),
                registers=(),
                rates={("int8", "int8"): Fraction(1)},
                weight_double_buffer=True,
            ),
        ),
        vectors=(Vector(**_part("vpu", "vector"), lanes={"int8": 64}, function_cycles={}),),
        dma=Dma(**_part("dma", "dma")),
        host=None,
        dtypes={},
        not_modelled=(),
        source="",
    )


def program(outputs: int) -> Program:
    """``outputs`` output tiles of ``REDUCTION_TILES`` reduction tiles each."""
    row_bytes = REDUCTION_TILES * K

    def load(name: str, rows: int, store: str) -> Command:
        return Command(
            f"load_{name}",
            "MOVE",
            "gemm",
            waits=(Token(f"{name}.free"),),
            signals=(Token(f"{name}.full"),),
            extents=(Extent("r", rows), Extent("k", K)),
            reads=(Region("src", store, 1, (("r", row_bytes), ("k", 1)), Affine(0, (("lo", 0), ("lk", K)))),),
            writes=(Region("dst", name, 1, (("r", K), ("k", 1))),),
        )

    multiply = Command(
        "multiply",
        "MATMUL",
        "gemm",
        waits=(Token("a.full"), Token("b.full"), Token("sums.free", when=(LoopEdge("first", "ak"),))),
        signals=(Token("a.free"), Token("b.free"), Token("sums.full", when=(LoopEdge("last", "ak"),))),
        extents=(Extent("m", M), Extent("n", N), Extent("k", K)),
        reads=(Region("a", "a", 1, (("m", K), ("k", 1))), Region("b", "b", 1, (("n", K), ("k", 1)))),
        writes=(Region("acc", "sums", 4, (("m", 4 * N), ("n", 4))),),
        nest=MatmulNest(("m",), ("n",), ("k",)),
        fresh=(LoopEdge("first", "ak"),),
        dtypes=("int8", "int8"),
    )
    drain = Command(
        "drain",
        "VECTOR",
        "gemm",
        waits=(Token("sums.full"), Token("out.free")),
        signals=(Token("sums.free"), Token("out.full")),
        extents=(Extent("m", M), Extent("n", N)),
        reads=(Region("in0", "sums", 4, (("m", 4 * N), ("n", 4))),),
        writes=(Region("out", "out", 1, (("m", N), ("n", 1))),),
        functions=(Function("requantise"),),
        passes=1,
        dtypes=("int8",),
    )
    store = Command(
        "store",
        "MOVE",
        "gemm",
        waits=(Token("out.full"),),
        signals=(Token("out.free"),),
        extents=(Extent("m", M), Extent("n", N)),
        reads=(Region("src", "out", 1, (("m", N), ("n", 1))),),
        writes=(Region("dst", "y", 1, (("m", N), ("n", 1)), Affine(0, (("so", M * N),))),),
    )

    def nest(outer: str, inner: str, *body: Command) -> tuple[CommandLoop, ...]:
        return (CommandLoop(outer, outputs, (CommandLoop(inner, REDUCTION_TILES, body),)),)

    size = outputs * M * N
    return Program(
        name="gemm",
        chip="bench",
        layers=("gemm",),
        tensors=(
            PlacedTensor("x", "dram", 0, M * row_bytes, "int8", "inputs", (M * row_bytes,), (1,), True),
            PlacedTensor("w", "dram", 2**20, N * row_bytes, "int8", "weights", (N * row_bytes,), (1,), True),
            PlacedTensor("y", "dram", 2**21, size, "int8", "outputs", (size,), (1,)),
        ),
        rings=(
            Ring("a", "l1", 0, M * K, 2, "inputs", "int8", LOAD, (ARRAY,)),
            Ring("b", "l1", 2**16, N * K, 2, "weights", "int8", LOAD, (ARRAY,)),
            Ring("sums", "acc", 0, 4 * M * N, 2, "partials", "int32", ARRAY, (VECTOR,)),
            Ring("out", "l1", 2**17, M * N, 2, "outputs", "int8", VECTOR, (STORE,)),
        ),
        semaphores=(),
        queues=(
            Queue(LOAD, "load", "dma", nest("lo", "lk", load("a", M, "x"), load("b", N, "w"))),
            Queue(ARRAY, "array", "mxu", nest("ao", "ak", multiply)),
            Queue(VECTOR, "vector", "vpu", (CommandLoop("vo", outputs, (drain,)),)),
            Queue(STORE, "store", "dma", (CommandLoop("so", outputs, (store,)),)),
        ),
    )


def _user_seconds() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main() -> None:
    """Print one line per memory model."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    outputs = max(1, wanted // COMMANDS_PER_OUTPUT)
    commands = outputs * COMMANDS_PER_OUTPUT
    for standard in ("constant", "lpddr5"):
        simulate(program(2), chip(standard))  # compile
        times = []
        for _ in range(3):
            begin = _user_seconds()
            activity = simulate(program(outputs), chip(standard))
            times.append(_user_seconds() - begin)
        took = statistics.median(times)
        print(
            f"{standard:9} {commands} commands, {activity.total_ps / 1e6:.0f} us simulated: {took:.2f} s, "
            f"{commands / took:.0f} commands/s, {took / commands * 1e6:.1f} us per command"
        )


if __name__ == "__main__":
    main()
