"""Energy of a byte at each memory, as the search sees it."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.spec.architecture import Architecture


def energy_per_byte(architecture: Architecture) -> Mapping[tuple[str, str], float]:
    return {}
