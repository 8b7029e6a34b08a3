"""The mutation campaign: small mistakes in Programs, each to be caught by the checker or by the numbers.

python -m tests.tools.mutants      prints the score by kind and every survivor with its reason

A mutant is caught when the checker refuses it, when its execution stops, or when some tensor that the Program writes
to DRAM comes out different under one of ``ORDERS`` token-legal orders. Survivors must be equivalent: they are named by
rules (``REASONS``), and shown to compute the same numbers under every one of those orders.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from archsim.base.errors import ProgramError
from archsim.graph.lowering.lower import lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.graph.numeric.contents import to_memory
from archsim.graph.numeric.quantise import Quantised
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.check.program import check
from archsim.ir.functions import Function
from archsim.ir.program import Command, CommandLoop, LoopEdge, PlacedTensor, Program, ProgramNode, Queue, Region, Ring
from archsim.spec.architecture import Architecture
from mapper.compile import Options, compile_model
from mapper.execute.run import Executor, unrolled
from tests.tools.graphs import Writer
from tests.tools.layers import small_chip
from tests.unit.fixtures_check import chip, golden, put

ORDERS = 20
BOTH_SIDES = (-1, 1)
Mutants = Iterator[tuple[str, str, Program]]  # kind, label, Program
Numbers = dict[str, np.ndarray]


@dataclass(frozen=True)
class Subject:
    """A Program with what it is checked on, what its preloaded tensors hold, and what it must leave in DRAM."""

    name: str
    program: Program
    chip: Architecture
    loaded: Numbers
    expected: Numbers


# subjects -----------------------------------------------------------------------------------------------------


def subjects() -> tuple[Subject, ...]:
    """The golden Program, and compiled ones with halos, borders, guards, copies and MACs on the vector unit."""
    return (_golden(), *(_compiled(name) for name in _NETS))


@cache
def _golden() -> Subject:
    program = golden()
    draw = np.random.default_rng(11)
    limits = {"x": 4, "w1": 1, "b1": 20, "w2": 1}
    loaded = {
        tensor.name: draw.integers(-limits[tensor.name], limits[tensor.name] + 1, tensor.shape).astype(float)
        for tensor in program.tensors
        if tensor.preloaded
    }
    return Subject("golden", program, chip(), loaded, _outcome(program, loaded, 0, ("y1", "y2")))


@cache
def _compiled(name: str) -> Subject:
    """A small network, quantised; what it must compute is the model's interpreter's word, not its own."""
    to = Writer(random.Random(1))
    l1, acc, seed = _NETS[name](to)
    small = small_chip(l1, acc)
    lowered = lower_graph(to.graph(), batch=1, sha256="")
    graph = lowered.graph
    assert graph is not None
    constants, inputs = Constants(graph, {}, 5, {}), inputs_of(graph, 5, {})
    numbers = Quantised(lowered, constants, reference.real(graph, constants, inputs), dict(small.dtypes), {})
    scales = {tensor: (item.scale, item.zero) for tensor, item in numbers.elements.items()}
    program = compile_model(lowered.workload, small, Options(random=seed, numbers=scales)).program
    values = reference.quantised(graph, numbers, inputs)
    tensors = lowered.workload.tensors
    loaded = {key: to_memory(tensors[key], array) for key, array in numbers.contents.items()}
    loaded |= {key: to_memory(tensors[key], array) for key, array in inputs.items()}
    written = _written(program)
    expected = {
        key: to_memory(tensors[key], values[value])
        for key, value in lowered.values.items()
        if tensors[key].view is None and tensors[key].kind == "output" and key in written
    }
    assert expected and all(np.ptp(array) > 0 for array in expected.values()), name
    return Subject(name, program, small, loaded, expected)


def _halo(to: Writer) -> tuple[int, int, str]:
    to.source("x", (1, 3, 14, 9))
    to.add("Conv", to.last, to.weight((5, 3, 3, 3)), to.weight((5,)), pads=(1, 1, 1, 1))
    to.add("Relu", to.last)
    return 1 << 10, 1 << 9, ""


def _residual(to: Writer) -> tuple[int, int, str]:
    to.source("x", (1, 4, 6, 6))
    to.add("Conv", to.last, to.weight((4, 4, 1, 1)))
    kept = to.last
    to.add("Conv", to.last, to.weight((4, 4, 3, 3)), to.weight((4,)), pads=(1, 1, 1, 1))
    to.add("Add", to.last, kept)
    to.add("Relu", to.last)
    return 1 << 12, 1 << 10, ""


def _pools(to: Writer) -> tuple[int, int, str]:
    to.source("x", (1, 4, 9, 7))
    to.add("MaxPool", to.last, kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(2, 2))
    to.add("AveragePool", to.last, kernel_shape=(3, 2), pads=(1, 0, 1, 1))
    to.add("Softmax", to.last, axis=1)
    return 1 << 10, 1 << 9, "3"


def _depthwise(to: Writer) -> tuple[int, int, str]:
    to.source("x", (1, 6, 7, 7))
    to.add("Conv", to.last, to.weight((6, 1, 3, 3)), to.weight((6,)), group=6, pads=(1, 1, 1, 1), strides=(2, 2))
    to.add("LeakyRelu", to.last, alpha=0.2)
    return 1 << 10, 1 << 9, "12"


def _copies(to: Writer) -> tuple[int, int, str]:
    to.source("x", (1, 4, 5, 6))
    before = to.last
    to.add("Sigmoid", to.last)
    to.add("Concat", to.last, before, axis=1)
    to.add("Pad", to.last, to.ints(0, 0, 1, 0, 0, 1, 0, 2))
    return 1 << 10, 1 << 9, "2"


_NETS = {"halo": _halo, "residual": _residual, "pools": _pools, "depthwise": _depthwise, "copies": _copies}


# judging ------------------------------------------------------------------------------------------------------


def judge(subject: Subject, mutant: Program, orders: int = ORDERS) -> str:
    """'checker', 'numbers', or '' for one that survives."""
    try:
        check(mutant, subject.chip)
    except ProgramError:
        return "checker"
    try:
        steps = unrolled(mutant)
        for seed in range(orders):
            found = _outcome(mutant, subject.loaded, seed, tuple(subject.expected), steps)
            if any(not np.array_equal(found[name], subject.expected[name]) for name in subject.expected):
                return "numbers"
    except ProgramError:
        return "numbers"
    return ""


def _outcome(
    program: Program, loaded: Numbers, seed: int, names: tuple[str, ...], steps: Any = None
) -> dict[str, np.ndarray]:
    executor = Executor(program, seed=seed, steps=steps)
    held = {tensor.name for tensor in program.tensors if tensor.preloaded}
    for name, values in loaded.items():
        if name in held:
            executor.fill(name, values)
    executor.run()
    return {name: executor.values(name) for name in names}


def _written(program: Program) -> set[str]:
    commands = [c for queue in program.queues for c in commands_of(queue.body)]
    return {region.store for item in commands for region in item.writes}


# mutants ------------------------------------------------------------------------------------------------------


def mutants(program: Program) -> Mutants:
    """Every small mistake in a Program: kind, a label that says which, the Program with it."""
    for queue in program.queues:
        for item in commands_of(queue.body):
            yield from token_mutants(program, item)
            yield from _extent_mutants(program, item)
            yield from _region_mutants(program, item)
            yield from _work_mutants(program, item)
            yield "remove command", item.name, put(program, item)
        yield from _swap_mutants(program, queue, queue.body)
    yield from _store_mutants(program)
    for semaphore in program.semaphores:
        more = tuple(replace(s, initial=s.initial + 1) if s is semaphore else s for s in program.semaphores)
        yield "initial tokens", semaphore.name, replace(program, semaphores=more)


def token_mutants(program: Program, item: Command) -> Mutants:
    """Each token dropped, doubled, and taken or given always or at the other end of a loop."""
    for field, verb in (("waits", "wait"), ("signals", "signal")):
        tokens = getattr(item, field)
        for at, token in enumerate(tokens):
            rest, label = (tokens[:at], tokens[at + 1 :]), f"{verb} {token.name} of {item.name}"
            yield "drop token", label, put(program, item, replace(item, **{field: rest[0] + rest[1]}))
            variants = [("double token", replace(token, n=2))]
            if token.when:
                edge = token.when[0]
                other = LoopEdge("last" if edge.kind == "first" else "first", edge.var, edge.negated)
                variants += [("token always", replace(token, when=()))]
                variants += [("token at the other end", replace(token, when=(other, *token.when[1:])))]
            for kind, new in variants:
                yield kind, label, put(program, item, replace(item, **{field: (*rest[0], new, *rest[1])}))


def _extent_mutants(program: Program, item: Command) -> Mutants:
    for at, extent in enumerate(item.extents):
        changed = [("change extent", replace(extent, size=extent.size + step)) for step in BOTH_SIDES]
        changed += [("drop limit", replace(extent, limits=()))] if extent.limits else []
        for kind, new in changed:
            extents = (*item.extents[:at], new, *item.extents[at + 1 :])
            label = f"{extent.dim}={new.size} of {item.name}"
            yield kind, label, put(program, item, replace(item, extents=extents))


def _region_mutants(program: Program, item: Command) -> Mutants:
    for field in ("reads", "writes"):
        regions = getattr(item, field)
        for at, region in enumerate(regions):
            for kind, what, new in _wrong_regions(region):
                changed = {field: (*regions[:at], new, *regions[at + 1 :])}
                yield kind, f"{what} of {item.name}", put(program, item, replace(item, **changed))


def _wrong_regions(region: Region) -> Iterator[tuple[str, str, Region]]:
    """Shifted by an element and by each stride, a stride doubled, clips forgotten or shifted."""
    steps = sorted({region.element_bytes, *(stride for _, stride in region.strides if stride)})
    for step in (sign * size for size in steps for sign in BOTH_SIDES):
        offset = replace(region.offset, const=region.offset.const + step)
        yield "shift region", f"{region.operand}{step:+d}", replace(region, offset=offset)
    for at, (dim, stride) in enumerate(region.strides):
        strides = (*region.strides[:at], (dim, 2 * stride), *region.strides[at + 1 :])
        yield "double stride", f"{dim} of {region.operand}", replace(region, strides=strides)
    for at, (var, coefficient) in enumerate(region.offset.terms):
        terms = (*region.offset.terms[:at], (var, coefficient + region.element_bytes), *region.offset.terms[at + 1 :])
        yield (
            "step of a loop",
            f"{var} of {region.operand}",
            replace(region, offset=replace(region.offset, terms=terms)),
        )
    if region.clips:
        yield "drop clips", region.operand, replace(region, clips=())
        for at, item in enumerate(region.clips):
            start = replace(item.start, const=item.start.const + 1)
            clips = (*region.clips[:at], replace(item, start=start), *region.clips[at + 1 :])
            yield "shift clip", f"{item.dim} of {region.operand}", replace(region, clips=clips)


def _work_mutants(program: Program, item: Command) -> Mutants:
    """What is computed: start of an accumulation, bias, guards, functions, fill."""
    changes: list[tuple[str, dict[str, Any]]] = []
    if item.op == "MATMUL" or item.function == "mac":
        changes.append(("change fresh", {"fresh": () if item.fresh else (LoopEdge("first", "none", True),)[:0]}))
        if item.fresh:
            changes.append(("change fresh", {"fresh": (replace(item.fresh[0], negated=True), *item.fresh[1:])}))
        bias = [region for region in item.reads if region.operand in ("bias", "in2")]
        changes += (
            [("drop bias", {"reads": tuple(region for region in item.reads if region not in bias)})] if bias else []
        )
    if item.guards:
        changes.append(("drop guards", {"guards": ()}))
    if item.op == "VECTOR" and item.function != "mac":
        changes.append(("change function", {"functions": (*item.functions, Function("neg"))}))
        if len(item.functions) > 1:
            changes.append(("change function", {"functions": item.functions[:-1]}))
    if item.op == "MOVE" and any(region.clips for region in item.reads):
        changes.append(("change fill", {"fill": item.fill + 1}))
    for kind, change in changes:
        if any(getattr(item, key) != value for key, value in change.items()):
            yield kind, item.name, put(program, item, replace(item, **change))


def _swap_mutants(program: Program, queue: Queue, body: tuple[ProgramNode, ...]) -> Mutants:
    for at in range(len(body) - 1):
        first, second = body[at], body[at + 1]
        swapped = (*body[:at], second, first, *body[at + 2 :])
        label = f"{_label(first)} and {_label(second)} in {queue.engine}"
        yield "swap commands", label, _with_body(program, queue, body, swapped)
    for node in body:
        if isinstance(node, CommandLoop):
            yield from _swap_mutants(program, queue, node.body)


def _with_body(program: Program, queue: Queue, old: tuple[ProgramNode, ...], new: tuple[ProgramNode, ...]) -> Program:
    def inside(body: tuple[ProgramNode, ...]) -> tuple[ProgramNode, ...]:
        if body is old:
            return new
        return tuple(replace(node, body=inside(node.body)) if isinstance(node, CommandLoop) else node for node in body)

    queues = tuple(replace(q, body=inside(q.body)) if q is queue else q for q in program.queues)
    return replace(program, queues=queues)


def _label(node: ProgramNode) -> str:
    return f"loop {node.var}" if isinstance(node, CommandLoop) else node.name


def _store_mutants(program: Program) -> Mutants:
    for ring in program.rings:
        width = max(1, ring.slot_bytes // 4)
        yield from _changed(program, "shrink ring", ring, "slots", (ring.slots - 1,))
        yield from _changed(program, "shrink ring", ring, "slot_bytes", (ring.slot_bytes - 1, ring.slot_bytes - width))
        yield from _changed(program, "move store", ring, "base", (ring.base - 16, ring.base + 16))
        yield from _changed(program, "change scale", ring, "scale", (ring.scale * 2,))
        if ring.retain:
            yield from _changed(program, "change halo", ring, "retain", (ring.retain - 1, ring.retain + 1))
    for tensor in program.tensors:
        yield from _changed(program, "shrink tensor", tensor, "size_bytes", (tensor.size_bytes - 1,))
        yield from _changed(program, "move store", tensor, "base", (tensor.base + 16,))
        yield from _changed(program, "change scale", tensor, "scale", (tensor.scale * 2,))
        yield from _changed(program, "unload", tensor, "preloaded", (False,) if tensor.preloaded else ())


def _changed(program: Program, kind: str, store: PlacedTensor | Ring, field: str, values: tuple[Any, ...]) -> Mutants:
    for value in values:
        other = replace(store, **{field: value})
        tensors = tuple(other if item is store else item for item in program.tensors)
        rings = tuple(other if item is store else item for item in program.rings)
        yield kind, f"{field}={value} of {store.name}", replace(program, tensors=tensors, rings=rings)  # type: ignore[arg-type]


# the campaign -------------------------------------------------------------------------------------------------

# Why a mutant may survive: its kind and a word of its label. What the checker accepts has no race under any order, and
# right numbers under one order of a race-free Program are right under all: a survivor is equivalent. These say how.
REASONS: tuple[tuple[str, str, str], ...] = (
    ("swap commands", "", "two commands of a queue that nobody needs in this order"),
    ("shrink ring", "slots=", "slower, not wrong: with fewer slots the writer waits for more tokens"),
    ("move store", "base=", "the bytes it moves to are free, or free at that time"),
    (
        "token at the other end",
        "signal",
        "the slot is given back before its last use, but nothing later takes its bytes",
    ),
    ("token at the other end", "wait", "what it waits for touches other bytes than the commands before the wait"),
    ("change extent", ".border", "zeros where zeros lie or where the contents come later"),
    ("drop limit", "conv1.load_x", "the rows below the image are clipped, and the slot has room for their fill"),
    ("change fill", "maxpool0.", "guards keep what lies in the padding out of the maximum"),
    ("step of a loop", "maxpool0.p of src", "the loop makes one trip where it counts"),
)
HARMLESS = ("swap commands", "shrink ring", "move store")  # kinds that are no mistakes as such


def reason(kind: str, label: str) -> str:
    """Why a survivor is equivalent; '' when no rule says so."""
    return next((why for other, word, why in REASONS if other == kind and word in label), "")


@dataclass
class Campaign:
    """What became of every mutant of one subject: (kind, verdict) -> number; survivors by kind and label."""

    subject: str
    counts: Counter[tuple[str, str]]
    survivors: list[tuple[str, str]]

    @property
    def unexplained(self) -> list[tuple[str, str]]:
        """Survivors that no rule explains."""
        return [(kind, label) for kind, label in self.survivors if not reason(kind, label)]


def score(counts: Counter[tuple[str, str]]) -> tuple[float, float]:
    """(share caught of all mutants, share caught of those of kinds that are mistakes as such)."""
    whole, mistakes = sum(counts.values()), sum(n for (kind, _), n in counts.items() if kind not in HARMLESS)
    left = sum(n for (_, verdict), n in counts.items() if not verdict)
    wrong = sum(n for (kind, verdict), n in counts.items() if not verdict and kind not in HARMLESS)
    return 1 - left / whole, 1 - wrong / mistakes


def campaign(subject: Subject) -> Campaign:
    """Judge all mutants of a subject."""
    counts: Counter[tuple[str, str]] = Counter()
    survivors = []
    for kind, label, mutant in mutants(subject.program):
        verdict = judge(subject, mutant)
        counts[kind, verdict] += 1
        if not verdict:
            survivors.append((kind, label))
    return Campaign(subject.name, counts, survivors)


def main() -> int:
    """Print the score by kind and every survivor with its reason; 1 when one has none."""
    total: Counter[tuple[str, str]] = Counter()
    unexplained = 0
    for subject in subjects():
        done = campaign(subject)
        total.update(done.counts)
        unexplained += len(done.unexplained)
        for kind, label in done.survivors:
            print(f"survives: {subject.name}: {kind}: {label}: {reason(kind, label) or 'NO REASON'}")
    kinds = sorted({kind for kind, _ in total})
    print(f"{'kind':24}{'mutants':>8}{'checker':>9}{'numbers':>9}{'survive':>9}")
    for kind in kinds:
        row = [total[kind, verdict] for verdict in ("checker", "numbers", "")]
        print(f"{kind:24}{sum(row):8}{row[0]:9}{row[1]:9}{row[2]:9}")
    whole, mistakes = score(total)
    print(f"caught: {whole:.2%} of all, {mistakes:.2%} of the kinds that are mistakes as such; ", end="")
    print(f"{unexplained} survivors are not shown to be equivalent")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
