"""Whether the models of area and power follow a change of a chip, and what their figures leave out.

A difference of two chips is the cost of a change only where the figures follow what was changed. They do not where the
chip file states a literal (``area: 3.3 mm2`` is the same at any shape), and where no model of the part or of what was
changed in it exists (the moves that a DMA engine keeps under way, the queues of a DRAM controller, the issue of
commands). Then the cost is unknown, not nothing, and the reason is said.

Whether a model follows is asked of the models themselves: the part is priced before and after the change, and after
each of its keys alone, since two may cancel (half the channels, each twice as wide). What costs nothing by nature is
``FREE``: the models say so, and their difference holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from archsim.base.errors import ArchsimError
from archsim.energy.chip import modelled
from archsim.energy.part_prices import PricedPart
from archsim.spec.architecture import Architecture
from archsim.spec.load import replace
from archsim.spec.memories import Cache, Memory
from archsim.spec.part import Part

FREE: Mapping[str, str] = {  # last key of a change -> why it costs neither area nor static power
    "clock": "the same parts run faster; what they draw follows from the shorter run",
    "slots": "the same memory is cut into more tiles",
    "message": "the same bytes leave in longer messages; a move is read from its memory as it leaves",
}
PER_BIT = ("bandwidth", "channels", "width")  # of a DRAM: its power is in the energy of a bit where it has no other
BANK_MODEL = (
    "a memory of n banks is priced as n banks of a n-th of the size, the wires, decoders and crossbar that join them "
    "are not modelled"
)
SMALLER = "the CACTI points have less {} here for smaller or wider banks"


@dataclass(frozen=True, slots=True)
class UnknownCost:
    """Why the cost of a change is not known, '' where it is; ``remark``: what a known one leaves out."""

    area: str = ""
    power: str = ""
    remark: str = ""

    @property
    def said(self) -> str:
        """All of it in one text, '' for nothing."""
        return "; ".join(dict.fromkeys(text for text in (self.area, self.power, self.remark) if text))


def unknown(base: Architecture, changed: Architecture, keys: Mapping[str, object]) -> UnknownCost:
    """What is not known of the cost of ``changed``, which is ``base`` with ``keys`` set.

    Raises ConfigError where a chip has no prices.
    """
    parts = {part.name: part for part in changed.parts()}
    named = {key.partition(".")[0] for key in keys if _part_key(key) not in FREE}
    found = [_of_part(parts[name], base, changed, keys) for name in sorted(named) if name in parts]
    return UnknownCost(*("; ".join(text for text in texts if text) for texts in _columns(found)))


def _columns(found: list[UnknownCost]) -> Iterator[list[str]]:
    yield from ([each.area for each in found], [each.power for each in found], [each.remark for each in found])


def _of_part(part: Part, base: Architecture, changed: Architecture, keys: Mapping[str, object]) -> UnknownCost:
    before, after = modelled(base)[part.name], modelled(changed)[part.name]
    others = [after, *_alone(part, base, keys)]
    words = ", ".join(sorted(_part_key(key) for key in keys))
    area = _stated_area(part, words)
    if not area and not any(other.area_mm2.value != before.area_mm2.value for other in others):
        area = f"no model of area follows {words} of {part.name}"
    power = "; ".join(_stated_power(part, before, after, words))
    if not power and not _power_follows(part, keys, before, others):
        power = f"no model of power follows {words} of {part.name}"
        if area.startswith("no model"):
            area = power = f"no model of area and power follows {words} of {part.name}"
    return UnknownCost(area, power, _left_out(part, before, after, keys))


def _alone(part: Part, base: Architecture, keys: Mapping[str, object]) -> Iterator[PricedPart]:
    """The part after each key alone, where there is such a chip."""
    for key, value in keys.items() if len(keys) > 1 else ():
        try:
            yield modelled(replace(base, {key: value}))[part.name]
        except ArchsimError:
            continue


def _stated_area(part: Part, words: str) -> str:
    stated = part.area_mm2
    return f"area of {part.name} is stated as {stated.value:g} mm2, whatever its {words}" if stated is not None else ""


def _stated_power(part: Part, before: PricedPart, after: PricedPart, words: str) -> Iterator[str]:
    """Literals in the place of what the model would make another number."""
    if part.leakage_w is not None:
        yield f"leakage of {part.name} is stated as {part.leakage_w.value:g} W, whatever its {words}"
    for action, own in part.energy_pj.items():
        if dict(before.rates[action].pj) != dict(after.rates[action].pj):
            yield f"energy of {part.name}.{action} is stated as {own.value:g} pJ, whatever its {words}"


def _power_follows(part: Part, keys: Mapping[str, object], before: PricedPart, others: list[PricedPart]) -> bool:
    if part.scope == "dram" and all(_part_key(key) in PER_BIT for key in keys):
        return True
    return any(other.leakage_w.value != before.leakage_w.value for other in others)


def _left_out(part: Part, before: PricedPart, after: PricedPart, keys: Mapping[str, object]) -> str:
    """Of more banks and wider words: what their figures leave out, and that the tables make them smaller."""
    if not isinstance(part, (Memory, Cache)) or not {_part_key(key) for key in keys} & {"banks", "word"}:
        return ""
    sides = [("area", after.area_mm2.value, before.area_mm2.value)]
    sides += [("leakage", after.leakage_w.value, before.leakage_w.value)]
    sides += [("energy of an access", _access(after), _access(before))]
    less = [name for name, now, was in sides if now < was]
    return "; ".join([*([SMALLER.format(" and ".join(less))] if less else []), BANK_MODEL])


def _access(priced: PricedPart) -> float:
    """pJ of a read."""
    return sum(priced.rates["read"].pj.values())


def _part_key(key: str) -> str:
    """``size`` of ``l1.size``, ``ports`` of ``l1.ports.dma.read``, ``clock`` of itself."""
    steps = key.split(".")
    return steps[1] if len(steps) > 1 else steps[0]
