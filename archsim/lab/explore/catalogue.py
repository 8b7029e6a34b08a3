"""Methods of design search by name: one file each in this package, with a function ``method``."""

from __future__ import annotations

from archsim.base import registry
from archsim.lab.explore.problem import DesignProblem, SearchMethod

KIND = registry.Kind("design search", "archsim.lab.explore", "explore", defines="method")


def names() -> tuple[str, ...]:
    """Methods that there are."""
    return tuple(registry.modules(KIND))


def make(name: str, problem: DesignProblem) -> SearchMethod:
    """A method that has not been asked yet; raises ConfigError where what it needs is not installed."""
    found: SearchMethod = registry.load(KIND, name).method(problem)
    return found
