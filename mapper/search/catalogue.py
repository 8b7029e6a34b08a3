"""The mapping searches that exist: each file of this package, or of a plugin, that defines ``search``, by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, cast

from archsim.base import registry
from archsim.base.errors import ConfigError
from mapper.cost.chip_rates import ChipCosts
from mapper.problem.constraints import Rules
from mapper.problem.problem import Problem
from mapper.search.space import Choice
from mapper.search.templates import Space

RANDOM = "random"


class MappingSearch(Protocol):
    """What the file of a mapping search defines."""

    def search(
        self, problem: Problem, chip: ChipCosts, dtypes: Mapping[str, str], objective: str, rules: Rules, seed: str
    ) -> Choice:
        """A legal mapping of ``problem``, one layer on one unit, or on one core's part of a chip.

        ``dtypes``: by role; ``objective``: latency | energy | edp; ``rules``: what the mapping has to respect;
        ``seed``: of all that is drawn, so that equal seeds give equal mappings. The space that the compiler can lower
        is ``mapper.search.templates.open_space(problem, chip, dtypes, rules)``: its templates, their legal cells and
        what these cost; ``mapper.search.space.choice`` makes a mapping of a cell. Whatever is returned is judged before
        it is taken. Raises MappingError naming tensor, level, needs and has when nothing fits (``Space.empty``).
        """


class RankedSearch(Protocol):
    """What a mapping search may define as well, so that the simulator can rank what it finds (``--refine``)."""

    def best(self, space: Space, objective: str) -> Choice:
        """The best mapping of a space."""

    def candidates(self, space: Space, objective: str) -> Iterator[Choice]:
        """Distinct mappings of a space, those that are expected to be best first."""


KIND = registry.Kind("mapping search", "mapper.search", "search", "search", MappingSearch, (RankedSearch,))


def names() -> tuple[str, ...]:
    """Names of all mapping searches, sorted."""
    return tuple(registry.modules(KIND))


def get(name: str) -> MappingSearch:
    """The search of a name; raises ConfigError for an unknown one, with the nearest."""
    return cast(MappingSearch, registry.load(KIND, name))


def ranked(name: str) -> RankedSearch:
    """The search of a name, for ``--refine``; raises ConfigError where it cannot list its candidates."""
    found = registry.load(KIND, name)
    if not hasattr(found, "candidates"):
        others = ", ".join(other for other in names() if hasattr(registry.load(KIND, other), "candidates"))
        raise ConfigError(f"--refine: the mapping search '{name}' lists no candidates; allowed with --search {others}")
    return cast(RankedSearch, found)


def code_sha256(name: str) -> str:
    """Hash of a plugin's code; '' of a search of the tree, whose code is hashed with the compiler's."""
    plugins = registry.plugins(KIND)
    return registry.sha256(plugins[name]) if name in plugins else ""
