"""Chips without what was fitted to measured rows: neutral values of the keys that their sources call calibrated."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from archsim.base.errors import ConfigError
from archsim.spec.architecture import Architecture
from archsim.spec.by_name import DEFAULT, ByName

_NEUTRAL = {"host.floor": "0 s", "host.launch": "0 s", "host.issue": "0 s", "clock_share": "1", "vector_share": "1"}


def left_out(chip: Architecture) -> dict[str, object]:
    """Keys to set on a chip such that nothing of it and of its platform is calibrated. Of values by name only those
    that were are left out. Raises ConfigError for a calibrated key that has no neutral value."""
    from mapper.policies.catalogue import usual_prefetch

    platform, prefix = chip.platforms[chip.platform], f"platforms.{chip.platform}."
    neutral = _NEUTRAL | {"prefetch": str(usual_prefetch(platform.policy))}
    fitted: dict[str, set[str]] = {}
    for path in chip.calibrated:
        own = path.removeprefix(prefix)
        key = next((key for key in neutral if path != own and f"{own}.".startswith(f"{key}.")), "")
        if not key:
            known = ", ".join(f"{prefix}{key}" for key in neutral)
            raise ConfigError(f"chip '{chip.name}': {path}: is calibrated and has no neutral value; {known} have one")
        fitted.setdefault(key, set()).add(own.removeprefix(key).removeprefix(".") or DEFAULT)
    tables: dict[str, ByName[Any]] = {f"host.{key}": time for key, time in platform.host.times.items()}
    tables["vector_share"] = platform.vector_share
    return {f"{prefix}{key}": _left(neutral[key], tables.get(key), names) for key, names in fitted.items()}


def _left(neutral: str, stated: ByName[Any] | None, fitted: set[str]) -> object:
    """What stays of a value, or of values by name, without those that were fitted."""
    if stated is None:
        return neutral
    default = neutral if DEFAULT in fitted else _written(stated.default)
    others = {name: _written(value) for name, value in stated.others.items() if name not in fitted}
    return {DEFAULT: default, **others} if others else default


def _written(value: int | Fraction) -> str:
    """A time in picoseconds, or a share."""
    return str(value) if isinstance(value, Fraction) else f"{value} ps"
