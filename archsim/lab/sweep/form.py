"""A sweep file (schema ``archsim.sweep/1``): what it says, judged by its form alone.

name: sram_vs_bandwidth
chip: edge_npu
models: [resnet50, {model: bert_base, batch: 4, parameters: {seq: 128}}]
axes: {l1.size: [1 MiB, 2 MiB], dram.channels: {log2: [1, 8]}, clock: {range: [0.8 GHz, 1.4 GHz], steps: 4}}
zip: [[l1.size, l1.banks]]                       # axes that move together instead of crossing
constraints: ["area_mm2 <= 100"]
objectives: [latency_s, max utilization]         # min unless stated, or of what is better when more
fidelity: cost | fast | exact                    # cost: the analytic model alone; the front is run again, exact
search: {method: grid | random | qmc | nsga2 | tpe, trials: 200, seed: 1}
limits: {time: 10 min, memory: 4 GiB}            # of a point
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from archsim.errors import ConfigError, nearest
from archsim.lab.options import Requirement
from archsim.lab.sweep import schema
from archsim.lab.sweep.axis import Axis, axis
from archsim.lab.sweep.quantity import PS_PER_S
from archsim.spec.nodes import Mark, Node, parse
from archsim.spec.problems import Problems, validate

MORE_IS_BETTER = (
    "throughput_per_s", "utilization", "utilization_dtype", "slack_min_s", "dram.row_hit_rate",
    "dram.bandwidth_utilization",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Goal:
    """A number of the result that is to be as small, or as large, as possible."""

    key: str
    largest: bool = False

    def __str__(self) -> str:
        return f"{'max' if self.largest else 'min'} {self.key}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A model by name or path; ``batch`` None as it states; ``parameters`` of a workload file."""

    model: str
    batch: int | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What rows call it: ``bert_base(batch=4, seq=128)``."""
        stated = {} if self.batch is None else {"batch": self.batch}
        said = ", ".join(f"{key}={value}" for key, value in (stated | dict(self.parameters)).items())
        return f"{self.model}({said})" if said else self.model


@dataclass(frozen=True, slots=True)
class Search:
    """How points are chosen: all of them (``trials`` 0), or so many by a method."""

    method: str = "grid"
    trials: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one point; None: none."""

    seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a file says. ``zips``: numbers of the axes that move together; ``objective``: of the mapping search."""

    name: str
    chip: str
    models: tuple[Asked, ...]
    axes: tuple[Axis, ...]
    zips: tuple[tuple[int, ...], ...] = ()
    constraints: tuple[Requirement, ...] = ()
    goals: tuple[Goal, ...] = ()
    fidelity: str = "fast"
    search: Search = field(default_factory=Search)
    limits: Limits = field(default_factory=Limits)
    objective: str = "latency"
    dtype: str | None = None
    marks: Mapping[str, Mark] = field(default_factory=dict, compare=False)  # axis -> file:line:column
    places: Mapping[str, Mark] = field(default_factory=dict, compare=False)  # other key paths -> file:line:column

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of how the file was read."""
        return tuple([f"{self.marks[axis.key]}: axes.{axis.key}: {axis.note}" for axis in self.axes if axis.note])

    def mark(self, key: str) -> Mark:
        """Where a key other than an axis stands, as far as a file says it."""
        return self.places.get(key, Mark(key))

    def place(self, key: str) -> str:
        """Where a key other than an axis stands: ``file:line:column: key``."""
        return f"{self.places[key]}: {key}" if key in self.places else key


def read(text: str, path: str = "<text>") -> Sweep:
    """The sweep of a file's text; raises ConfigError with file:line:column, key path and what is allowed."""
    root = parse(text, path)
    problems = Problems()
    found = validate(schema.Sweep, root, "", problems)
    axes = _axes(root, problems)
    problems.raise_all()
    if found is None:
        raise TypeError("a sweep was refused without a reason")
    stated = root.mapping
    models = tuple(Asked(each.model, each.batch, each.parameters) for each in found.models)
    goals = tuple(goal_of(text) for text in found.objectives)
    for key, names in (("models", [each.label for each in models]), ("objectives", [goal.key for goal in goals])):
        _check_some(stated[key], key, names, problems)
    if not axes:
        problems.add(stated["axes"].mark, "axes", "found none; allowed key paths of the chip with their values")
    zips = _zips(stated["zip"], axes, problems) if "zip" in stated else ()
    search = _search(found.search, stated, problems)
    constraints = tuple(
        _constraint(text, stated["constraints"], n, problems) for n, text in enumerate(found.constraints)
    )
    problems.raise_all()
    return Sweep(
        found.name,
        found.chip,
        models,
        axes,
        zips,
        tuple(each for each in constraints if each is not None),
        goals,
        found.fidelity,
        search,
        _limits(found.limits),
        found.objective,
        found.dtype,
        {key: node.mark for key, node in stated["axes"].mapping.items()},
        _places(root),
    )


def _axes(root: Node, problems: Problems) -> tuple[Axis, ...]:
    """Those that can be read, with what is wrong with the others."""
    found = []
    for key, node in root.mapping["axes"].mapping.items() if "axes" in root.mapping else ():
        if node.value is not None:  # which is told with what the grammar finds
            with problems.caught(node.mark):
                found.append(axis(key, node, f"axes.{key}"))
    return tuple(found)


def _places(root: Node) -> dict[str, Mark]:
    """Key path of each key, and of each item of its list, to where it stands."""
    found = {key: node.mark for key, node in root.mapping.items()}
    for key, node in root.mapping.items():
        found |= {f"{key}[{number}]": item.mark for number, item in enumerate(node.items)}
    return found


def _check_some(node: Node, key: str, names: list[str], problems: Problems) -> None:
    """A list of one or more, each item another one."""
    if not names:
        problems.add(node.mark, key, "found none; allowed a list of one or more")
    for number, name in enumerate(names):
        if name in names[:number]:
            problems.add(node.items[number].mark, f"{key}[{number}]", f"found '{name}'; allowed each once")


def goal_of(text: str) -> Goal:
    """``latency_s``, ``max utilization``; raises ConfigError for another form."""
    match = schema.GOAL.fullmatch(text)
    if match is None:
        raise ConfigError(f"found {text!r}; allowed a number of the result such as latency_s, or 'max utilization'")
    way, key = match[1], match[2]
    return Goal(key, way == "max" if way else key in MORE_IS_BETTER)


def _constraint(text: str, node: Node, number: int, problems: Problems) -> Requirement | None:
    try:
        return Requirement.parse(text)
    except ConfigError as error:
        said = str(error).removeprefix("--require: ")
        problems.add(node.items[number].mark, f"constraints[{number}]", said)
        return None


def _zips(node: Node, axes: tuple[Axis, ...], problems: Problems) -> tuple[tuple[int, ...], ...]:
    """Axes that move together are listed above, have as many values, and are zipped once."""
    names = [axis.key for axis in axes]
    used: list[str] = []
    found = []
    for at, group in enumerate(node.items):
        zipped = [str(item.value) for item in group.items]
        wrong = _wrong_group(zipped, names, used, axes)
        if wrong:
            problems.add(group.mark, f"zip[{at}]", wrong)
            continue
        used += zipped
        found.append(tuple(names.index(name) for name in zipped))
    return tuple(found)


def _wrong_group(zipped: list[str], names: list[str], used: list[str], axes: tuple[Axis, ...]) -> str:
    """What is wrong with a list of axes that move together, '' for nothing."""
    shown = f"[{', '.join(zipped)}]"
    if len(zipped) < 2:
        return f"found {shown}; allowed a list of two axes or more"
    for number, name in enumerate(zipped):
        if name in used or name in zipped[:number]:
            return f"found '{name}'; allowed axes of this file that are not zipped yet"
        if name not in names:
            return f"found '{name}'; allowed axes of this file{nearest(name, names)}"
    if len({len(axes[names.index(name)].values) for name in zipped}) > 1:
        return f"found {shown}; allowed axes of the same number of values"
    return ""


def _search(found: schema.Search | None, stated: Mapping[str, Node], problems: Problems) -> Search:
    if found is None:
        return Search()
    if found.method != "grid" and found.trials is None:
        problems.add(stated["search"].mark, "search.trials", "missing; allowed a number of points")
    return Search(found.method, (found.trials or 0) if found.method != "grid" else 0, found.seed)


def _limits(found: schema.Limits | None) -> Limits:
    if found is None:
        return Limits()
    return Limits(None if found.time is None else float(found.time / PS_PER_S), found.memory)
