"""What a network is to the machine: shipments in, deliveries out, simulated beside the event loop."""

from __future__ import annotations

from typing import NamedTuple


class MessageLoad(NamedTuple):
    """Batches as a network knows them, wherever in time they are sent; ``number``: there.

    ``least_cycles``: from the first edge at which they are there to the end, ``least_ps``: from when they are
    submitted, what they take at least. ``passed``: their flits (headers too) times the links that they pass, those from
    and to nodes not among them, and times the routers; of nested networks for each, innermost first, without the wires
    between them.
    """

    number: int
    least_cycles: int
    least_ps: int
    passed: tuple[tuple[int, int], ...]


class Shipment(NamedTuple):
    """A load on its way; it ends when all of it has arrived. Of one instant messages of a lower ``rank`` go first, of
    equal ranks those of the lower ``id``."""

    id: int
    load: MessageLoad
    rank: int = 0


class ShipmentDelivery(NamedTuple):
    """A shipment whose last flit has reached its last target."""

    id: int
    time_ps: int
