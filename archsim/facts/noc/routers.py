"""What every router takes, whatever its parameters, and the most ports that one may have."""

from __future__ import annotations

WIRE = 1  # cycles in a link beyond its delay: it is written at the end of one cycle and read at the start of another
CROSSBAR = 1  # cycles through the switch
MOST_PORTS = 60  # of sets of ports and of virtual channels, which are bits of one word


def port_words(ports: int) -> int:
    """Words that a set of so many ports takes where it may have several."""
    return -(-ports // MOST_PORTS)


def head_cycles(routing_delay: int, *, speculative: bool) -> int:
    """Cycles of a head in a router before it asks for the switch: ``routing_delay`` for its route, and one for a
    virtual channel unless it asks for the switch at the same time (``speculative``)."""
    return routing_delay + (0 if speculative else 1)
