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
