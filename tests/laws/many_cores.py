"""Small chips with a network and Programs for them, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from archsim.ir.program import Affine, Command, CommandLoop, Program, ProgramNode
from archsim.spec.architecture import Architecture
from archsim.spec.load import loads
from archsim.spec.network import Noc
from tests.laws.builders import flat, matmul, move, program, queue, ring, tensor, tokens, vector

CHIP = """
schema: archsim.chip/1
name: grid
source: "by definition: round numbers for tests"
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: constant, bandwidth: 64 B/cycle, latency: 20 cycles, capacity: 1 GiB, keeps: all}
  - sram: {name: l2, size: 4 MiB, banks: 16, word: 32 B, keeps: all}
  - noc: {name: mesh, topology: mesh, shape: [2, 2], link: 32 B, attach: {dram: [[0, 0]], l2: [[0, 0], [1, 1]]}}
  - sram: {name: l1, size: 1 MiB, banks: 8, word: 16 B, keeps: all}
  - parallel:
      - array: {name: mxu, kind: systolic, shape: [4, 4], rates: {int8: 1}}
      - vector: {name: vpu, lanes: 1}
"""


def grid(text: str = CHIP, /, noc: dict[str, Any] | None = None, **values: object) -> Architecture:
    """The chip of ``text``; ``noc``: fields of its network; ``values``: by key path, ``__`` for the points."""
    found = loads(text, {key.replace("__", "."): value for key, value in values.items()})
    assert found.noc is not None
    return replace(found, noc=replace(found.noc, **(noc or {})))


def network(architecture: Architecture) -> Noc:
    """The chip's network."""
    assert architecture.noc is not None
    return architecture.noc


def one(core: int, *commands: Command, **stores: Any) -> Program:
    """Commands of the load queue of a core, beside tensors ``x`` in DRAM, ``s`` in l2 and ``t0`` .. in each l1."""
    shared = (tensor("x", "dram"), tensor("y", "dram", base=2**20), tensor("s", "l2"))
    own = tuple(tensor(f"t{number}", f"l1[{number}]", size=2**18) for number in range(4))
    return program(queue(f"core[{core}].load", *commands), tensors=(*shared, *own), **stores)


def to_cores(name: str, source: str, cores: tuple[int, ...], size: int, **fields: Any) -> Command:
    """A MOVE to the tensors of several cores."""
    plain = move(name, source, f"t{cores[0]}", size, **fields)
    (target,) = plain.writes
    return replace(plain, writes=tuple(replace(target, store=f"t{core}") for core in cores))


def gemm_cores(cores: int, tiles: int, size: int = 64) -> Program:
    """Each core: load a and b, multiply, requantise, store, ``tiles`` times, over rings with two slots."""
    rings, queues = [], []
    for core in range(cores):
        names = {kind: f"core[{core}].{kind}" for kind in ("load", "array", "vector", "store")}
        mine = {name: f"c{core}.{name}" for name in ("a", "b", "acc", "out")}
        memory, area = f"l1[{core}]", size * size
        shapes = (("a", "load", "array", 1), ("b", "load", "array", 1), ("acc", "array", "vector", 4))
        base = 0
        for name, writer, reader, width in (*shapes, ("out", "vector", "store", 1)):
            dtype = "int32" if name == "acc" else "int8"
            fields = {"size": area * width, "base": base, "memory": memory, "dtype": dtype}
            rings.append(ring(mine[name], 2, names[writer], names[reader], **fields))
            base += 2 * area * width
        bodies: dict[str, tuple[ProgramNode, ...]] = {
            "load": tuple(
                move(
                    f"load_{n}", "x", mine[n], area, waits=tokens(f"{mine[n]}.free"), signals=tokens(f"{mine[n]}.full")
                )
                for n in ("a", "b")
            ),
            "array": (
                matmul(
                    "mm",
                    mine["a"],
                    mine["b"],
                    mine["acc"],
                    (size, size, size),
                    waits=tokens(f"{mine['a']}.full", f"{mine['b']}.full", f"{mine['acc']}.free"),
                    signals=tokens(f"{mine['a']}.free", f"{mine['b']}.free", f"{mine['acc']}.full"),
                ),
            ),
            "vector": (
                vector(
                    "requantise",
                    mine["acc"],
                    mine["out"],
                    area,
                    waits=tokens(f"{mine['acc']}.full", f"{mine['out']}.free"),
                    signals=tokens(f"{mine['acc']}.free", f"{mine['out']}.full"),
                ),
            ),
            "store": (
                move(
                    "store",
                    mine["out"],
                    "y",
                    area,
                    writes=(flat("dst", "y", offset=Affine(core * area)),),
                    waits=tokens(f"{mine['out']}.full"),
                    signals=tokens(f"{mine['out']}.free"),
                ),
            ),
        }
        queues += [queue(names[kind], CommandLoop(f"{kind}_i", tiles, body)) for kind, body in bodies.items()]
    tensors = (tensor("x", "dram"), tensor("y", "dram", base=2**20))
    return program(*queues, tensors=tensors, rings=rings)
