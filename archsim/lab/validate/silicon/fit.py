"""Calibration: values of a few keys of a platform with which predicted times come nearest to the measured ones.

Keys are searched together between a quarter and four times their values. Rows are sorted by the SHA-256 of their case;
those at even places are fitted, the others are only scored, so that what was fitted can be seen to hold for rows that
it was not fitted to.

Every error is of simulated runs. A key is a number of the platform: nothing can be fitted by a row, a shape or a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.base import units
from archsim.base.errors import ConfigError, nearest
from archsim.lab.validate.silicon.predict import SetOnChip, each_predicted, on_chip
from archsim.lab.validate.silicon.sets import SiliconRow, SiliconSet
from archsim.spec.architecture import CALIBRATED
from archsim.spec.by_name import DEFAULT, ByName
from archsim.spec.platforms import Platform

MOST_KEYS = 5
LEAST_FLOOR_PS = 10**5  # a floor that is 0 is searched from here on
FACTOR = 4  # how far from its value a key is searched
STEP, CLOSE, RUNS = 0.4, 0.01, 20  # the first step, how near is near enough, and most trials for each key
TIMES, SHARES = ("host.floor",), ("clock_share", "vector_share", "prefetch")


@dataclass(frozen=True, slots=True)
class PlatformKey:
    """A number of a platform: ``host.floor``, or one of a table by name: ``host.floor`` of ``Gelu``."""

    path: str
    name: str = DEFAULT

    @classmethod
    def parse(cls, text: str) -> PlatformKey:
        """Raises ConfigError for a key that cannot be calibrated."""
        known = (*TIMES, *SHARES)
        path = next((path for path in known if text == path or text.startswith(f"{path}.")), "")
        if not path:
            raise ConfigError(f"--key: found '{text}'; allowed {', '.join(known)}, or one of a table, such as "
                              f"host.floor.Softmax{nearest(text, known)}")  # fmt: skip
        return cls(path, text.removeprefix(path).removeprefix(".") or DEFAULT)

    def __str__(self) -> str:
        """As a user writes it."""
        return self.path if self.name == DEFAULT else f"{self.path}.{self.name}"

    def bounds(self, value: float) -> tuple[float, float]:
        """Between which it is searched."""
        start = max(value, LEAST_FLOOR_PS) if self.path in TIMES else value
        return start / FACTOR, start * FACTOR if self.path in TIMES else min(1.0, start * FACTOR)

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
    """Keys of a platform before and after; ``errors``: mean errors in percent of the rows that were fitted and of the
    others, before and after, None where there are no others; ``rows``: how many of the set could be run."""

    chip: str
    platform: str
    set: str
    rows: int
    before: Values
    after: Values
    errors: tuple[tuple[float, float | None], tuple[float, float | None]]

    def chip_file(self, name: str, base: str) -> str:
        """A chip file ``name`` that extends ``base`` by what was fitted."""
        lines = ["schema: archsim.chip/1", f"name: {name}", f"extends: {base}", "platforms:", f"  {self.platform}:"]
        lines += [f"    {line}" for line in _section(self.after)]
        lines += ["sources:"]
        source = f'"{CALIBRATED} {self.set}, {self.rows} rows"'
        lines += [f"  platforms.{self.platform}.{_source_path(key, self.after)}: {source}" for key in self.after]
        return "\n".join(lines) + "\n"


def fit(measured: SiliconSet, keys: Sequence[str] = (), *, jobs: int = 1) -> Calibration:
    """Fit ``keys`` of the platform of a set, those that its chip file calls calibrated where none is named; ``jobs``:
    processes that run rows.

    Raises ConfigError for keys that cannot be calibrated, more than MOST_KEYS of them, and a set of which no row can
    be run.
    """
    on = on_chip(measured)
    platform, prefix = on.chip.platforms[on.chip.platform], f"platforms.{on.chip.platform}."
    asked = [PlatformKey.parse(key) for key in keys or _calibrated(on, prefix)]
    _check(asked, platform)
    before = {key: _value(platform, key) for key in asked}
    able = [found.row for found in each_predicted(on, measured.rows, jobs, measured.name) if not found.reason]
    if not able:
        raise ConfigError(f"set '{measured.name}': no row can be run on '{measured.chip}'")
    fitted, others = _halves(able)

    def error(values: Values, rows: Sequence[SiliconRow]) -> float:
        stated = {f"{prefix}{path}": value for path, value in _stated(platform, values).items()}
        varied = on_chip(replace(measured, keys={**measured.keys, **stated}))
        return 100 * fmean(abs(found.error) for found in each_predicted(varied, rows, jobs, measured.name))

    after = least(before, lambda values: error(values, fitted))
    errors = [(error(values, fitted), error(values, others) if others else None) for values in (before, after)]
    return Calibration(
        measured.chip, on.chip.platform, measured.name, len(able), before, after, (errors[0], errors[1])
    )  # fmt: skip


def _calibrated(on: SetOnChip, prefix: str) -> list[str]:
    """Keys of the platform that were calibrated before."""
    found = [path for path in on.chip.calibrated if path.startswith(prefix)]
    return [path.removeprefix(prefix).removesuffix(f".{DEFAULT}") for path in found]


def _check(keys: Sequence[PlatformKey], platform: Platform) -> None:
    tables = {key.path for key in keys}
    if not keys or len(tables) > MOST_KEYS:
        raise ConfigError(f"--key: found {len(tables)} keys; allowed 1 to {MOST_KEYS}, a table by name counts as one")
    for key in keys:
        if key.name != DEFAULT and not isinstance(_table(platform, key.path), ByName):
            raise ConfigError(f"--key: found '{key}'; {key.path} has one value")
        if key.path == "prefetch" and platform.prefetch is None:
            raise ConfigError("--key: found 'prefetch'; allowed for a platform that states it")


def _table(platform: Platform, path: str) -> ByName[int] | ByName[Fraction] | Fraction | None:
    found: dict[str, ByName[int] | ByName[Fraction] | Fraction | None] = {
        "host.floor": platform.host.floor or ByName(0),
        "clock_share": platform.clock_share,
        "vector_share": platform.vector_share,
        "prefetch": platform.prefetch,
    }
    return found[path]


def _value(platform: Platform, key: PlatformKey) -> float:
    found = _table(platform, key.path)
    return float(found.of(key.name) if isinstance(found, ByName) else found or 0)


def _stated(platform: Platform, values: Values) -> dict[str, object]:
    """Values of whole keys as a chip file states them, with what is fitted of each."""
    found: dict[str, object] = {}
    for path in dict.fromkeys(key.path for key in values):
        table = _table(platform, path)
        known: dict[str, float] = {}
        if isinstance(table, ByName):
            known = {DEFAULT: float(table.default), **{name: float(value) for name, value in table.others.items()}}
        known |= {key.name: value for key, value in values.items() if key.path == path}
        found[path] = _written(path, known)
    return found


def _written(path: str, values: Mapping[str, float]) -> object:
    plain = {name: PlatformKey(path, name).text(value) for name, value in values.items()}
    return plain if len(plain) > 1 else plain[DEFAULT]


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


def _halves(rows: Iterable[SiliconRow]) -> tuple[list[SiliconRow], list[SiliconRow]]:
    """Those that are fitted and those that are scored; all are fitted where there are fewer than four."""
    ordered = sorted(rows, key=lambda row: (hashlib.sha256(row.case.encode()).hexdigest(), row.time_us))
    return (ordered[::2], ordered[1::2]) if len(ordered) >= 4 else (ordered, [])


def _section(values: Values) -> list[str]:
    """Lines of the platform, whose tables are merged name by name with those of the chip."""
    lines: list[str] = []
    host = {key: value for key, value in values.items() if key.path.startswith("host.")}
    if host:
        lines += ["host:", *(f"  {line}" for line in _lines(host))]
    return lines + _lines({key: value for key, value in values.items() if key not in host})


def _lines(values: Values) -> list[str]:
    found: list[str] = []
    for path in dict.fromkeys(key.path for key in values):
        of = {key.name: key.text(value) for key, value in values.items() if key.path == path}
        said = of[DEFAULT] if set(of) == {DEFAULT} else "{" + ", ".join(f"{n}: {v}" for n, v in of.items()) + "}"
        found.append(f"{path.removeprefix('host.')}: {said}")
    return found


def _source_path(key: PlatformKey, values: Values) -> str:
    """Where the source of a number stands: of a table each name has its own."""
    is_table = any(other.path == key.path and other.name != DEFAULT for other in values)
    return f"{key.path}.{key.name}" if is_table else key.path
