"""Unrolling against the definition, word for word: loops in order, every condition asked of the loop indices."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from archsim.ir.program import Affine, Command, CommandLoop, Extent, LoopEdge, ProgramNode, Queue, Token, When
from archsim.ir.unroll import unroll

Run = tuple[Command, dict[str, int], dict[str, int]]
DEEPEST = 3


def conditions(loops: int) -> st.SearchStrategy[When]:
    """Conditions over the variables v0, v1, ... of so many loops."""
    if not loops:
        return st.just(())
    variables = st.sampled_from([f"v{n}" for n in range(loops)])
    edges = st.builds(LoopEdge, st.sampled_from(("first", "last")), variables, st.booleans())
    return st.lists(edges, max_size=3).map(tuple)


@st.composite
def commands(draw: st.DrawFn, loops: int) -> Command:
    """A command inside so many loops."""
    tokens = st.lists(st.builds(Token, st.sampled_from("ab"), st.integers(1, 2), conditions(loops)), max_size=3).map(
        tuple
    )
    terms = tuple((f"v{n}", draw(st.integers(-2, 1))) for n in range(loops))
    limits = draw(st.sampled_from(((), (Affine(3, terms),))))
    return Command(
        "c", "SYNC", "layer", waits=draw(tokens), signals=draw(tokens), when=draw(conditions(loops)),
        fresh=draw(conditions(loops)), extents=(Extent("x", 4, limits), Extent("y", 2)),
    )  # fmt: skip


@st.composite
def nodes(draw: st.DrawFn, loops: int = 0) -> ProgramNode:
    """A command, or a loop of nodes."""
    if loops == DEEPEST or draw(st.booleans()):
        return draw(commands(loops))
    body = draw(st.lists(nodes(loops + 1), min_size=1, max_size=2))
    return CommandLoop(f"v{loops}", draw(st.integers(1, 3)), tuple(body))


def runs(node: ProgramNode, env: dict[str, int], trips: dict[str, int]) -> Iterator[Run]:
    """Every repetition of a node, whether its condition holds or not."""
    if isinstance(node, Command):
        yield node, env, trips
        return
    for value in range(node.trips):
        for each in node.body:
            yield from runs(each, {**env, node.var: value}, {**trips, node.var: node.trips})


def holds(when: When, env: dict[str, int], trips: dict[str, int]) -> bool:
    """Whether every literal is true."""
    ends = {"first": lambda var: env[var] == 0, "last": lambda var: env[var] == trips[var] - 1}
    return all(ends[edge.kind](edge.var) != edge.negated for edge in when)


def tokens(listed: tuple[Token, ...], env: dict[str, int], trips: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Those whose condition holds."""
    return tuple((token.name, token.n) for token in listed if holds(token.when, env, trips))


@given(st.lists(nodes(), min_size=1, max_size=3))
def test_commands_are_those_whose_conditions_hold_with_the_tokens_whose_conditions_hold(
    body: list[ProgramNode],
) -> None:
    expected = [
        (
            command,
            env,
            {extent.dim: extent.at(env) for extent in command.extents},
            tokens(command.waits, env, trips),
            tokens(command.signals, env, trips),
            holds(command.fresh, env, trips),
        )
        for node in body
        for command, env, trips in runs(node, {}, {})
        if holds(command.when, env, trips)
    ]
    steps = list(unroll(Queue("core[0].array", "array", "mxu", tuple(body))))
    assert [(s.command, s.env, s.extents, s.waits, s.signals, s.fresh) for s in steps] == expected
    assert [step.index for step in steps] == list(range(len(expected)))


def test_repetitions_share_their_extents_tokens_and_what_is_kept_of_them() -> None:
    command = Command("c", "SYNC", "layer", waits=(Token("a"),), extents=(Extent("x", 4),))
    other = Command("d", "SYNC", "layer", waits=(Token("a"),))
    queue = Queue("core[0].array", "array", "mxu", (CommandLoop("v0", 2, (command, other)),))
    first, between, second, _ = unroll(queue)
    assert first.extents is second.extents
    assert first.kept is second.kept is not between.kept
    assert first.waits is second.waits is between.waits


def test_what_is_made_of_tokens_is_made_once_for_all_commands_that_share_them() -> None:
    made: list[tuple[tuple[str, int], ...]] = []

    def takes(waits: tuple[tuple[str, int], ...]) -> int:
        made.append(waits)
        return len(made)

    first = Command("c", "SYNC", "layer", waits=(Token("a"), Token("b", when=(LoopEdge("first", "v0"),))))
    other = Command("d", "SYNC", "layer", waits=(Token("a"),), signals=(Token("e"),))
    queue = Queue("core[0].array", "array", "mxu", (CommandLoop("v0", 3, (first, other)),))
    steps = list(unroll(queue, takes, dict))
    assert made == [(("a", 1), ("b", 1)), (("a", 1),)]
    assert [step.takes for step in steps] == [1, 2, 2, 2, 2, 2]
    assert [step.gives for step in steps] == [{}, {"e": 1}] * 3
    assert steps[1].gives is steps[3].gives


def test_a_command_may_begin_anew_in_all_trips_but_the_first() -> None:
    fresh = (LoopEdge("first", "i", negated=True),)
    body = CommandLoop("i", 3, (Command("c", "SYNC", "layer", fresh=fresh),))
    assert [step.fresh for step in unroll(Queue("q", "core[0]", "array", (body,)))] == [False, True, True]
