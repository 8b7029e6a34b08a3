"""What the compiler must be told of the chip's network: what its links carry where all cores use them at once."""

from __future__ import annotations

from archsim.spec.architecture import Architecture


def network_shares(architecture: Architecture) -> dict[tuple[str, str], float]:
    """(shared memory, 'read' | 'write') -> share of the time that the busiest link works; none without a network."""
    noc = architecture.noc
    if noc is None or architecture.cores == 1:
        return {}
    from archsim.noc.sustained import sustained_share  # the compiler is slow to import: only now

    ways = {"read": False, "write": True}
    return {
        (memory, way): sustained_share(noc, memory, writes=writes)
        for memory in noc.shared
        for way, writes in ways.items()
    }
