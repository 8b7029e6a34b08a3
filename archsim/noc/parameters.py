"""What a router does, and how long it takes."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.base.errors import ConfigError, nearest
from archsim.facts.noc.routers import head_cycles

ALLOCATORS = ("islip", "separable_input_first", "wavefront", "max_size")
WHOLE_FLITS = 1 << 30  # of a message that is one packet
_MOST = {"vcs": 32, "vc_buffer": 1 << 16, "routing_delay": 64, "credit_delay": 64, "input_speedup": 4}
_LEAST = {"vcs": 1, "vc_buffer": 1, "routing_delay": 0, "credit_delay": 0, "input_speedup": 1}


@dataclass(frozen=True, slots=True)
class RouterParameters:
    """An input-queued router of four stages: route, channel, switch, wire; one flit a cycle through each port.

    ``vcs`` virtual channels for each port with buffers of ``vc_buffer`` flits. ``routing_delay`` cycles for the route
    (0: looked up one router ahead); ``credit_delay`` cycles beyond a credit's way back. ``speculative``: a head asks
    for the switch while it asks for a channel. ``wait_for_tail_credit``: a channel is free again when its buffer is
    empty, not when the tail has left for it. ``hold_switch``: a packet keeps its way through the switch while its
    flits follow one another. ``input_speedup``: inputs of the switch for each port.
    Raises ConfigError on a value that cannot be.
    """

    vcs: int = 4
    vc_buffer: int = 8
    routing_delay: int = 1
    credit_delay: int = 0
    vc_allocator: str = "islip"
    switch_allocator: str = "islip"
    speculative: bool = False
    wait_for_tail_credit: bool = False
    hold_switch: bool = False
    input_speedup: int = 1

    @property
    def head_cycles(self) -> int:
        """Of a head in a router before it asks for the switch."""
        return head_cycles(self.routing_delay, speculative=self.speculative)

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value, most = getattr(self, name), _MOST[name]
            if not least <= value <= most:
                raise ConfigError(f"router {name}: found {value}; allowed {least} to {most}")
        for name in ("vc_allocator", "switch_allocator"):
            value = getattr(self, name)
            if value not in ALLOCATORS:
                known = ", ".join(ALLOCATORS)
                raise ConfigError(f"router {name}: found '{value}'; allowed {known}{nearest(value, ALLOCATORS)}")


@dataclass(frozen=True, slots=True)
class PacketFormat:
    """How messages are cut: at most ``payload_flits`` of them in a packet, behind ``header_flits``; a message without
    payload is one header."""

    payload_flits: int = WHOLE_FLITS
    header_flits: int = 0

    def count(self, flits: int) -> int:
        """Packets of a message of ``flits``."""
        return max(1, -(-flits // self.payload_flits))

    def flits(self, flits: int) -> int:
        """All flits of a message of ``flits``, headers too."""
        return flits + self.count(flits) * self.header_flits


WHOLE = PacketFormat()  # every message is one packet
