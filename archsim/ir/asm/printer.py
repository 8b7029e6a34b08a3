"""Program -> assembly listing. What a reader can infer (dense strides, the layer of a command's name) is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from archsim.ir.asm.lookup import lookup_pieces
from archsim.ir.asm.words import affine_text, functions_text, number_text, quote
from archsim.ir.dtypes import BYTES
from archsim.ir.program import (
    Affine,
    Command,
    CommandGuard,
    CommandLoop,
    Extent,
    MatmulNest,
    PlacedTensor,
    Program,
    ProgramNode,
    Queue,
    Region,
    Ring,
    Token,
    When,
)

INDENT = "    "
WIDTH = 110
CLAUSE_WIDTH = 80
READS = ("src", "a", "b", "bias", *(f"in{number}" for number in range(10)))
WRITES = ("dst", "acc", "out")


def print_program(program: Program) -> str:
    """The listing of ``program``; ``parse_program`` gives back an equal Program."""
    lines = [f"program {quote(program.name)} on {quote(program.chip)}"]
    lines += [f"layer {quote(layer)}" for layer in program.layers]
    lines += ["", *(_tensor(tensor) for tensor in program.tensors)]
    lines += ["", *(_ring(ring) for ring in program.rings)]
    lines += ["", *_semaphores(program)]
    listing = _Listing(program)
    for queue in program.queues:
        lines += ["", *listing.queue(queue)]
    return "\n".join(lines) + "\n"


def dense_strides(shape: Sequence[int], dtype: str) -> tuple[int, ...]:
    """Byte strides of a tensor without gaps, last axis innermost; () for an unknown dtype."""
    if dtype not in BYTES:
        return ()
    inner = accumulate(reversed(shape[1:]), lambda stride, extent: stride * extent, initial=BYTES[dtype])
    return tuple(reversed(tuple(inner)))[: len(shape)]


def implied_layer(command: str, layers: Sequence[str]) -> str:
    """The longest layer that a command's name begins with ('conv1' of 'conv1.load_w'); '' for none."""
    fits = [layer for layer in layers if command == layer or command.startswith(f"{layer}.")]
    return max(fits, key=len, default="")


def _tensor(tensor: PlacedTensor) -> str:
    text = (
        f"tensor {quote(tensor.name)} in {quote(tensor.memory)} at {tensor.base} bytes {tensor.size_bytes} "
        f"dtype {quote(tensor.dtype)} role {quote(tensor.role)} shape {list(tensor.shape)}"
    )
    if tensor.strides != dense_strides(tensor.shape, tensor.dtype):
        text += f" strides {list(tensor.strides)}"
    if tensor.origin:
        text += f" origin {tensor.origin}"
    text += _numbers(tensor) + (" preloaded" if tensor.preloaded else "") + (" ragged" if tensor.ragged else "")
    if tensor.state is None:
        return text
    return f"{text} state length {tensor.state.length}" + (f" axis {tensor.state.axis}" if tensor.state.axis else "")


def _numbers(store: PlacedTensor | Ring) -> str:
    """What an element stands for, where it is not the element itself."""
    scale = f" scale {number_text(store.scale)}" if store.scale != 1.0 else ""
    return scale + (f" zero {store.zero}" if store.zero else "")


def _ring(ring: Ring) -> str:
    text = (
        f"ring {quote(ring.name)} in {quote(ring.memory)} at {ring.base} slots {ring.slots} bytes {ring.slot_bytes} "
        f"dtype {quote(ring.dtype)} role {quote(ring.role)}"
    )
    if ring.retain:
        text += f" retain {ring.retain}"
    if ring.span:
        text += f" span {ring.span}"
    text += _numbers(ring) + (" ragged" if ring.ragged else "")
    text += f" writer {quote(ring.writer)}"
    return text + (f" readers {', '.join(map(quote, ring.readers))}" if ring.readers else "")


def _semaphores(program: Program) -> Iterator[str]:
    for semaphore in program.semaphores:
        yield f"semaphore {quote(semaphore.name)}" + (f" initial {semaphore.initial}" if semaphore.initial else "")


class _Listing:
    """Prints the queues of one Program; knows the layers and the element sizes that need not be said."""

    def __init__(self, program: Program) -> None:
        self._layers = program.layers
        self._elements = element_sizes(program)

    def queue(self, queue: Queue) -> Iterator[str]:
        yield f"queue {quote(queue.name)} engine {queue.engine} unit {quote(queue.unit)}:"
        yield from self._body(queue.body, INDENT)

    def _body(self, body: tuple[ProgramNode, ...], indent: str) -> Iterator[str]:
        for node in body:
            if isinstance(node, CommandLoop):
                yield f"{indent}for {quote(node.var)} in {node.trips}:"
                yield from self._body(node.body, indent + INDENT)
            else:
                yield from _wrap(self._command(node), indent)

    def _command(self, command: Command) -> list[str]:
        """Head, waits, operands and signals, each a piece that may stand on its own line."""
        pieces = [f"{command.op} {quote(command.name)}", *self._head(command)]
        pieces += _tokens("wait", command.waits)
        pieces += [self._region(region, "read", READS) for region in command.reads]
        pieces += [self._region(region, "write", WRITES) for region in command.writes]
        return pieces + _tokens("signal", command.signals)

    def _head(self, command: Command) -> Iterator[str]:
        if command.extents:
            yield f"[{', '.join(map(_extent, command.extents))}]"
        if command.layer != implied_layer(command.name, self._layers):
            yield f"layer {quote(command.layer)}"
        if command.role:
            yield f"role {quote(command.role)}"
        if command.when:
            yield f"when {_when(command.when)}"
        if command.nest is not None:
            yield f"nest {nest_text(command.nest)}".rstrip()
        if command.fresh:
            yield f"fresh {_when(command.fresh)}"
        yield from _work(command)

    def _region(self, region: Region, side: str, usual: tuple[str, ...]) -> str:
        text = region.operand if region.operand in usual else f"{side} {quote(region.operand)}"
        text += f" {quote(region.store)}"
        if region.strides:
            text += "{" + ", ".join(f"{quote(dim)}:{stride}" for dim, stride in region.strides) + "}"
        offset = affine_text(region.offset)
        if offset != "0":
            text += offset if offset.startswith("-") else f"+{offset}"
        if region.element_bytes != self._elements.get(region.store):
            text += f" element {region.element_bytes}"
        if region.clips:
            clips = (f"{quote(clip.dim)}: {affine_text(clip.start)} of {clip.length}" for clip in region.clips)
            text += f" clip({', '.join(clips)})"
        return text


def element_sizes(program: Program) -> Mapping[str, int]:
    """Store name -> bytes of its elements, where the dtype is known."""
    stores: list[PlacedTensor | Ring] = [*program.tensors, *program.rings]
    return {store.name: BYTES[store.dtype] for store in stores if store.dtype in BYTES}


def _work(command: Command) -> Iterator[str]:
    """What the command computes."""
    if command.dtypes:
        yield f"dtypes {', '.join(map(quote, command.dtypes))}"
    if command.functions:
        yield f"function {functions_text(command.functions)}"
    if command.guards:
        yield f"guard ({', '.join(map(_guard, command.guards))})"
    if command.slow:
        yield f"slow {', '.join(map(quote, command.slow))}"
    for word, value in (
        ("passes", command.passes),
        ("flops", command.flops),
        ("bytes", command.nbytes),
        ("fill", command.fill),
    ):
        if value:
            yield f"{word} {value}"
    if command.combine:
        yield f"combine {quote(command.combine)}"
    if command.index is not None:
        yield from lookup_pieces(command.index)
    if command.retains:
        yield "retains"


def _guard(guard: CommandGuard) -> str:
    return f"{affine_text(Affine(0, guard.terms))}: {affine_text(guard.start)} of {guard.length}"


def _extent(extent: Extent) -> str:
    limits = "".join(f" | {affine_text(limit)}" for limit in extent.limits)
    return f"{quote(extent.dim)}={extent.size}{limits}"


def nest_text(nest: MatmulNest) -> str:
    """``m(h, w) n(k) k(c, r) window(2*h+r)``; parts without extents are left out."""
    parts = (("m", nest.m), ("n", nest.n), ("k", nest.k), ("batch", nest.batch))
    found = [f"{part}({', '.join(map(quote, dims))})" for part, dims in parts if dims]
    if nest.windows:
        sums = (Affine(0, ((w.output, w.stride), (w.tap, w.dilation))) for w in nest.windows)
        found.append(f"window({', '.join(map(affine_text, sums))})")
    return " ".join(found)


def _token(token: Token) -> str:
    text = quote(token.name) + (f"*{token.n}" if token.n != 1 else "")
    return text + (f" if {_when(token.when)}" if token.when else "")


def _when(when: When) -> str:
    return " & ".join(f"{'!' if edge.negated else ''}{edge.kind}({quote(edge.var)})" for edge in when)


def _tokens(word: str, tokens: tuple[Token, ...]) -> list[str]:
    """One clause, or several where one would be too long for a line."""
    clauses: list[str] = []
    for token in map(_token, tokens):
        if clauses and len(clauses[-1]) + len(token) < CLAUSE_WIDTH:
            clauses[-1] += f", {token}"
        else:
            clauses.append(f"{word} {token}")
    return clauses


def _wrap(pieces: list[str], indent: str) -> Iterator[str]:
    """As many pieces to a line as fit; lines after the first stand deeper."""
    line = indent + pieces[0]
    for piece in pieces[1:]:
        if len(line) + 1 + len(piece) <= WIDTH:
            line += f" {piece}"
        else:
            yield line
            line = indent + INDENT + piece
    yield line
