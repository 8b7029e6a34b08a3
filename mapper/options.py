"""What the user asked of the compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from archsim.base.errors import ConfigError, nearest
from archsim.ir.dtypes import size_bytes
from archsim.ir.mapping import Constraint, LayerFences, LayerMapping, Placement
from archsim.ir.program import Program
from archsim.ir.schedule import Group
from archsim.spec.architecture import Architecture
from mapper.cost.chip_rates import Outer
from mapper.problem.element_scales import Numbers
from mapper.problem.formats import is_apart

OBJECTIVES = ("latency", "energy", "edp")
LAYERS, BEST = "layers", "best"  # schedules: layers one by one, or in groups where that is better
EXHAUSTIVE = "exhaustive"  # the mapping search that is taken unless another one is asked for
Simulate = Callable[[Program], int]  # reference cycles of a Program on the chip that it was compiled for


@dataclass(frozen=True)
class Given:
    """What is stated instead of searched: ``layers`` by name, ``placements`` by tensor, ``constraints``, ``groups``.

    ``places``: ``layer NAME``, ``layer NAME[node]``, ``placement TENSOR`` -> what a message about it begins with.
    """

    layers: Mapping[str, LayerMapping] = field(default_factory=dict)
    placements: Mapping[str, Placement] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    groups: tuple[Group, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """``file:line:column: `` of a key, or ''."""
        return self.places.get(key, "")


@dataclass(frozen=True)
class Options:
    """What the user asked of the compiler.

    ``cache``: folder for mappings, None for none; ``outer``: rates of the chip's DRAM parts; ``network_shares``:
    (shared memory, 'read' | 'write') -> share of the time that the network's busiest link works; ``given``: what is
    stated instead of searched; ``numbers``: (scale, zero) of tensors, (1, 0) where absent; ``random``: seed of a legal
    mapping drawn at random instead of the best ('': the best), which no cache keeps; ``workers``: processes that
    search; ``refine``: candidates of a layer that ``simulate`` may rank (0: the analytic best is taken); ``fences``:
    between layers, with ``all`` no tensor stays on chip but where that is stated; ``search``: the mapping search by
    its name (``mapper.search.catalogue``), ``seed``: of what it draws; ``schedule``: whether layers may run in groups;
    ``policy``: the schedule policy that restricts all of it ('': none).
    """

    objective: str = "latency"
    dtypes: Mapping[str, str] | None = None
    cache: Path | None = None
    outer: Mapping[str, Outer] = field(default_factory=dict)
    network_shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    given: Given = field(default_factory=Given)
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    random: str = ""
    workers: int = 1
    refine: int = 0
    fences: LayerFences = "needed"
    simulate: Simulate | None = None
    search: str = EXHAUSTIVE
    seed: str = "0"
    schedule: str = LAYERS
    policy: str = ""


def check_objective(objective: str) -> None:
    """Raise ConfigError unless it is one of OBJECTIVES."""
    if objective not in OBJECTIVES:
        raise ConfigError(f"objective '{objective}'{nearest(objective, OBJECTIVES)}: allowed {', '.join(OBJECTIVES)}")


def resolve_dtypes(architecture: Architecture, asked: Mapping[str, str]) -> dict[str, str]:
    """dtype per role: the chip's, overridden by ``asked``; raises ConfigError where they cannot go together.

    Whether the engines have rates for them is judged by the layers that need these (``mapper.problem.feasibility``).
    """
    found = {**architecture.dtypes, **asked}
    if is_apart(architecture, found):
        found["weights"] = found["inputs"]
    for role in ("inputs", "weights", "outputs", "accumulate"):
        if role not in found:
            raise ConfigError(f"chip '{architecture.name}' states no dtype for {role} (dtypes.{role})")
        size_bytes(found[role])
    if found["outputs"] != found["inputs"]:
        raise ConfigError(
            f"dtypes: outputs {found['outputs']} and inputs {found['inputs']} differ; one layer's outputs are the "
            "next one's inputs"
        )
    return found
