"""What users write on the command line and in ``run()``, read into data: dtypes and requirements."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from archsim.base import units
from archsim.base.errors import ConfigError, nearest
from archsim.facts.number_formats import SHORT, element_format
from archsim.ir import dtypes, result
from archsim.lab.scenario.words import KEYS as SCENARIO_KEYS
from archsim.lab.scenario.words import SCHEMA as SCENARIO
from archsim.report.generation.words import KEYS as GENERATION_KEYS
from archsim.report.generation.words import SCHEMA as GENERATION
from archsim.spec.architecture import Architecture
from mapper.policies import catalogue

MOST_DIGITS = 18  # of a whole number
OBJECTIVES = ("latency", "energy", "edp")
SCHEDULES = ("layers", "best", "platform")  # or the name of a schedule policy

_ROLES = {
    "w": ("weights",),
    "weights": ("weights",),
    "a": ("inputs", "outputs"),
    "inputs": ("inputs",),
    "outputs": ("outputs",),
    "acc": ("accumulate",),
    "accumulate": ("accumulate",),
    "tables": ("tables",),
    "kv": ("kv",),
}
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_KEYS = {SCENARIO: SCENARIO_KEYS, GENERATION: GENERATION_KEYS}  # of results that are no run's, by their schema
_REQUIREMENT = re.compile(r"\s*(?P<key>[^<>=!]+?)\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<bound>\S+)\s*")


def parse_dtypes(text: str | None) -> dict[str, str]:
    """``int8``, or ``w=int8,a=bf16``: dtype by role, {} for None (the chip's own).

    A bare dtype sets weights, inputs, outputs, tables and kv, and the accumulators to int32 or, for floats, fp32.
    ``w``, ``a`` and ``acc`` stand for weights, inputs with outputs, and accumulate; what is kept of activations (kv)
    goes with ``a`` unless it is stated. Raises ConfigError.
    """
    if text is None:
        return {}
    if "=" not in text:
        name = _known_dtype(text)
        wide = "int32" if "int" in name else "fp32"
        return {"inputs": name, "weights": name, "outputs": name, "tables": name, "kv": name, "accumulate": wide}
    found: dict[str, str] = {}
    kept = ""
    for pair in text.split(","):
        key, _, name = (part.strip() for part in pair.partition("="))
        if key not in _ROLES:
            raise ConfigError(
                f"--dtype: found '{key}'{nearest(key, _ROLES)}; allowed {', '.join(_ROLES)}, or one dtype"
            )
        for role in _ROLES[key]:
            if role in found:
                raise ConfigError(f"--dtype: {role} given twice in '{text}'; allowed once")
            found[role] = _known_weights(name) if role == "weights" else _known_dtype(name)
        if key == "a":
            kept = found["inputs"]
    return {**({"kv": kept} if kept else {}), **found}


def parse_lookups(texts: Iterable[str]) -> dict[str, str]:
    """``["emb=zipf(exponent=1, seed=0)"]``: access pattern by node; raises ConfigError for another form."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, pattern = (part.strip() for part in text.partition("="))
        if not name or not equals or not pattern:
            raise ConfigError(f"--lookups: found '{text}'; allowed NODE=PATTERN such as emb=uniform(seed=0)")
        if name in found:
            raise ConfigError(f"--lookups {name}: given twice; allowed once")
        found[name] = pattern
    return found


def parse_parameters(texts: Iterable[str]) -> dict[str, int | float | str]:
    """``["seq=128", "alpha=1.05", "logits=last"]``: sizes, other numbers and words (names of files too) by parameter of
    a model; raises ConfigError for another form."""
    found: dict[str, int | float | str] = {}
    for text in texts:
        name, equals, stated = (part.strip() for part in text.partition("="))
        value = parameter_value(stated)
        if not name or not equals or value is None:
            raise ConfigError(f"--parameter: found '{text}'; allowed NAME=NUMBER such as seq=128, or a word")
        if name in found:
            raise ConfigError(f"--parameter {name}: given twice; allowed once")
        found[name] = value
    return found


def parameter_value(text: str) -> int | float | str | None:
    """The size, other number from 0 or words that a text is; None for none of these."""
    number = _number(text)
    if not text or not text.isprintable() or (number is not None and number < 0):
        return None
    return text if number is None else number


def _number(text: str) -> int | float | None:
    """The number that a text is; None for words, and for what is not finite."""
    if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS:
        return int(text)
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def _known_dtype(name: str) -> str:
    """The name of a plain format; raises ConfigError for others, saying of packed ones which role may have them."""
    known = SHORT[name] if SHORT.get(name) in dtypes.BYTES else name
    try:
        dtypes.size_bytes(known)
    except ConfigError as error:
        if _is_packed(name):
            raise ConfigError(
                f"--dtype: '{name}' is packed; allowed for weights, as in weights={name}; others have plain formats "
                "such as int8"
            ) from None
        raise ConfigError(f"--dtype: {error}") from None
    return known


def _is_packed(name: str) -> bool:
    try:
        return not element_format(name).is_plain
    except ConfigError:
        return False


def _known_weights(name: str) -> str:
    """The text of a format that weights may have, in blocks too."""
    try:
        found = element_format(name)
    except ConfigError as error:
        raise ConfigError(f"--dtype: {error}") from None
    return _known_dtype(name) if found.is_plain else str(found)


def check_objective(objective: str) -> str:
    """``objective`` itself; raises ConfigError when it is not one of OBJECTIVES."""
    if objective not in OBJECTIVES:
        raise ConfigError(
            f"objective: found '{objective}'{nearest(objective, OBJECTIVES)}; allowed {', '.join(OBJECTIVES)}"
        )
    return objective


def policy_of(schedule: str, chip: Architecture) -> str:
    """The schedule policy that ``schedule`` asks for: that of the chip's platform, or one by its name; '' for none.

    Raises ConfigError where it is none of SCHEDULES and no policy, or the chip has no platform with a policy.
    """
    if schedule == "platform":
        found = chip.platforms[chip.platform].policy if chip.platform else ""
        if not found:
            lacks = f"platform '{chip.platform}' states no policy" if chip.platform else "it runs on no platform"
            allowed = ", ".join((*(name for name in SCHEDULES if name != schedule), *catalogue.names()))
            raise ConfigError(f"schedule: found 'platform' on chip '{chip.name}', but {lacks}; allowed {allowed}")
        return found
    if schedule in SCHEDULES:
        return ""
    if schedule not in catalogue.names():
        known = (*SCHEDULES, *catalogue.names())
        raise ConfigError(f"schedule: found '{schedule}'{nearest(schedule, known)}; allowed {', '.join(known)}")
    return schedule


def with_platform(values: Mapping[str, object], platform: str | None, set_: str, option: str) -> dict[str, object]:
    """The values of a chip's keys, with the platform where one is asked for; ``set_`` and ``option``: what both are
    called. Raises ConfigError where both name a platform."""
    if platform is None:
        return {**values}
    if "platform" in values:
        found = f"found {units.shown(platform)} beside {set_} platform={values['platform']}"
        raise ConfigError(f"{option}: {found}; allowed one of them")
    return {**values, "platform": platform}


@dataclass(frozen=True, slots=True)
class Requirement:
    """``latency_s <= 0.005``: the dotted key of a number of the summary, a comparison and a bound."""

    key: str
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: str, known: Sequence[str] = ()) -> Requirement:
        """Read ``KEY<=NUMBER``; raises ConfigError for another form and for a first word that is not ``known`` (of a
        model's or a scenario's result if absent)."""
        match = _REQUIREMENT.fullmatch(text)
        try:
            bound = float(match["bound"]) if match else None
        except ValueError:
            bound = None
        if match is None or bound is None or bound != bound:
            signs = ", ".join(_COMPARE)
            raise ConfigError(
                f"--require: found '{text}'; allowed KEY SIGN NUMBER such as latency_s<=0.005, with {signs}"
            )
        first, known = match["key"].partition(".")[0], known or tuple(dict.fromkeys((*public_keys(), *SCENARIO_KEYS)))
        if first not in known:
            hint = nearest(first, known)
            raise ConfigError(f"--require: no '{match['key']}' in a result{hint}; it has: {', '.join(known)}")
        return cls(match["key"], match["sign"], bound)

    def compare(self, number: float) -> bool:
        """Whether a number satisfies it."""
        return _COMPARE[self.sign](number, self.bound)

    def met(self, summary: Mapping[str, Any]) -> bool:
        """Whether the summary's number satisfies it; ConfigError for an unknown key or a missing figure."""
        return self.compare(self.value(summary))

    def value(self, summary: Mapping[str, Any]) -> float:
        """The number that ``key`` names in ``summary``; raises ConfigError as ``met`` does."""
        known = scalars(summary)
        if self.key not in known:
            hint = nearest(self.key, known)
            raise ConfigError(f"--require: no number '{self.key}' in the result{hint}; it has: {', '.join(known)}")
        found = known[self.key]
        if found is None:
            raise ConfigError(f"--require: '{self.key}' has no figure for this chip (null in the result)")
        return found

    def __str__(self) -> str:
        return f"{self.key} {self.sign} {self.bound:g}"


def public_keys() -> tuple[str, ...]:
    """First words of the keys that a requirement may name."""
    return tuple(name for name in result.public_keys() if name not in ("layers", "provenance"))


def scalars(summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Every number of the summary (None where it has no figure) by dotted key; not layers, not provenance."""
    found: dict[str, float | None] = {}
    for name in _KEYS.get(str(summary.get("schema"))) or public_keys():
        _collect(name, summary.get(name, {}), found)
    return found


def _collect(key: str, value: Any, found: dict[str, float | None]) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            _collect(f"{key}.{name}", item, found)
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        found[key] = value
