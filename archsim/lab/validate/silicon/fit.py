"""Calibration: values of a few keys of a platform with which predicted times come nearest to the measured ones.

Keys are searched together between a quarter and four times their values. Cases are sorted by their SHA-256; the rows of
those at even places are fitted, the others are only scored, so that what was fitted can be seen to hold for rows that
it was not fitted to.

Every error is of simulated runs. A key is a number of the platform: nothing can be fitted by a row, a shape or a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, inf, log
from statistics import fmean
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from archsim.base import units
from archsim.base.errors import ConfigError, nearest
from archsim.lab.validate.silicon.measured_chip import SetOnChip, on_chip
from archsim.lab.validate.silicon.predict import SiliconPrediction, each_predicted
from archsim.lab.validate.silicon.sets import SiliconRow, SiliconSet
from archsim.spec.architecture import CALIBRATED
from archsim.spec.by_name import DEFAULT, ByName

FACTOR = 4  # how far from its value a key is searched
STEP, CLOSE, RUNS = 0.4, 0.01, 20  # the first step, how near is near enough, and most trials for each key
TIMES = ("host.floor", "host.issue")
LEAST = {"host.floor": 1e5, "host.issue": 1e5, "clock_share": 0.01, "vector_share": 0.001, "prefetch": 0.001}
MOST = {"host.floor": 1e12, "host.issue": 1e12, "clock_share": 1.0, "vector_share": 1.0, "prefetch": 1.0}


@dataclass(frozen=True, slots=True)
class PlatformKey:
    """A number of a platform: ``host.floor``, or one of a table by name: ``host.floor`` of ``Gelu``."""

    path: str
    name: str = DEFAULT

    @classmethod
    def parse(cls, text: str) -> PlatformKey:
        """Raises ConfigError for a key that cannot be calibrated."""
        path = next((path for path in LEAST if text == path or text.startswith(f"{path}.")), "")
        if not path:
            allowed = f"{', '.join(LEAST)}, or one of a table, such as host.floor.Softmax"
            raise ConfigError(f"--key: found '{text}'; allowed {allowed}{nearest(text, LEAST)}")
        return cls(path, text.removeprefix(path).removeprefix(".") or DEFAULT)

    def __str__(self) -> str:
        """As a user writes it."""
        return self.path if self.name == DEFAULT else f"{self.path}.{self.name}"

    def bounds(self, value: float) -> tuple[float, float]:
        """Between which it is searched: around its value, or the least one that a chip file may state."""
        start = max(value, LEAST[self.path])
        return max(LEAST[self.path], start / FACTOR), min(MOST[self.path], start * FACTOR)

    def rounded(self, value: float) -> float:
        """To three digits."""
        return float(f"{value:.3g}")

    def text(self, value: float) -> str:
        """A value as a chip file states it."""
        return units.exact(round(value), units.TIME) if self.path in TIMES else f"{value:.6g}"


Values = Mapping[PlatformKey, float]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Keys of a platform before and after, and ``stated``, the whole keys that have them, as a chip file states them.

    ``errors``: mean errors in percent of the rows that were fitted and of the others, before and after, None where
    there are no others; ``rows``: how many could be run, and how many of these were fitted.
    """

    chip: str
    platform: str
    set: str
    rows: tuple[int, int]
    before: Values
    after: Values
    stated: Mapping[str, object]
    errors: tuple[tuple[float, float | None], tuple[float, float | None]]

    def chip_file(self, name: str, base: str) -> str:
        """A chip file ``name`` that extends ``base`` by what was fitted, and runs on that platform."""
        keys: dict[str, Any] = {}
        for path, value in self.stated.items():
            section = keys.setdefault("host", {}) if path.startswith("host.") else keys
            section[path.removeprefix("host.")] = value
        said = f"{CALIBRATED} {self.set}, {self.rows[1]} rows"
        document = {
            "schema": "archsim.chip/1",
            "name": name,
            "extends": base,
            "platform": self.platform,
            "platforms": {self.platform: keys},
            "sources": {f"platforms.{self.platform}.{self._place(key)}": said for key in self.after},
        }
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)

    def _place(self, key: PlatformKey) -> str:
        """Where a number stands: of a table each name has its own."""
        return f"{key.path}.{key.name}" if isinstance(self.stated[key.path], dict) else key.path


def fit(measured: SiliconSet, keys: Sequence[str] = (), *, jobs: int = 1) -> Calibration:
    """Fit ``keys`` of the platform of a set, those that its chip file says were fitted to that set where none is named;
    ``jobs``: processes that run rows.

    Raises ConfigError for keys that cannot be calibrated, as many of them as rows that are fitted or more, and a set of
    which no row can be run.
    """
    on = on_chip(measured)
    asked = list(dict.fromkeys(map(PlatformKey.parse, keys))) or _fitted_before(on)
    for key in asked:
        _check(key, on)
    before = {key: _value(on, key) for key in asked}
    able = [found.row for found in each_predicted(on, measured.rows, jobs, measured.name) if not found.reason]
    if not able:
        raise ConfigError(f"set '{measured.name}': no row can be run on '{measured.chip}'")
    fitted, others = _halves(able)
    if len(asked) >= len(fitted):
        raise ConfigError(f"--key: found {len(asked)}; allowed fewer than the {len(fitted)} rows that are fitted")

    def predicted(values: Values, rows: Sequence[SiliconRow]) -> Sequence[SiliconPrediction]:
        stated = {f"platforms.{on.chip.platform}.{path}": value for path, value in _stated(on, values).items()}
        varied = on_chip(replace(measured, keys={**measured.keys, **stated}))
        return each_predicted(varied, rows, jobs, measured.name)

    after = least(before, lambda values: _error(predicted(values, fitted)))
    errors = [
        (_error(predicted(values, fitted)), _error(predicted(values, others)) if others else None)
        for values in (before, after)
    ]
    return Calibration(
        measured.chip, on.chip.platform, measured.name, (len(able), len(fitted)), before, after, _stated(on, after),
        (errors[0], errors[1]),
    )  # fmt: skip


def _error(found: Sequence[SiliconPrediction]) -> float:
    """The mean error in percent; infinite where a row cannot be run."""
    return inf if any(row.reason for row in found) else 100 * fmean(abs(row.error) for row in found)


def _fitted_before(on: SetOnChip) -> list[PlatformKey]:
    """Keys of the platform that were calibrated by this set; raises ConfigError where there are none."""
    prefix, said = f"platforms.{on.chip.platform}.", f"{CALIBRATED} {on.measured.name},"
    paths = [path for path, text in on.chip.calibrated.items() if path.startswith(prefix) and text.startswith(said)]
    if not paths:
        raise ConfigError(
            f"chip '{on.chip.name}': no key of platform '{on.chip.platform}' was calibrated by '{on.measured.name}'; "
            f"name some by --key: {', '.join(LEAST)}"
        )
    return [PlatformKey.parse(path.removeprefix(prefix).removesuffix(f".{DEFAULT}")) for path in paths]


def _check(key: PlatformKey, on: SetOnChip) -> None:
    """Raise ConfigError for a key that the set or the chip makes nothing of."""
    host = on.chip.host
    if key.path in TIMES and (host is None or host.per != "kernel"):
        raise ConfigError(f"--key: found '{key}'; allowed where the host launches kernels (per: kernel)")
    if key.path == "host.issue" and on.measured.timed == "device":
        raise ConfigError(f"--key: found '{key}'; set '{on.measured.name}' was timed on the device, without launches")
    table = _table(on, key.path)
    if key.name != DEFAULT and not isinstance(table, ByName):
        raise ConfigError(f"--key: found '{key}'; {key.path} has one value")
    if table is None:
        raise ConfigError(f"--key: found '{key}'; allowed for a platform that states it")


def _table(on: SetOnChip, path: str) -> ByName[int] | ByName[Fraction] | Fraction | None:
    """A whole key; times that the platform does not state are those of the chip's host."""
    platform, host = on.chip.platforms[on.chip.platform], on.chip.host
    times = platform.host.times
    found: dict[str, ByName[int] | ByName[Fraction] | Fraction | None] = {
        "host.floor": times.get("floor", ByName(host.floor_ps if host is not None else 0)),
        "host.issue": times.get("issue", ByName(host.issue_ps if host is not None else 0)),
        "clock_share": platform.clock_share,
        "vector_share": platform.vector_share,
        "prefetch": platform.prefetch,
    }
    return found[path]


def _value(on: SetOnChip, key: PlatformKey) -> float:
    found = _table(on, key.path)
    return float(found.of(key.name) if isinstance(found, ByName) else found or 0)


def _stated(on: SetOnChip, values: Values) -> dict[str, object]:
    """Whole keys as a chip file states them, with what is fitted of each."""
    found: dict[str, object] = {}
    for path in dict.fromkeys(key.path for key in values):
        table = _table(on, path)
        known: dict[str, float] = {}
        if isinstance(table, ByName):
            known = {DEFAULT: float(table.default), **{name: float(value) for name, value in table.others.items()}}
        known |= {key.name: value for key, value in values.items() if key.path == path}
        plain = {name: PlatformKey(path, name).text(value) for name, value in known.items()}
        found[path] = plain if len(plain) > 1 else plain[DEFAULT]
    return found


def least(start: Values, error: Callable[[Values], float]) -> dict[PlatformKey, float]:
    """The values with the least error that a simplex finds (Nelder, Mead 1965), which walks in the keys' logarithms and
    within their bounds; ``start`` where it finds nothing better."""
    from scipy.optimize import minimize

    bounds = {key: key.bounds(value) for key, value in start.items()}
    tried: dict[tuple[float, ...], float] = {tuple(start.values()): error(start)}

    def of(logarithms: Reals) -> float:
        values = tuple(key.rounded(exp(one)) for key, one in zip(start, logarithms.tolist(), strict=True))
        if values not in tried:
            tried[values] = error(dict(zip(start, values, strict=True)))
        return tried[values]

    first = [log(max(bounds[key][0], min(value, bounds[key][1]))) for key, value in start.items()]
    edges = [(log(low), log(high)) for low, high in bounds.values()]
    corners = [first, *([*first[:at], _aside(first[at], edges[at]), *first[at + 1 :]] for at in range(len(first)))]
    options: Any = {"initial_simplex": np.array(corners), "maxfev": RUNS * len(first), "xatol": CLOSE, "fatol": CLOSE}
    minimize(of, np.array(first), method="Nelder-Mead", bounds=edges, options=options)
    best = min(tried, key=lambda values: (tried[values], values))
    return dict(zip(start, best, strict=True))


def _aside(logarithm: float, edges: tuple[float, float]) -> float:
    """A step away from a value, to the side on which there is more room."""
    low, high = edges
    return logarithm + (STEP if high - logarithm > logarithm - low else -STEP)


def _halves(rows: Sequence[SiliconRow]) -> tuple[list[SiliconRow], list[SiliconRow]]:
    """Those that are fitted and those that are scored, cases that were measured twice on one side; all are fitted where
    there are fewer than four cases."""
    cases = sorted({row.case for row in rows}, key=lambda case: hashlib.sha256(case.encode()).hexdigest())
    fitted = set(cases[::2] if len(cases) >= 4 else cases)
    return [row for row in rows if row.case in fitted], [row for row in rows if row.case not in fitted]
