"""A second opinion on a controller: a list of commands against every constraint and every row, without its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from archsim.facts.dram.device import LEVELS, DramChannel, TimingConstraint
from archsim.memory.dram.device_records import COMMANDS

Command = tuple[int, str, int, int]  # cycle, name, bank, row


def named(device: DramChannel, rows: Iterable[Iterable[int]]) -> list[Command]:
    """Logged commands with the standard's names."""
    split = device.protocol == "split"
    hidden = {"ACT" if split else "ACT1"}
    names = {code: name for name, code in COMMANDS.items() if name not in hidden}
    return [(int(cycle), names[int(code)], int(bank), int(row)) for cycle, code, bank, row, _ in rows]


def violations(device: DramChannel, commands: list[Command]) -> list[str]:
    """Every constraint that two commands break, and every command that its bank's row does not allow."""
    found = [text for constraint in device.constraints for text in _too_soon(device, constraint, commands)]
    return found + _wrong_rows(device, commands)


def _too_soon(device: DramChannel, constraint: TimingConstraint, commands: list[Command]) -> list[str]:
    size, around = device.size_of(constraint.level), device.around(constraint.level)
    earlier: dict[int, list[int]] = defaultdict(list)
    found = []
    for cycle, name, first, _ in commands:
        banks = _banks(device, name, first)
        for bank in banks if name in constraint.after else ():
            for unit, times in earlier.items():
                same = unit == bank // size
                near = unit * size // around == bank // around
                applies = (near and not same) if constraint.siblings else same
                known = applies and len(times) >= constraint.window
                if known and cycle - times[-constraint.window] < constraint.cycles:
                    found.append(f"{name} at {cycle} on {bank}: {constraint}")
        for unit in sorted({bank // size for bank in banks}) if name in constraint.before else ():
            earlier[unit].append(cycle)
    return found


def _banks(device: DramChannel, name: str, first: int) -> list[int]:
    """The banks of a command: one, or those that are refreshed together."""
    if name != "REFpb":
        return [first]
    return list(range(first, first + device.size_of("rank"), device.size_of("rank") // device.bank_refresh_banks))


def _wrong_rows(device: DramChannel, commands: list[Command]) -> list[str]:
    """Activates open closed banks, accesses go to the open row, refreshes meet closed banks."""
    open_row: dict[int, int] = {}
    found = []
    of_rank = device.size_of(LEVELS[1])
    for cycle, name, bank, row in commands:
        banks = range(bank, bank + of_rank) if name in ("PREab", "REFab") else _banks(device, name, bank)
        is_open = [b for b in banks if b in open_row]
        wrong = {
            "ACT": bool(is_open),
            "ACT1": bool(is_open),
            "RD": open_row.get(bank) != row,
            "WR": open_row.get(bank) != row,
            "RDA": open_row.get(bank) != row,
            "WRA": open_row.get(bank) != row,
            "REFab": bool(is_open),
            "REFpb": bool(is_open),
            "PREpb": not is_open,
        }
        if wrong.get(name, False):
            found.append(f"{name} at {cycle} on bank {bank}, row {row}: open are {is_open}")
        if name in ("ACT", "ACT1"):
            open_row[bank] = row
        if name in ("PREpb", "PREab", "RDA", "WRA"):
            for b in is_open:
                del open_row[b]
    return found
