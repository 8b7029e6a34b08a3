"""The chip that a set of rows was measured on, on the platform whose kernels ran, as its file states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archsim.lab.run.job import Job, load_chip
from archsim.lab.validate.silicon import calibration
from archsim.lab.validate.silicon.sets import SiliconSet
from archsim.spec.architecture import Architecture, Host
from archsim.spec.by_name import DEFAULT

_LAUNCHED = ("launch", "issue")  # the times of the host that a kernel timed alone does not have


@dataclass(frozen=True, slots=True)
class SetOnChip:
    """A set with the chip that runs it; ``keys``: of the chip, as the set was timed."""

    measured: SiliconSet
    chip: Architecture
    keys: Mapping[str, object]


def on_chip(measured: SiliconSet, *, calibrated: bool = True) -> SetOnChip:
    """The chip of a set on its platform; without ``calibrated`` the keys that were fitted to measured rows have their
    defaults. Raises ConfigError where there is no such chip or platform."""
    keys: dict[str, object] = {"platform": measured.platform, **measured.keys}
    chip = load_chip(Job("", measured.chip, values=keys))
    if not calibrated:
        keys |= calibration.left_out(chip)
    if measured.timed == "device" and chip.host is not None:
        launched = (key for key in _LAUNCHED if _takes_time(chip.host, key))
        keys |= {f"platforms.{chip.platform}.host.{key}": "0 s" for key in launched}
    return SetOnChip(measured, load_chip(Job("", measured.chip, values=keys)), keys)


def _takes_time(host: Host, key: str) -> bool:
    """Whether the host states a time above 0 for a key, of any operator."""
    others = host.by_operator[key].others.values() if key in host.by_operator else ()
    return any((host.time_ps(key, DEFAULT), *others))
