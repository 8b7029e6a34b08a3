"""The error tree. Every message is one that a user can act on.

ArchsimError
+-- ConfigError      a YAML file or an option: file:line, key path, value found, allowed range, nearest name
+-- ModelError       a model file: node, operator, what can be done
+-- MappingError     no legal mapping: tensor, level, what it needs, what there is
+-- ProgramError     a Program breaks its rules: command and loop indices
+-- SimulationError  the machine stopped: who waits for whom, or a conservation law broken
+-- LimitError       a limit that was asked for is reached: which, where, what was kept
+-- NotBuiltError    a documented name that this version does not have
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ArchsimError(Exception):
    """Base of every error raised on purpose; ``exit_code`` is what the command line returns."""

    exit_code = 2


class ConfigError(ArchsimError):
    """A chip, sweep or option is wrong; the message names file:line, key path, value and allowed range."""


class ModelError(ArchsimError):
    """A model file cannot be read or has something unsupported; names node and operator."""


class MappingError(ArchsimError):
    """No legal mapping exists; names tensor, level, what it needs and what there is."""


class ProgramError(ArchsimError):
    """A Program breaks a rule of its grammar or meaning; names command and loop indices."""


class SimulationError(ArchsimError):
    """The machine cannot go on (deadlock) or a conservation law is broken."""

    exit_code = 1


class LimitError(ArchsimError):
    """A limit of the command (--limit-memory) is reached; names it, what was under way and what is kept."""

    exit_code = 1


class NotBuiltError(ArchsimError):
    """A documented name or option that this version does not have yet."""


def placed(error: ArchsimError, place: str) -> ArchsimError:
    """The same error with the place that led to it before its message."""
    said = str(error)
    return error if said.startswith(place) else type(error)(f"{place}: {said}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a ' (did you mean X?)' hint for ``name``, or '' when nothing known is near."""
    close = nearest_name(name, known)
    return f" (did you mean '{close}'?)" if close else ""


def nearest_spare(name: str, present: Iterable[str], asked: Iterable[str]) -> str:
    """Return a ' (did you mean it by X?)' hint for a missing ``name``: what is ``present`` and not ``asked`` for."""
    close = nearest_name(name, set(present) - set(asked))
    return f" (did you mean it by '{close}'?)" if close else ""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the one of ``known`` that is spelt most alike, or '' when none is near."""
    return next(iter(difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.6)), "")
