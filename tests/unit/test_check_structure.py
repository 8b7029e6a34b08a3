"""The Program checker's text-only rules: one broken Program per rule, each with the message it must give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from archsim.base.errors import ProgramError
from archsim.ir.check.program import check
from archsim.ir.functions import Function
from archsim.ir.program import (
    Affine,
    Clip,
    CommandLoop,
    Extent,
    LoopEdge,
    MatmulNest,
    Program,
    Region,
    Ring,
    Semaphore,
    Token,
)
from tests.unit.fixtures_check import chip, command, edit, edit_region, edit_store, golden

MM, LOAD, DRAIN, STORE = "conv1.mm", "conv1.load_b", "conv1.drain", "conv1.store"


def refused(program: Program, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        check(program, chip())
    assert message in str(error.value)


def with_queue(engine: str, /, **changes: Any) -> Program:
    queues = tuple(replace(q, **changes) if q.engine == engine else q for q in golden().queues)
    return replace(golden(), queues=queues)


def another(program: Program, kind: str) -> Program:
    """The Program with the first declaration of a kind there twice."""
    items = getattr(program, kind)
    return replace(program, **{kind: (*items, items[0])})


def waits(name: str, *tokens: Token) -> Program:
    return edit(name, waits=(*command(name).waits, *tokens))


def signals(name: str, *tokens: Token) -> Program:
    return edit(name, signals=(*command(name).signals, *tokens))


def extents(name: str, *more: Extent) -> Program:
    return edit(name, extents=(*command(name).extents, *more))


def reads(name: str, *more: Region) -> Program:
    return edit(name, reads=(*command(name).reads, *more))


DECLARATIONS: list[tuple[Callable[[], Program], str]] = [
    (lambda: another(golden(), "layers"), "layer 'conv1' is declared twice"),
    (lambda: another(golden(), "tensors"), "tensor or ring 'x' is declared twice"),
    (lambda: another(golden(), "rings"), "tensor or ring 'conv1.w' is declared twice"),
    (lambda: another(golden(), "semaphores"), "semaphore 'y1.ready' is declared twice"),
    (lambda: another(golden(), "queues"), "queue 'core[0].load' is declared twice"),
    (
        lambda: replace(golden(), semaphores=(*golden().semaphores, Semaphore("conv1.x.free"))),
        "semaphore 'conv1.x.free' is declared twice",
    ),
    (lambda: with_queue("array", unit="mxuu"), "chip 'golden' has no array unit 'mxuu' (did you mean 'mxu'?)"),
    (lambda: with_queue("vector", engine="host", unit="host"), "chip 'golden' has no host unit 'host'"),
    (lambda: with_queue("load", engine="lode"), "unknown engine 'lode'"),
    (
        lambda: with_queue("store", engine="load"),
        "'dma' has 1 load engine(s), but 2 queues run on it: core[0].load, core[0].store",
    ),
    (lambda: edit_store("x", memory="drom"), "no explicit memory 'drom' (did you mean 'dram'?)"),
    (lambda: edit_store("x", dtype="int7"), "tensor 'x': unknown dtype 'int7'"),
    (lambda: edit_store("x", role="imputs"), "unknown role 'imputs' (did you mean 'inputs'?)"),
    (lambda: edit_store("y2", base=2**24 - 8), "of memory 'dram', which has [0, 16777216)"),
    (lambda: edit_store("conv2.acc", base=257), "ring 'conv2.acc' occupies bytes [257, 4097) of memory 'acc'"),
    (lambda: edit_store("x", base=-1), "occupies bytes [-1, 1151)"),
    (lambda: edit_store("x", strides=(1152, 96, 8)), "4 axes but 3 strides"),
    (lambda: edit_store("x", strides=(1152, 97, 8, 1)), "its layout ends at byte 1163 of 1152"),
    (lambda: edit_store("x", shape=(1, 0, 12, 8)), "must be positive"),
    (lambda: edit_store("conv1.x", slots=0), "has 0 slots of 784 bytes"),
    (lambda: edit_store("conv1.x", retain=784), "retains 784 bytes; allowed 0 to 783"),
    (lambda: edit_store("conv1.x", readers=()), "lists the readers (); allowed one or more, each once"),
    (lambda: edit_store("conv1.x", readers=("core[0].array",) * 2), "allowed one or more, each once"),
    (lambda: edit_store("conv1.x", writer="core[0].lod"), "unknown writer queue 'core[0].lod' (did you mean"),
    (lambda: edit_store("conv1.x", readers=("core[0].arry",)), "unknown reader queue 'core[0].arry' (did you mean"),
    (
        lambda: replace(golden(), semaphores=(Semaphore("y1.ready", -1), Semaphore("acc.drained"))),
        "semaphore 'y1.ready' starts at -1",
    ),
]

OWNERSHIP: list[tuple[Callable[[], Program], str]] = [
    (lambda: waits(MM, Token("conv1.x.fll")), "waits for unknown token 'conv1.x.fll' (did you mean 'conv1.x.full'?)"),
    (lambda: signals(MM, Token("y1.redy")), "signals unknown token 'y1.redy' (did you mean 'y1.ready'?)"),
    (lambda: waits(MM, Token("conv1.x.full", 0)), "waits for 0 tokens of 'conv1.x.full'"),
    (lambda: waits(MM, Token("conv1.x.free")), "only the writer of the ring may: core[0].load"),
    (lambda: waits(STORE, Token("conv1.x.full")), "only the readers of the ring may: core[0].array"),
    (lambda: signals(STORE, Token("conv1.y.full")), "only the writer of the ring may: core[0].vector"),
    (lambda: signals(LOAD, Token("conv1.x.free")), "only the readers of the ring may: core[0].array"),
    (
        lambda: waits(STORE, Token("acc.drained")),
        "'acc.drained' is waited on by two queues: conv2.mm of core[0].array and conv1.store of core[0].store",
    ),
    (
        lambda: edit_region(STORE, "src", store="conv1.yy"),
        "unknown tensor or ring 'conv1.yy' (did you mean 'conv1.y'?)",
    ),
    (
        lambda: edit_region(STORE, "dst", store="conv1.x"),
        "conv1.store of core[0].store writes ring 'conv1.x', whose writer is core[0].load",
    ),
    (
        lambda: edit_region(STORE, "src", store="conv1.x"),
        "conv1.store of core[0].store reads ring 'conv1.x', whose readers are core[0].array",
    ),
    (lambda: edit(LOAD, retains=True), "takes no slot of a ring with retain > 0"),
]

COMMANDS: list[tuple[Callable[[], Program], str]] = [
    (lambda: edit(LOAD, op="MATMUL"), "is a MATMUL; load engines run MOVE, GATHER, SETUP, SYNC"),
    (lambda: edit(MM, op="MOVE"), "is a MOVE; array engines run MATMUL, SETUP, SYNC"),
    (lambda: edit(LOAD, layer="conv"), "unknown layer 'conv' (did you mean"),
    (
        lambda: edit(LOAD, functions=(Function("relu"),)),
        "states 'functions', which belongs to VECTOR and HOST, not to MOVE",
    ),
    (lambda: edit(MM, fill=1), "states 'fill', which belongs to MOVE, not to MATMUL"),
    (lambda: edit(DRAIN, flops=1), "states 'flops', which belongs to HOST, not to VECTOR"),
    (lambda: edit(LOAD, nbytes=1), "states 'nbytes', which belongs to HOST and SETUP, not to MOVE"),
    (lambda: edit(LOAD, combine="mul"), "combines by 'mul'; allowed add, max"),
    (lambda: edit(DRAIN, passes=-1), "allowed 0 or more"),
    (lambda: edit(DRAIN, passes=0), "neither passes nor slow functions; nothing is free"),
    (lambda: edit(DRAIN, functions=()), "is a VECTOR without a function"),
    (lambda: edit(DRAIN, dtypes=()), "states 0 dtypes; a VECTOR has one"),
    (lambda: edit(DRAIN, dtypes=("int7",)), "has no lanes for 'int7'"),
    (lambda: edit(DRAIN, slow=("ex",)), "states no rate for 'ex'"),
    (lambda: edit(MM, dtypes=("int8",)), "states 1 dtypes; a MATMUL has two"),
    (lambda: edit(MM, dtypes=("int8", "fp8")), "has no rate for int8 inputs x fp8 weights"),
    (lambda: edit(MM, nest=None), "is a MATMUL without a nest"),
    (
        lambda: edit(MM, nest=MatmulNest(("h", "w"), ("k",), ("r", "s"))),
        "the nest has (h, w, k, r, s), the extents are",
    ),
    (lambda: edit(MM, writes=()), "is a MATMUL without operand 'acc'"),
    (lambda: edit_region(MM, "a", operand="c"), "reads an operand 'c'; a MATMUL reads a, b, bias, acc"),
    (lambda: reads(MM, command(MM).reads[0]), "reads two operands 'a'"),
    (lambda: edit_region(LOAD, "src", element_bytes=2), "moves elements of different sizes"),
    (lambda: edit_region(LOAD, "src", element_bytes=0), "moves elements of different sizes"),
    (lambda: edit_region(DRAIN, "in0", element_bytes=0), "has elements of 0 bytes"),
    (lambda: edit_region(LOAD, "src", strides=(("kk", 4),)), "unknown extent 'kk'"),
    (lambda: edit_region(LOAD, "src", strides=(("k", -4),)), "stride -4 of 'k'; allowed one stride of 0 or more"),
    (lambda: edit_region(LOAD, "src", strides=(("k", 4), ("k", 4))), "allowed one stride of 0 or more for each extent"),
    (
        lambda: edit_region(MM, "a", strides=tuple((d, 1) for d in "hwkrsc") + (("h", 1),) * 4),
        "has 10 strides; allowed at most 9",
    ),
    (
        lambda: edit_region(LOAD, "src", clips=(Clip("q", Affine(), 4),)),
        "clips the extent that does not move it, 'q'",
    ),
    (lambda: edit_region(LOAD, "src", clips=(Clip("k", Affine(), 0),)), "is clipped to 0 indices of 'k'"),
    (lambda: edit(LOAD, extents=(Extent("k", 0),)), "extent 'k' of 0; allowed 1 or more"),
    (lambda: extents(LOAD, Extent("k", 4)), "each name once"),
    (lambda: edit(LOAD, when=(LoopEdge("first", "p"),)), "no enclosing loop 'p'"),
    (lambda: edit_region(STORE, "dst", offset=Affine(0, (("t", 8),))), "no enclosing loop 't'; there are: p, q"),
    (
        lambda: edit_region(STORE, "dst", offset=Affine(8, (("p", 960), ("q", 8)))),
        "touches bytes [1936, 2312) of tensor 'y1'",
    ),
    (lambda: edit_region(DRAIN, "out", offset=Affine(1)), "conv1.drain[p=0, q=0] of core[0].vector: operand 'out'"),
]


@pytest.mark.parametrize(("program", "message"), DECLARATIONS, ids=[message for _, message in DECLARATIONS])
def test_declarations(program: Callable[[], Program], message: str) -> None:
    refused(program(), message)


@pytest.mark.parametrize(("program", "message"), OWNERSHIP, ids=[message for _, message in OWNERSHIP])
def test_ownership(program: Callable[[], Program], message: str) -> None:
    refused(program(), message)


@pytest.mark.parametrize(("program", "message"), COMMANDS, ids=[message for _, message in COMMANDS])
def test_commands(program: Callable[[], Program], message: str) -> None:
    refused(program(), message)


def test_loop_variable_has_one_loop_per_queue_and_a_trip() -> None:
    loop = golden().queues[3].body[0]
    assert isinstance(loop, CommandLoop)
    refused(with_queue("store", body=(loop, *golden().queues[3].body)), "'p' is declared twice")
    refused(with_queue("store", body=(replace(loop, trips=0), golden().queues[3].body[1])), "makes 0 trips")


def test_folded_memory_holds_no_ring() -> None:
    folded = tuple(replace(m, filled_by="array") if m.name == "acc" else m for m in chip().memories)
    with pytest.raises(ProgramError, match="no explicit memory 'acc'"):
        check(golden(), replace(chip(), memories=folded))


def test_merged_dma_is_one_engine() -> None:
    with pytest.raises(ProgramError, match="has 1 dma engine"):
        check(golden(), replace(chip(), dma=replace(chip().dma, merged=True)))


def test_more_copies_allow_more_queues() -> None:
    two = replace(chip(), vectors=tuple(replace(v, copies=2) for v in chip().vectors))
    vector = next(q for q in golden().queues if q.engine == "vector")
    twin = replace(vector, name="core[1].vector", body=())
    program = replace(golden(), queues=(*golden().queues, twin))
    check(program, two)
    refused(program, "but 2 queues run on it")


def test_launches_need_no_declared_layer() -> None:
    check(edit(LOAD, layer="_host"), chip())


def test_unused_ring_and_semaphore_are_no_mistake() -> None:
    ring = Ring("spare", "l1", 7000, 8, 2, "inputs", "int8", "core[0].load", ("core[0].array",))
    check(replace(golden(), rings=(*golden().rings, ring)), chip())
    check(replace(golden(), semaphores=(*golden().semaphores, Semaphore("spare"))), chip())
