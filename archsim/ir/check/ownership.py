"""Who may take and give which token, and who may touch which ring: the rules that make tokens a marked graph."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import NoReturn

from archsim.base.errors import ProgramError
from archsim.ir.check.declarations import known_name
from archsim.ir.program import Command, Loop, Node, Program, Queue, Ring, Tensor, Token


def commands_of(body: tuple[Node, ...]) -> list[Command]:
    """Every command text of a body, in order."""
    found: list[Command] = []
    for node in body:
        if isinstance(node, Loop):
            found += commands_of(node.body)
        else:
            found.append(node)
    return found


def check_ownership(program: Program) -> None:
    """Raise ProgramError when a queue takes, gives or touches what is not its own."""
    queues = dict.fromkeys(queue.name for queue in program.queues)
    for ring in program.rings:
        if ring.writer not in queues:
            known_name(ring.writer, queues, f"ring '{ring.name}': unknown writer queue")
        for reader in ring.readers:
            if reader not in queues:
                known_name(reader, queues, f"ring '{ring.name}': unknown reader queue")
    owners = _Owners(program)
    for queue in program.queues:
        for command in commands_of(queue.body):
            owners.check_tokens(queue, command)
            if command.reads or command.writes:
                owners.check_stores(queue, command)
            if command.retains:
                owners.check_retain(queue, command)


class _Owners:
    """Lookups of a Program's tokens and stores; ``takers`` and ``givers`` by token, of semaphores as they are seen."""

    def __init__(self, program: Program) -> None:
        stores: list[Tensor | Ring] = [*program.tensors, *program.rings]
        self.program = program
        self.stores = {store.name: store for store in stores}
        self.semaphores = {item.name for item in program.semaphores}
        self.everyone = {queue.name for queue in program.queues}
        self.takers: dict[str, Collection[str]] = {}
        self.givers: dict[str, Collection[str]] = {}
        for ring in program.rings:
            self.takers[f"{ring.name}.free"] = self.givers[f"{ring.name}.full"] = (ring.writer,)
            self.takers[f"{ring.name}.full"] = self.givers[f"{ring.name}.free"] = ring.readers

    @cached_property
    def rings(self) -> dict[str, tuple[Ring, str]]:
        """Ring and kind of each of its tokens."""
        return {f"{ring.name}.{kind}": (ring, kind) for ring in self.program.rings for kind in ("free", "full")}

    def check_tokens(self, queue: Queue, command: Command) -> None:
        """Tokens are known, counts positive, ring tokens taken and given by their owners, one waiter each."""
        name, takers, givers = queue.name, self.takers, self.givers
        for token in command.waits:
            allowed = takers.get(token.name)
            if allowed is None and token.name in self.semaphores:
                allowed = takers[token.name] = (name,)
            if allowed is None or name not in allowed or token.n < 1:
                self._check_token(queue, token, f"{command.name} of {queue.name} waits for", taking=True)
                self._refuse_waiter(queue, command, token)
        for token in command.signals:
            allowed = givers.get(token.name)
            if allowed is None and token.name in self.semaphores:
                allowed = givers[token.name] = self.everyone
            if allowed is None or name not in allowed or token.n < 1:
                self._check_token(queue, token, f"{command.name} of {queue.name} signals", taking=False)

    def _check_token(self, queue: Queue, token: Token, what: str, taking: bool) -> None:
        tokens = {*self.rings, *self.semaphores}
        if token.name not in tokens:
            known_name(token.name, tokens, f"{what} unknown token")
        if token.n < 1:
            raise ProgramError(f"{what} {token.n} tokens of '{token.name}'; allowed 1 or more")
        if token.name not in self.rings:
            return
        allowed = (self.takers if taking else self.givers)[token.name]
        if queue.name not in allowed:
            part = "writer" if taking == (self.rings[token.name][1] == "free") else "readers"
            raise ProgramError(f"{what} '{token.name}'; only the {part} of the ring may: {', '.join(allowed)}")

    def _refuse_waiter(self, queue: Queue, command: Command, token: Token) -> NoReturn:
        (first,) = self.takers[token.name]
        body = next(other.body for other in self.program.queues if other.name == first)
        where = next(c.name for c in commands_of(body) if any(wait.name == token.name for wait in c.waits))
        raise ProgramError(
            f"semaphore '{token.name}' is waited on by two queues: {where} of {first} and "
            f"{command.name} of {queue.name}; a semaphore has exactly one waiting queue"
        )

    def check_stores(self, queue: Queue, command: Command) -> None:
        """Operands name known stores; a ring is written by its writer and read by its readers (or its writer)."""
        for region in (*command.reads, *command.writes):
            if region.store not in self.stores:
                known_name(region.store, self.stores, f"{command.name} of {queue.name}: unknown tensor or ring")
        for region in command.writes:
            store = self.stores[region.store]
            if isinstance(store, Ring) and queue.name != store.writer:
                raise ProgramError(
                    f"{command.name} of {queue.name} writes ring '{store.name}', whose writer is {store.writer}"
                )
        for region in command.reads:
            store = self.stores[region.store]
            if isinstance(store, Ring) and queue.name not in (store.writer, *store.readers):
                readers = ", ".join(store.readers)
                raise ProgramError(
                    f"{command.name} of {queue.name} reads ring '{store.name}', whose readers are {readers}"
                )

    def check_retain(self, queue: Queue, command: Command) -> None:
        """A command flagged ``retains`` takes a slot of a ring that keeps a halo."""
        rings = [self.rings[token.name][0] for token in command.waits if token.name in self.rings]
        if not any(ring.retain for ring in rings):
            raise ProgramError(
                f"{command.name} of {queue.name} is flagged 'retains' but takes no slot of a ring with retain > 0"
            )
