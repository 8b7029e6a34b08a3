"""A difference in sentences: how much, which causes and layers it comes from, energy and area, what to beware of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from archsim.report.kit.causes import label
from archsim.report.kit.number_format import NONE
from archsim.report.kit.quantity import quantity
from archsim.report.run.headline import samples

MOST = 3  # contributions of each kind that are named
ONE = 0.9  # of a cause's difference: what one layer has to have to be named as its place
FAST = ("fast", "link")  # fidelities of DRAM and network that are not exact
TIMES = 2  # changes from three times as much on are not said in percent
NEGLIGIBLE = 0.005  # of the whole difference: contributions below are not named

Told = Mapping[str, Any]


def says(found: Told, base: Told, other: Told) -> list[str]:
    """Sentences on a difference (``comparison``), the largest contributions first."""
    return [*_beware(base, other), *_each(found, base, other), *_time(found), *_energy(found), *_area(found)]


def _beware(base: Told, other: Told) -> Iterator[str]:
    """Where the runs do not answer the same question."""
    if base["provenance"].get("model_sha256") != other["provenance"].get("model_sha256"):
        yield f"The models differ: {base['workload']['name']} and {other['workload']['name']} are not the same work."
    versions = [run["provenance"].get("archsim_version") for run in (base, other)]
    if versions[0] != versions[1]:
        yield f"The simulators differ: version {versions[0]} and {versions[1]}."
    fast = [any(each in FAST for each in run["provenance"].get("fidelity", {}).values()) for run in (base, other)]
    if fast[0] != fast[1]:
        yield "The fidelities differ: part of the difference is the models', not the chips'."


def _each(found: Told, base: Told, other: Told) -> Iterator[str]:
    """Batches of different sizes, by the sample."""
    one, two = samples(base), samples(other)
    if one["samples"] == two["samples"]:
        return
    texts = [f"{quantity(each['time_s'], 's')} and {quantity(each['energy_j'], 'J')}" for each in (two, one)]
    yield (
        f"The batches differ, {two['samples']} and {one['samples']}: a sample takes {texts[0]} in {found['name']}, "
        f"{texts[1]} in {found['base']}."
    )


def _time(found: Told) -> Iterator[str]:
    whole = found["time"]
    name, unit, change = found["name"], found["unit"], whole["difference"]
    if not change:
        yield f"{name} takes as long as {found['base']}: {_amount(whole['base'], unit)}."
        return
    way, verb = ("fewer", "saved") if change < 0 else ("more", "added")
    word = f"{unit} {way}" if unit == "cycles" else ("less" if change < 0 else "more")
    yield (
        f"{name} takes {_amount(whole['other'], unit)}, {_plain(change, unit)} {word} than {found['base']} "
        f"({_change(whole)})."
    )
    yield from _arrays(found["arrays"], change, unit)
    yield from _layers(found)


def _arrays(rows: Sequence[Told], change: float, unit: str) -> Iterator[str]:
    """Where the arrays' time grew and where it shrank. Parts are said to be "of" the whole only where they do not
    exceed it, which they do where others were saved against them."""
    groups = [group for group in _grouped(rows) if abs(group[1]) >= NEGLIGIBLE * abs(change)]
    named, against = ([group for group in groups if group[1] * change * way > 0][:MOST] for way in (1, -1))
    verb, lost = ("saved", "added") if change < 0 else ("added", "saved")
    more = sum(abs(group[1]) for group in named) > abs(change)
    if named:
        first, *rest = [_of_arrays(group, unit) for group in named]
        amount = _amount(abs(change), unit)
        of_all = (
            f"{' cycles' if unit == 'cycles' else ''} are {verb} in " if more else f" of the {amount} {verb} are in "
        )
        opening = "In" if more else "Of"
        yield f"{opening} the arrays' time {'; '.join([first.replace(' in ', of_all, 1), *rest])}."
    if against:
        parts = "; ".join(_of_arrays(group, unit) for group in against)
        left = f": all in all {_amount(abs(change), unit)} are {verb}" if more else ""
        yield f"Against that are {lost} {parts}{left}."


def _grouped(rows: Sequence[Told]) -> list[tuple[str, float, list[Told]]]:
    """(cause.operand, its difference, its rows), the largest first."""
    groups: dict[str, list[Told]] = {}
    for row in rows:
        groups.setdefault(row["cause"], []).append(row)
    found = [(cause, sum(row["difference"] for row in own), own) for cause, own in groups.items()]
    return sorted(found, key=lambda group: (-abs(group[1]), group[0]))


def _of_arrays(group: tuple[str, float, list[Told]], unit: str) -> str:
    """``41,210 in waits for DRAM (weights) of fc1``."""
    cause, change, rows = group
    text = f"{_plain(change, unit)} in {label(cause)}"
    layers = [row for row in rows if row["layer"] and row["difference"] * change > 0]
    if not layers:
        return text
    most = layers[0]  # rows are in the order of their differences
    if abs(most["difference"]) >= ONE * abs(change):
        return f"{text} of {most['layer']}"
    named = ", ".join(f"{row['layer']} {_plain(row['difference'], unit)}" for row in layers[:MOST])
    return f"{text} ({named})"


def _layers(found: Told) -> Iterator[str]:
    """The layers that change most along the critical path."""
    change, unit = found["time"]["difference"], found["unit"]
    rows = sorted(found["layers"], key=lambda row: (-abs(row["difference"]), row["name"]))
    named = [row for row in rows if abs(row["difference"]) >= NEGLIGIBLE * abs(change)][:MOST]
    if named:
        texts = [f"{row['name']} {_signed(row['difference'], unit)}{_mostly(row)}" for row in named]
        yield f"Along the critical path the layers that change most: {'; '.join(texts)}."


def _mostly(row: Told) -> str:
    if row["remark"]:
        return f" ({row['remark']})"
    if not row["causes"]:
        return ""
    cause, _ = max(row["causes"].items(), key=lambda item: (abs(item[1]), item[0]))
    return f" (mostly {label(cause)})"


def _energy(found: Told) -> Iterator[str]:
    yield from _parts(found["energy"], "J", "energy", found)


def _area(found: Told) -> Iterator[str]:
    yield from _parts(found["area"], "mm2", "area", found)


def _parts(rows: Sequence[Told], unit: str, word: str, found: Told) -> Iterator[str]:
    base, other = (sum(row[key] for row in rows) for key in ("base", "other"))
    if base == other:
        return
    named = [row for row in rows if abs(row["difference"]) >= NEGLIGIBLE * abs(other - base)][:MOST]
    texts = ", ".join(f"{row['part']} {_signed(row['difference'], unit)}" for row in named)
    whole = {"base": base, "difference": other - base}
    yield f"Its {word} is {quantity(other, unit)} ({_change(whole)}, {_signed(other - base, unit)}): {texts}."


def _change(whole: Told) -> str:
    if not whole["base"]:
        return NONE
    change = whole["difference"] / whole["base"]
    return f"{100 * change:+.3g} %" if change < TIMES else f"{1 + change:.3g} times as much"


def _amount(value: float, unit: str) -> str:
    text = quantity(round(value) if unit == "cycles" else value, unit)
    return f"{text} cycles" if unit == "cycles" else text


def _plain(value: float, unit: str) -> str:
    """Without its sign; cycles are whole and go without a word."""
    return quantity(round(abs(value)) if unit == "cycles" else abs(value), unit)


def _signed(value: float, unit: str) -> str:
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{_plain(value, unit)}"
