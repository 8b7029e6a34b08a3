"""What a network is to the machine: messages in, deliveries out, simulated beside the event kernel."""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """``flits`` of payload from a node to one or more; the network cuts them into packets and adds their headers."""

    id: int
    source: int
    targets: tuple[int, ...]
    flits: int


class Delivery(NamedTuple):
    """A message whose last flit has reached its last target.

    ``link_flits``: flits of it (headers too) times the links that they passed, those from and to nodes not among them;
    ``router_flits``: times the routers. ``levels``: both of each of nested networks, innermost first, without the wires
    between them; empty where there is one.
    """

    id: int
    time_ps: int
    link_flits: int
    router_flits: int
    levels: tuple[tuple[int, int], ...] = ()
