"""Methods of design search by name: one file each in this package, with a function ``method``."""

from __future__ import annotations

from typing import Protocol, cast

from archsim.base import registry
from archsim.lab.explore.problem import DesignProblem, SearchMethod


class DesignSearch(Protocol):
    """What the file of a design search defines."""

    def method(self, problem: DesignProblem) -> SearchMethod:
        """What can be asked for points of a sweep and told what came of them, for one problem.

        Raises ConfigError where what it needs is not installed.
        """


KIND = registry.Kind("design search", "archsim.lab.explore", "explore", "method", DesignSearch)


def names() -> tuple[str, ...]:
    """Methods that there are."""
    return tuple(registry.modules(KIND))


def make(name: str, problem: DesignProblem) -> SearchMethod:
    """A method that has not been asked yet; raises ConfigError where what it needs is not installed."""
    return cast(DesignSearch, registry.load(KIND, name)).method(problem)
