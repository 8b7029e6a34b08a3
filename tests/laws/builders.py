"""Small chips and Programs by hand, for laws and unit tests of the machine.

The chip: two constant-rate DRAMs (``din`` feeds, ``dout`` takes), one scratchpad ``l1``, one array, one vector unit
with one lane, so that a VECTOR of C elements takes C cycles. At 1 byte per cycle a move of L bytes takes L cycles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
    ProgramNode,
    Queue,
    Region,
    Ring,
    Semaphore,
    Token,
)
from archsim.spec.architecture import ROLES, Architecture, Array, Dma, Host, Vector
from archsim.spec.memories import Memory

GHZ = 10**9
CYCLE = 1000  # ps at 1 GHz
LOAD, STORE, ARRAY, VECTOR = "core[0].load", "core[0].store", "core[0].array", "core[0].vector"


def part(name: str, kind: str, *, clock_hz: int = GHZ, sync_stages: int = 0) -> dict[str, Any]:
    """The fields that all parts share."""
    return {
        "name": name,
        "kind": kind,
        "clock_hz": clock_hz,
        "sync_stages": sync_stages,
        "scope": "chip",
        "energy_pj": {},
        "area_mm2": None,
        "leakage_w": None,
        "idle_w": None,
        "copies": 1,
    }


def constant_dram(name: str, rate: Fraction | int | None = 1, **fields: Any) -> Memory:
    """A constant-rate memory of ``rate`` bytes per cycle."""
    base = {"capacity_bytes": 2**40, "keeps": ROLES, "slots": {}, "filled_by": "dma", "standard": "constant"}
    rates = {"bytes_per_cycle": None if rate is None else Fraction(rate)}
    clock = {key: fields.pop(key) for key in ("clock_hz", "sync_stages") if key in fields}
    return Memory(**part(name, "dram", **clock), **(base | rates | fields))


def scratchpad(name: str = "l1", bytes_per_cycle: int = 4096, **fields: Any) -> Memory:
    """An on-chip memory whose ports move ``bytes_per_cycle`` in each direction, in words of one byte."""
    base = {"capacity_bytes": 2**30, "keeps": ROLES, "slots": {}, "filled_by": "dma", "banks": bytes_per_cycle}
    clock = {key: fields.pop(key) for key in ("clock_hz", "sync_stages") if key in fields}
    return Memory(**part(name, "sram", **clock), **(base | fields))


def chip(
    memories: Sequence[Memory] | None = None,
    *,
    clocks: Mapping[str, int] | None = None,
    sync_stages: int = 0,
    array: Mapping[str, Any] | None = None,
    vector: Mapping[str, Any] | None = None,
    dma: Mapping[str, Any] | None = None,
    host: Host | None = None,
    clock_hz: int = GHZ,
) -> Architecture:
    """A chip; ``clocks``: part kind (dma, array, vector) -> Hz where it is not the chip's."""

    def common(name: str, kind: str) -> dict[str, Any]:
        return part(name, kind, clock_hz=(clocks or {}).get(kind, clock_hz), sync_stages=sync_stages)

    if memories is None:
        memories = [constant_dram("din"), constant_dram("dout"), scratchpad()]
    array_fields: dict[str, Any] = {
        "rows": 4,
        "cols": 4,
        "dataflow": "output_stationary",
        "fanouts": (),
        "registers": (),
        "rates": {("int8", "int8"): Fraction(1), ("bf16", "bf16"): Fraction(1, 2)},
    }
    vector_fields: dict[str, Any] = {"lanes": {"int8": 1, "int32": 1}, "function_cycles": {"exp": Fraction(7, 2)}}
    return Architecture(
        name="testchip",
        clock_hz=clock_hz,
        technology="",
        voltage_v=1.0,
        memories=tuple(memories),
        arrays=(Array(**common("mxu", "array"), **(array_fields | dict(array or {}))),),
        vectors=(Vector(**common("vpu", "vector"), **(vector_fields | dict(vector or {}))),),
        dma=Dma(**common("dma", "dma"), **dict(dma or {})),
        host=host,
        dtypes={},
        not_modelled=(),
        source="",
    )


def host(launch_ps: int, depth: int = 1, issue_ps: int = 0, **fields: Any) -> Host:
    """A host runtime with a link of 1 GB/s and 1 Gflop/s."""
    rates = {"link_bytes_per_s": GHZ, "flops_per_s": GHZ}
    return Host(**part("cpu", "host"), launch_ps=launch_ps, depth=depth, issue_ps=issue_ps, **(rates | fields))


def tokens(*names: str | tuple[str, LoopEdge]) -> tuple[Token, ...]:
    """Tokens by name, or by (name, condition)."""
    return tuple(Token(name) if isinstance(name, str) else Token(name[0], when=(name[1],)) for name in names)


def flat(operand: str, store: str, dim: str = "x", offset: Affine | None = None, element_bytes: int = 1) -> Region:
    """``dim`` contiguous elements."""
    return Region(operand, store, element_bytes, ((dim, element_bytes),), offset or Affine())


def move(name: str, source: str, target: str, size: int, **fields: Any) -> Command:
    """A MOVE of ``size`` contiguous bytes."""
    sides = {"reads": (flat("src", source),), "writes": (flat("dst", target),)}
    return Command(name, "MOVE", **({"layer": "one", "extents": (Extent("x", size),)} | sides | fields))


def vector(name: str, source: str, target: str, cycles: int, **fields: Any) -> Command:
    """A VECTOR of ``cycles`` elements, one pass each."""
    base: dict[str, Any] = {
        "layer": "one",
        "extents": (Extent("x", cycles),),
        "reads": (flat("in0", source),),
        "writes": (flat("out", target),),
        "functions": (Function("relu"),),
        "passes": 1,
        "dtypes": ("int8",),
    }
    return Command(name, "VECTOR", **(base | fields))


def matmul(name: str, a: str, b: str, acc: str, sizes: tuple[int, int, int], **fields: Any) -> Command:
    """A MATMUL of M, N, K = ``sizes``, int8 with int32 sums, starting from 0."""
    m, n, k = sizes
    base: dict[str, Any] = {
        "layer": "one",
        "extents": (Extent("m", m), Extent("n", n), Extent("k", k)),
        "reads": (Region("a", a, 1, (("m", k), ("k", 1))), Region("b", b, 1, (("n", k), ("k", 1)))),
        "writes": (Region("acc", acc, 4, (("m", 4 * n), ("n", 4))),),
        "nest": MatmulNest(("m",), ("n",), ("k",)),
        "dtypes": ("int8", "int8"),
    }
    return Command(name, "MATMUL", **(base | fields))


def tensor(name: str, memory: str, size: int = 2**20, base: int = 0, **fields: Any) -> PlacedTensor:
    """Bytes in ``memory``, there at time 0."""
    plain = {"dtype": "int8", "role": "inputs", "shape": (size,), "strides": (1,), "preloaded": True}
    return PlacedTensor(name, memory, base, size, **(plain | fields))


def ring(name: str, slots: int, writer: str, *readers: str, size: int = 2**10, base: int = 0, **fields: Any) -> Ring:
    """A ring in ``l1`` of ``slots`` slots of ``size`` bytes."""
    plain = {"memory": "l1", "role": "inputs", "dtype": "int8"}
    return Ring(name=name, base=base, slot_bytes=size, slots=slots, writer=writer, readers=readers, **(plain | fields))


def queue(name: str, *body: ProgramNode) -> Queue:
    """A queue of the test chip by its name."""
    engine = "host" if name == "host" else name.partition(".")[2]
    units = {"load": "dma", "store": "dma", "array": "mxu", "vector": "vpu", "host": "cpu"}
    return Queue(name, engine, units[engine], tuple(body))  # type: ignore[arg-type]


def program(
    *queues: Queue,
    tensors: Sequence[PlacedTensor] = (),
    rings: Sequence[Ring] = (),
    semaphores: Sequence[Semaphore] = (),
    layers: Sequence[str] = ("one",),
) -> Program:
    """A Program for the test chip."""
    return Program("test", "testchip", tuple(layers), tuple(tensors), tuple(rings), tuple(semaphores), queues)


def pipeline(
    tiles: int, load: int, compute: int, store: int, *, slots_in: int = 2, slots_out: int = 2, out: str = "dout"
) -> Program:
    """Load, compute and store ``tiles`` tiles of constant length in cycles, coupled by two rings."""
    return program(
        queue(
            LOAD,
            CommandLoop(
                "i", tiles, (move("load", "x", "in", load, waits=tokens("in.free"), signals=tokens("in.full")),)
            ),
        ),
        queue(
            VECTOR,
            CommandLoop(
                "j",
                tiles,
                (
                    vector(
                        "compute",
                        "in",
                        "out",
                        compute,
                        waits=tokens("in.full", "out.free"),
                        signals=tokens("in.free", "out.full"),
                    ),
                ),
            ),
        ),
        queue(
            STORE,
            CommandLoop(
                "k", tiles, (move("store", "out", "y", store, waits=tokens("out.full"), signals=tokens("out.free")),)
            ),
        ),
        tensors=(tensor("x", "din"), tensor("y", out, base=2**20)),
        rings=(ring("in", slots_in, LOAD, VECTOR), ring("out", slots_out, VECTOR, STORE, base=2**16)),
    )


def replaced(architecture: Architecture, name: str, **fields: Any) -> Architecture:
    """``architecture`` with fields of memory ``name`` replaced."""
    memories = tuple(replace(m, **fields) if m.name == name else m for m in architecture.memories)
    return replace(architecture, memories=memories)
