"""What engines send over a network, whose room does not know theirs."""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """``flits`` of payload from a node to one or more; the network cuts them into packets and adds their headers."""

    source: int
    targets: tuple[int, ...]
    flits: int


class MessageBatch(NamedTuple):
    """Messages that enter the network together; after a ``request``: at the first edge after that has arrived."""

    messages: tuple[Message, ...]
    request: Message | None = None


class SentRoute(NamedTuple):
    """From where to where a move sends, from any address on, parts of which each is a message.

    From ``source`` to the port whose turn an address of ``message_bytes`` is, or to ``targets`` where there are no
    ports; without a source from the ports to ``targets``, asked for by ``node`` with ``request_flits`` each, if these
    are not 0.
    """

    source: int | None
    targets: tuple[int, ...]
    ports: tuple[int, ...]
    node: int
    request_flits: int
    message_bytes: int
