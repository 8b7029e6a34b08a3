"""What is to be beaten: rooflines of the same rows.

The roofline: the published dense peak of the format, the published bandwidth of the DRAM, each operand and result
once, and an offset (0 or more) that makes the mean error least. The fitted one: peak, bandwidth and offset are those
that do. Rows are sorted by the SHA-256 of their case; every second one is fitted and the others are scored, then
the other way round; the mean of both is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
_STEPS = np.geomspace(0.25, 1.0, 13)  # shares of a published rate that a fit begins with
_ROUNDS = 40


class BaselineRow(NamedTuple):
    """A row as a roofline sees it. ``least_mac_us``, ``least_byte_us``: at the published peak and bandwidth."""

    case: str
    time_us: float
    least_mac_us: float
    least_byte_us: float


def roofline(rows: Sequence[BaselineRow]) -> float | None:
    """Mean absolute error in percent of the published roofline with the best offset; None without rows."""
    return _halved(rows, fitted=False)


def fitted_roofline(rows: Sequence[BaselineRow]) -> float | None:
    """The same of peak, bandwidth and offset that are fitted; None without rows."""
    return _halved(rows, fitted=True)


def _halved(rows: Sequence[BaselineRow], *, fitted: bool) -> float | None:
    if len(rows) < 2:
        return None
    ordered = sorted(rows, key=lambda row: hashlib.sha256(row.case.encode()).hexdigest())
    halves = [_columns(ordered[::2]), _columns(ordered[1::2])]
    errors = []
    for fit, score in (halves, halves[::-1]):
        shares = _best_shares(*fit) if fitted else (1.0, 1.0)
        offset, _ = _best_offset(fit[0], _work(fit, shares))
        errors.append(_mape(score[0], _work(score, shares) + offset))
    return 100 * sum(errors) / 2


def _columns(rows: Sequence[BaselineRow]) -> tuple[Reals, Reals, Reals]:
    times, macs, sizes = (np.array([row[at] for row in rows], dtype=np.float64) for at in (1, 2, 3))
    return times, macs, sizes


def _work(columns: tuple[Reals, Reals, Reals], shares: tuple[float, float]) -> Reals:
    _, macs, sizes = columns
    return np.maximum(macs / shares[0], sizes / shares[1])


def _mape(times: Reals, found: Reals) -> float:
    return float(np.mean(np.abs(found / times - 1)))


def _best_offset(times: Reals, work: Reals) -> tuple[float, float]:
    """The offset of 0 or more with the least mean error: that error bends only where a row is met exactly."""
    offsets = np.unique(np.concatenate([[0.0], np.maximum(times - work, 0.0)]))
    errors = [_mape(times, work + offset) for offset in offsets]
    best = int(np.argmin(errors))
    return float(offsets[best]), errors[best]


def _best_shares(times: Reals, macs: Reals, sizes: Reals) -> tuple[float, float]:
    """Shares of peak and bandwidth with the least mean error, each offset at its best: a grid, then ever finer steps
    around the best."""

    def error(shares: tuple[float, float]) -> float:
        return _best_offset(times, _work((times, macs, sizes), shares))[1]

    best = min(product(_STEPS.tolist(), repeat=2), key=error)
    least, step = error(best), 1.06
    for _ in range(_ROUNDS):
        around = [(best[0] * step**i, best[1] * step**j) for i, j in product((-1, 0, 1), repeat=2) if i or j]
        found = min(around, key=error)
        if error(found) < least:
            best, least = found, error(found)
        else:
            step = 1 + (step - 1) / 2
    return best
