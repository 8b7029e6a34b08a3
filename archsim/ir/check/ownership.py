"""Who may take and give which token, and who may touch which ring: the rules that make tokens a marked graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from archsim.errors import ProgramError
from archsim.ir.check.declarations import known_name
from archsim.ir.program import Command, Loop, Node, Program, Queue, Ring, Tensor, Token


def commands_of(body: tuple[Node, ...]) -> Iterator[Command]:
    """Every command text of a body, in order."""
    for node in body:
        if isinstance(node, Loop):
            yield from commands_of(node.body)
        else:
            yield node


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
            owners.check_stores(queue, command)
            owners.check_retain(queue, command)


class _Owners:
    """Lookups of a Program's tokens and stores, and who was seen waiting on each semaphore."""

    def __init__(self, program: Program) -> None:
        stores: list[Tensor | Ring] = [*program.tensors, *program.rings]
        self.stores = {store.name: store for store in stores}
        self.rings = {f"{ring.name}.{kind}": (ring, kind) for ring in program.rings for kind in ("free", "full")}
        self.tokens = {**dict.fromkeys(self.rings), **dict.fromkeys(item.name for item in program.semaphores)}
        self.waiters: dict[str, tuple[str, str]] = {}
        self.takers: dict[str, Collection[str]] = {}
        everyone = {queue.name for queue in program.queues}
        self.givers: dict[str, Collection[str]] = {item.name: everyone for item in program.semaphores}
        for token, (ring, kind) in self.rings.items():
            sides = (ring.writer,), ring.readers
            self.takers[token], self.givers[token] = sides if kind == "free" else sides[::-1]

    def check_tokens(self, queue: Queue, command: Command) -> None:
        """Tokens are known, counts positive, ring tokens taken and given by their owners, one waiter each."""
        name = queue.name
        for token in command.waits:
            if token.n < 1 or name not in self.takers.get(token.name, ()):
                self._check_token(queue, token, f"{command.name} of {queue.name} waits for", taking=True)
                self._check_waiter(queue, command, token)
        for token in command.signals:
            if token.n < 1 or name not in self.givers.get(token.name, ()):
                self._check_token(queue, token, f"{command.name} of {queue.name} signals", taking=False)

    def _check_token(self, queue: Queue, token: Token, what: str, taking: bool) -> None:
        if token.name not in self.tokens:
            known_name(token.name, self.tokens, f"{what} unknown token")
        if token.n < 1:
            raise ProgramError(f"{what} {token.n} tokens of '{token.name}'; allowed 1 or more")
        if token.name not in self.rings:
            return
        allowed = (self.takers if taking else self.givers)[token.name]
        if queue.name not in allowed:
            part = "writer" if taking == (self.rings[token.name][1] == "free") else "readers"
            raise ProgramError(f"{what} '{token.name}'; only the {part} of the ring may: {', '.join(allowed)}")

    def _check_waiter(self, queue: Queue, command: Command, token: Token) -> None:
        if token.name in self.rings:
            return
        first, where = self.waiters.setdefault(token.name, (queue.name, command.name))
        self.takers[token.name] = (first,)
        if first != queue.name:
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
        if not command.retains:
            return
        rings = [self.rings[token.name][0] for token in command.waits if token.name in self.rings]
        if not any(ring.retain for ring in rings):
            raise ProgramError(
                f"{command.name} of {queue.name} is flagged 'retains' but takes no slot of a ring with retain > 0"
            )
