"""What bounds a point: where the MAC slots of its arrays went that did no useful work."""

from __future__ import annotations

import pandas as pd

from archsim.report.causes import cause
from archsim.report.format import percent

SLOTS = "mac_breakdown."
USEFUL = "useful"


def bound(row: pd.Series) -> str:
    """``waits for DRAM 12.1 %``: the largest loss, of all MAC slots; '' of a row that was not simulated on arrays."""
    slots = {str(key).removeprefix(SLOTS): row[key] for key in row.index if str(key).startswith(SLOTS)}
    known = {key: float(count) for key, count in slots.items() if not pd.isna(count)}
    total = sum(known.values())
    lost = {key: count for key, count in known.items() if key != USEFUL}
    if not total or not any(lost.values()):
        return ""
    largest = max(lost, key=lambda key: lost[key])
    return f"{cause(largest).label} {percent(lost[largest], total)}"
