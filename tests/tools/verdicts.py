"""Verdicts of the Program checker of two trees of this project, held against each other.

python -m tests.tools.verdicts TREE [CASES [SEED]]     compares this tree's checker with that of TREE

Both judge the golden Program and compiled ones, all their mutants, Programs drawn at random from the grammar, compiled
random layers on random chips and Programs of many cores, and mutants of these: some of one mistake, some of two or
three. A verdict is what the checker says, word for word, or that it accepts. Programs are drawn here and judged in one
process for each tree.
"""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from archsim.base.errors import ArchsimError
from archsim.ir.program import Command, CommandLoop, LoopEdge, Program, ProgramNode
from archsim.spec.architecture import Architecture
from mapper.compile import Options, compile_model
from tests.laws.many_cores import gemm_cores, grid
from tests.laws.program_strategies import programs
from tests.tools.fuzz import random_chip
from tests.tools.layers import random_net
from tests.tools.mutants import mutants, subjects
from tests.unit.fixtures_check import chip

Case = tuple[str, Program, Architecture]
ROOT = Path(__file__).resolve().parents[2]
_JUDGE = """
import pickle, sys
from archsim.base.errors import ArchsimError
from archsim.ir.check.program import check
found = []
with open(sys.argv[1], "rb") as cases:
    while True:
        try:
            name, program, architecture = pickle.load(cases)
        except EOFError:
            break
        try:
            check(program, architecture)
            found.append((name, ""))
        except Exception as error:
            found.append((name, f"{type(error).__name__}: {error}"))
with open(sys.argv[2], "wb") as out:
    pickle.dump(found, out)
"""


def cases(count: int, start: int) -> Iterator[Case]:
    """``count`` random Programs of each kind, with mutants of those that are compiled."""
    for subject in subjects():
        yield subject.name, subject.program, subject.chip
        for kind, label, mutant in mutants(subject.program):
            yield f"{subject.name}: {kind} {label}", mutant, subject.chip
    yield from _drawn(count, start)
    for number in range(count):
        pick = random.Random(f"verdicts {start} {number}")
        for name, program, architecture in _compiled(number, pick):
            yield name, program, architecture
            for each in range(20):
                yield f"{name} mutant {each}", mutated(program, pick), architecture


def _drawn(count: int, start: int) -> list[Case]:
    """Programs of the grammar: most are refused at once."""
    found: list[Case] = []

    @seed(start)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def draw(program: Program) -> None:
        found.append((f"drawn {len(found)}", program, chip()))

    draw()
    return found


def _compiled(number: int, pick: random.Random) -> Iterator[Case]:
    """A random layer on a random chip, and a product on some cores."""
    _, workload = random_net(pick.randrange(10**6))
    architecture = random_chip(pick)
    try:
        compiled = compile_model(workload, architecture, Options())
        yield f"layers {number}", compiled.program, architecture
    except ArchsimError:
        pass
    if number % 4 == 0:
        yield f"cores {number}", gemm_cores(pick.choice((2, 4)), pick.randrange(1, 4)), grid()


def mutated(program: Program, pick: random.Random) -> Program:
    """A Program with one to three mistakes."""
    for _ in range(pick.choice((1, 1, 1, 2, 3))):
        program = pick.choice(_MISTAKES)(program, pick)
    return program


def _each(
    body: tuple[ProgramNode, ...], at: list[int], change: Callable[[ProgramNode], Any]
) -> tuple[ProgramNode, ...]:
    """A body in which ``change`` replaces node number ``at[0]``, loops counted before what is in them, by some."""
    found: list[ProgramNode] = []
    for node in body:
        at[0] -= 1
        if at[0] == -1:
            found += change(node)
        elif isinstance(node, CommandLoop):
            inner = _each(node.body, at, change)
            found += [replace(node, body=inner)] if inner else []
        else:
            found.append(node)
    return tuple(found)


def _nodes(body: tuple[ProgramNode, ...]) -> list[ProgramNode]:
    return [each for node in body for each in (node, *(_nodes(node.body) if isinstance(node, CommandLoop) else ()))]


def _changed(
    program: Program, pick: random.Random, fits: Callable[[ProgramNode], bool], change: Callable[[Any], Any]
) -> Program:
    """With one node that ``fits`` changed."""
    queues = list(program.queues)
    places = [(q, n) for q, queue in enumerate(queues) for n, node in enumerate(_nodes(queue.body)) if fits(node)]
    if not places:
        return program
    queue, node = pick.choice(places)
    queues[queue] = replace(queues[queue], body=_each(queues[queue].body, [node], change))
    return replace(program, queues=tuple(queues))


def _has_tokens(node: ProgramNode) -> bool:
    return isinstance(node, Command) and bool(node.waits or node.signals)


def _has_regions(node: ProgramNode) -> bool:
    return isinstance(node, Command) and bool(node.reads or node.writes)


def _wrong_tokens(program: Program, pick: random.Random) -> Program:
    """A token is dropped, doubled, given a condition or none, or moved to another command."""

    def change(command: Command) -> list[Command]:
        field = pick.choice([name for name in ("waits", "signals") if getattr(command, name)])
        tokens = list(getattr(command, field))
        number = pick.randrange(len(tokens))
        token = tokens[number]
        edges = [edge for each in (*command.waits, *command.signals) for edge in each.when]
        kind = pick.randrange(4)
        if kind == 0:
            del tokens[number]
        elif kind == 1:
            tokens[number] = replace(token, n=token.n + pick.choice((1, 1, 2)))
        elif kind == 2 and edges:
            tokens[number] = replace(token, when=(pick.choice(edges),))
        else:
            tokens[number] = replace(token, when=tuple(_turned(edge) for edge in token.when[:1]))
        return [replace(command, **{field: tuple(tokens)})]

    return _changed(program, pick, _has_tokens, change)


def _turned(edge: LoopEdge) -> LoopEdge:
    return replace(edge, negated=not edge.negated)


def _moved_tokens(program: Program, pick: random.Random) -> Program:
    """The signals of one command are given by the one before it or behind it."""

    def change(loop: CommandLoop) -> list[CommandLoop]:
        body = list(loop.body)
        commands = [number for number, node in enumerate(body) if isinstance(node, Command)]
        if len(commands) < 2:
            return [loop]
        one, two = pick.sample(commands, 2)
        first, second = body[one], body[two]
        field = pick.choice(("waits", "signals"))
        body[one] = replace(first, **{field: ()})  # type: ignore[arg-type]
        body[two] = replace(second, **{field: (*getattr(second, field), *getattr(first, field))})  # type: ignore[arg-type]
        return [replace(loop, body=tuple(body))]

    return _changed(program, pick, lambda node: isinstance(node, CommandLoop), change)


def _wrong_regions(program: Program, pick: random.Random) -> Program:
    """An operand lies elsewhere, moves otherwise, is another store's, or lacks its clips."""
    stores = [item.name for item in (*program.tensors, *program.rings)]

    def change(command: Command) -> list[Command]:
        field = pick.choice([name for name in ("reads", "writes") if getattr(command, name)])
        regions = list(getattr(command, field))
        number = pick.randrange(len(regions))
        region = regions[number]
        kind = pick.randrange(4)
        offset = region.offset
        if kind == 0:
            offset = replace(offset, const=offset.const + pick.choice((-64, -8, -1, 1, 4, 16, 64)))
        elif kind == 1:
            offset = replace(offset, terms=offset.terms[1:])
        elif kind == 2:
            region = replace(region, clips=())
        else:
            region = replace(region, store=pick.choice(stores))
        regions[number] = replace(region, offset=offset)
        return [replace(command, **{field: tuple(regions)})]

    return _changed(program, pick, _has_regions, change)


def _wrong_trips(program: Program, pick: random.Random) -> Program:
    return _changed(
        program,
        pick,
        lambda node: isinstance(node, CommandLoop),
        lambda loop: [replace(loop, trips=max(1, loop.trips + pick.choice((-1, 1, 1))))],
    )


def _wrong_nodes(program: Program, pick: random.Random) -> Program:
    """A node is left out, there twice, or its body turned around."""
    kind = pick.randrange(3)

    def change(node: Any) -> list[Any]:
        if kind == 2 and isinstance(node, CommandLoop):
            return [replace(node, body=node.body[::-1])]
        return [node, node] if kind == 1 and isinstance(node, Command) else []

    return _changed(program, pick, lambda node: True, change)


def _wrong_stores(program: Program, pick: random.Random) -> Program:
    """A ring or tensor is smaller, elsewhere, kept longer, or not loaded; a semaphore begins otherwise."""
    rings, tensors, semaphores = list(program.rings), list(program.tensors), list(program.semaphores)
    kind = pick.randrange(3)
    if kind == 0 and rings:
        number = pick.randrange(len(rings))
        ring = rings[number]
        others = [queue.name for queue in program.queues if queue.name not in (ring.writer, *ring.readers)]
        more = [{"readers": (*ring.readers, pick.choice(others))}] if others else []
        rings[number] = replace(
            ring,
            **pick.choice(
                [
                    {"slots": max(1, ring.slots + pick.choice((-1, 1)))},
                    {"slot_bytes": max(1, ring.slot_bytes + pick.choice((-4, -1, 4)))},
                    {"base": ring.base + pick.choice((-256, -64, 64, 256))},
                    {"base": pick.choice(rings).base},
                    {"retain": pick.choice((0, 1, ring.slot_bytes // 2))},
                    *more,
                ]
            ),
        )
    elif kind == 1 and semaphores:
        number = pick.randrange(len(semaphores))
        semaphores[number] = replace(semaphores[number], initial=semaphores[number].initial + 1)
    elif tensors:
        number = pick.randrange(len(tensors))
        tensor = tensors[number]
        tensors[number] = replace(
            tensor,
            **pick.choice(
                [
                    {"preloaded": not tensor.preloaded},
                    {"base": tensor.base + pick.choice((-64, 64, 256))},
                    {"base": pick.choice(tensors).base},
                ]
            ),
        )
    return replace(program, rings=tuple(rings), tensors=tuple(tensors), semaphores=tuple(semaphores))


def _wrong_extents(program: Program, pick: random.Random) -> Program:
    """An extent is larger or smaller, or without limits; or a command starts afresh elsewhere."""

    def change(command: Command) -> list[Command]:
        if command.fresh and pick.random() < 0.3:
            return [replace(command, fresh=pick.choice(((), tuple(_turned(edge) for edge in command.fresh))))]
        extents = list(command.extents)
        number = pick.randrange(len(extents))
        extent = extents[number]
        changed = [{"size": extent.size + 1}, {"size": max(1, extent.size - 1)}, {"limits": extent.limits[1:]}]
        extents[number] = replace(extent, **pick.choice(changed))
        return [replace(command, extents=tuple(extents))]

    return _changed(program, pick, lambda node: isinstance(node, Command) and bool(node.extents), change)


_MISTAKES: list[Callable[[Program, random.Random], Program]] = [
    _wrong_tokens,
    _wrong_tokens,
    _wrong_tokens,
    _moved_tokens,
    _wrong_regions,
    _wrong_trips,
    _wrong_nodes,
    _wrong_stores,
    _wrong_stores,
    _wrong_extents,
]


def main() -> int:
    """Compare; the number of Programs with other verdicts, which are printed."""
    tree, count, start = Path(sys.argv[1]), *(int(word) for word in [*sys.argv[2:], "300", "0"][:2])
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "cases"
        with kept.open("wb") as out:
            for case in cases(count, start):
                pickle.dump(case, out)
        found = []
        for number, root in enumerate((tree, ROOT)):
            result = Path(folder) / str(number)
            environment = {**os.environ, "PYTHONPATH": str(root), "ARCHSIM_CACHE": str(Path(folder) / "cache")}
            subprocess.run([sys.executable, "-c", _JUDGE, kept, result], check=True, env=environment, cwd=root)
            found.append(pickle.loads(result.read_bytes()))
    apart = [(one, two) for one, two in zip(*found, strict=True) if one != two]
    for (name, one), (_, two) in apart:
        print(f"{name}\n  {tree}: {one or 'accepted'}\n  here: {two or 'accepted'}")
    kinds = Counter(text.split(":")[1].strip()[:24] if text else "accepted" for _, text in found[1])
    for kind, number in kinds.most_common(20):
        print(f"{number:7d}  {kind}")
    print(f"{len(found[0])} Programs, {len(apart)} with another verdict")
    return min(len(apart), 1)


if __name__ == "__main__":
    sys.exit(main())
