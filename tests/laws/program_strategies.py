"""Hypothesis: Programs whose names hang together and whose every field may be anything."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from archsim.ir.dtypes import BYTES
from archsim.ir.functions import Function
from archsim.ir.indices import Indices
from archsim.ir.program import (
    Affine,
    Clip,
    Command,
    CommandGuard,
    CommandLoop,
    EngineKind,
    Extent,
    Lookup,
    LoopEdge,
    MatmulNest,
    Op,
    PlacedTensor,
    Program,
    ProgramNode,
    Queue,
    Region,
    Ring,
    Semaphore,
    Token,
    When,
)

WORDS = ["x", "conv1", "conv1.w", "core[0].load", "layer@a", "/features/0", "a>b", "p", "first", "wait", "in0", "of"]
TEXTS = st.text(max_size=4) | st.sampled_from(
    ["", " ", '"', "\\", "a b", "#", "p-1", "naïve", "1x", "x:0", "\n", "\x85"]
)
NAMES = st.sampled_from(WORDS) | TEXTS
INTEGERS = st.integers(-3, 9) | st.integers(-(2**40), 2**40)
OPERANDS = st.sampled_from(["src", "dst", "a", "b", "bias", "acc", "in0", "in12", "out", "out0", ""])
DTYPES = st.sampled_from(sorted(BYTES)) | st.sampled_from(["int4", "x y"])


def distinct(maximum: int, minimum: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(NAMES, min_size=minimum, max_size=maximum, unique=True)


def tuples(values: st.SearchStrategy[Any], maximum: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=maximum).map(tuple)


def affines(variables: list[str]) -> st.SearchStrategy[Affine]:
    terms = tuples(st.tuples(st.sampled_from(variables), INTEGERS)) if variables else st.just(())
    return st.builds(Affine, INTEGERS, terms)


def whens(variables: list[str]) -> st.SearchStrategy[When]:
    if not variables:
        return st.just(())
    return tuples(st.builds(LoopEdge, st.sampled_from(["first", "last"]), st.sampled_from(variables), st.booleans()))


NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


def functions() -> st.SearchStrategy[Function]:
    values = NUMBERS | NAMES | tuples(NAMES)
    return st.builds(Function, NAMES, tuples(NAMES | NUMBERS), tuples(st.tuples(NAMES, values)))


def guards(dims: list[str], variables: list[str]) -> st.SearchStrategy[CommandGuard]:
    terms = tuples(st.tuples(st.sampled_from(dims), INTEGERS)) if dims else st.just(())
    return st.builds(CommandGuard, terms, affines(variables), INTEGERS)


def lookups(dims: list[str], variables: list[str]) -> st.SearchStrategy[Lookup]:
    exponents = st.floats(allow_nan=False, allow_infinity=False)
    streams = (
        st.builds(Indices, st.just("uniform"), INTEGERS)
        | st.builds(Indices, st.just("zipf"), INTEGERS, exponents)
        | st.lists(INTEGERS, min_size=1, max_size=40).map(lambda rows: Indices("trace", trace=tuple(rows)))
    )
    terms = tuples(st.tuples(st.sampled_from(dims), INTEGERS)) if dims else st.just(())
    return st.builds(Lookup, streams, INTEGERS, INTEGERS, terms, affines(variables))


class Names:
    """What commands may refer to."""

    def __init__(self, layers: list[str], tokens: list[str], stores: list[str]) -> None:
        self.layers, self.tokens, self.stores = layers, tokens, stores


@st.composite
def regions(draw: st.DrawFn, names: Names, variables: list[str], dims: list[str]) -> Region:
    strides: Any = tuples(st.tuples(st.sampled_from(dims), INTEGERS)) if dims else st.just(())
    clips: Any = st.just(())
    if dims:
        clips = tuples(st.builds(Clip, st.sampled_from(dims), affines(variables), INTEGERS))
    return Region(
        draw(OPERANDS),
        draw(st.sampled_from(names.stores)),
        draw(st.sampled_from([1, 2, 4]) | INTEGERS),
        draw(strides),
        draw(affines(variables)),
        draw(clips),
    )


@st.composite
def commands(draw: st.DrawFn, names: Names, variables: list[str]) -> Command:
    dims = draw(distinct(3, 1))
    operands = tuples(regions(names, variables, dims)) if names.stores else st.just(())
    parts = tuples(st.sampled_from(dims)) if dims else st.just(())
    token = st.builds(Token, st.sampled_from(names.tokens or [""]), INTEGERS, whens(variables))
    tokens = tuples(token) if names.tokens else st.just(())
    limits = tuples(affines(variables))
    return Command(
        name=draw(NAMES | st.sampled_from(names.layers or ["c"]).map(lambda layer: f"{layer}.c")),
        op=draw(st.sampled_from(get_args(Op))),
        layer=draw(st.sampled_from([*names.layers, "", "_host"])),
        role=draw(NAMES),
        waits=draw(tokens),
        signals=draw(tokens),
        when=draw(whens(variables)),
        extents=tuple(Extent(dim, draw(INTEGERS), draw(limits)) for dim in dims),
        reads=draw(operands),
        writes=draw(operands),
        nest=draw(st.none() | st.builds(MatmulNest, parts, parts, parts, parts)),
        fresh=draw(whens(variables)),
        dtypes=draw(tuples(NAMES)),
        functions=draw(tuples(functions())),
        guards=draw(tuples(guards(dims, variables))),
        passes=draw(INTEGERS),
        slow=draw(tuples(NAMES)),
        flops=draw(INTEGERS),
        nbytes=draw(INTEGERS),
        fill=draw(INTEGERS),
        combine=draw(NAMES),
        index=draw(st.none() | lookups(dims, variables)),
        retains=draw(st.booleans()),
    )


@st.composite
def bodies(draw: st.DrawFn, names: Names, free: list[str], variables: list[str]) -> tuple[ProgramNode, ...]:
    """``free``: loop variables of the queue not used yet; taken from its end."""
    nodes: list[ProgramNode] = []
    for _ in range(draw(st.integers(0 if variables else 1, 2))):
        if free and draw(st.integers(0, 2)):
            var = free.pop()
            nodes.append(CommandLoop(var, draw(INTEGERS), draw(bodies(names, free, [*variables, var]))))
        else:
            nodes.append(draw(commands(names, variables)))
    return tuple(nodes)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    layers, queues, semaphores = draw(distinct(2)), draw(distinct(2, 1)), draw(distinct(2))
    stores = draw(distinct(3, 1))
    tensors = [name for name in stores if draw(st.booleans())]
    rings = [name for name in stores if name not in tensors]
    tokens = [*semaphores, *(f"{ring}.{kind}" for ring in rings for kind in ("free", "full"))]
    names = Names(layers, tokens, [*tensors, *rings])
    return Program(
        name=draw(NAMES),
        chip=draw(NAMES),
        layers=tuple(layers),
        tensors=tuple(draw(_tensors(name)) for name in tensors),
        rings=tuple(draw(_rings(name, queues)) for name in rings),
        semaphores=tuple(Semaphore(name, draw(INTEGERS)) for name in semaphores),
        queues=tuple(
            Queue(
                name,
                draw(st.sampled_from(get_args(EngineKind))),
                draw(NAMES),
                draw(bodies(names, draw(distinct(3, 2)), [])),
            )
            for name in queues
        ),
    )


def _tensors(name: str) -> st.SearchStrategy[PlacedTensor]:
    axes = tuples(st.integers(1, 5), 3)
    return st.builds(
        PlacedTensor,
        st.just(name),
        NAMES,
        INTEGERS,
        INTEGERS,
        DTYPES,
        NAMES,
        axes,
        axes | st.just((5, 1)),
        st.booleans(),
    )


def _rings(name: str, queues: list[str]) -> st.SearchStrategy[Ring]:
    queue = st.sampled_from(queues)
    integers = (INTEGERS,) * 3
    return st.builds(Ring, st.just(name), NAMES, *integers, NAMES, DTYPES, queue, tuples(queue), INTEGERS)
