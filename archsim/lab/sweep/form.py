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

All that is wrong with a file is told at once. So a key that its grammar refuses, or an item of a list, is left out, and
the rest is judged as if the file said only that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from archsim.base.errors import ConfigError, nearest
from archsim.base.units import PS_PER_S
from archsim.ir.figure_table import FIGURES
from archsim.lab.kit.options import Requirement
from archsim.lab.scenario.words import MORE_IS_BETTER as SCENARIO_MORE_IS_BETTER
from archsim.lab.sweep import schema
from archsim.lab.sweep.axis import SweepAxis, axis
from archsim.spec.nodes import FileNode, Mark, parse
from archsim.spec.problems import Problems, validate

_EVERY = parse("{name: a, chip: a, models: [a], axes: {a: [1]}, objectives: [latency_s]}").mapping
_NONE = parse("{name: a, chip: a, models: [], axes: {}, objectives: []}").mapping  # in place of what is wrong
_LISTS = ("models", "zip", "constraints", "objectives")


@dataclass(frozen=True, slots=True)
class SoundSections:
    """``found``: what is right; ``root``: the nodes of that; ``numbers``: key of a list -> which of its items those
    are; ``wrong``: keys of which something was left out, or all."""

    found: schema.SweepSection
    root: FileNode
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    wrong: frozenset[str] = frozenset()

    def number(self, key: str, at: int) -> int:
        """Which item of the file's list the item ``at`` of those that are right is."""
        numbers = self.numbers.get(key, ())
        return numbers[at] if at < len(numbers) else at

    def item(self, key: str, at: int) -> str:
        """The key path of it in the file."""
        return f"{key}[{self.number(key, at)}]"


def sound(root: FileNode, problems: Problems) -> SoundSections:
    """What a file says as far as the grammar takes it; the rest goes to ``problems``."""
    found = validate(schema.SweepSection, root, "", problems)
    numbers = {key: tuple(range(len(root.mapping[key].items))) for key in _LISTS if key in root.mapping}
    if found is not None:
        return SoundSections(found, root, numbers)
    kept: dict[str, FileNode] = {}
    wrong = {key for key in _EVERY if key not in root.mapping}
    for key, node in root.mapping.items():
        taken = node if _fits(key, node) else None
        if taken is None:
            wrong.add(key)
            taken, numbers[key] = _items(key, node)
        if taken is not None:
            kept[key] = taken
    stated = replace(root, value={**_NONE, **kept})
    rest = validate(schema.SweepSection, stated, "", Problems())
    if rest is None:
        raise TypeError("keys of a sweep that are right one by one are not right together")
    return SoundSections(rest, stated, numbers, frozenset(wrong))


def _items(key: str, node: FileNode) -> tuple[FileNode | None, tuple[int, ...]]:
    """The items of a list, or the entries of the axes, that are right, with their numbers; None of another key."""
    if key == "axes":
        own = {name: item for name, item in node.mapping.items() if _fits(key, replace(node, value={name: item}))}
        return (replace(node, value=own) if own else None), ()
    numbers = tuple(n for n, item in enumerate(node.items) if _fits(key, replace(node, value=[item])))
    if key not in _LISTS or not numbers:
        return None, ()
    return replace(node, value=[node.items[n] for n in numbers]), numbers


def _fits(key: str, node: FileNode) -> bool:
    """Whether a key is right in a file that is right otherwise."""
    found = Problems()
    validate(schema.SweepSection, FileNode({**_EVERY, key: node}, node.mark), "", found)
    return not found.found


@dataclass(frozen=True, slots=True)
class SweepGoal:
    """A number of the result that is to be as small, or as large, as possible."""

    key: str
    largest: bool = False

    def __str__(self) -> str:
        return f"{'max' if self.largest else 'min'} {self.key}"


@dataclass(frozen=True, slots=True)
class SweepModel:
    """A model by name or path; ``batch`` None as it states; ``parameters`` of it."""

    model: str
    batch: int | None = None
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What rows call it: ``bert_base(batch=4, seq=128)``."""
        stated = {} if self.batch is None else {"batch": self.batch}
        said = ", ".join(f"{key}={value}" for key, value in (stated | dict(self.parameters)).items())
        return f"{self.model}({said})" if said else self.model


@dataclass(frozen=True, slots=True)
class SweepSearch:
    """How points are chosen: all of them (``trials`` 0), or so many by a method."""

    method: str = "grid"
    trials: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SweepLimits:
    """Of one point; None: none."""

    seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a file says. ``zips``: numbers of the axes that move together; ``objective``: of the mapping search."""

    name: str
    chip: str
    models: tuple[SweepModel, ...]
    axes: tuple[SweepAxis, ...]
    zips: tuple[tuple[int, ...], ...] = ()
    constraints: tuple[Requirement, ...] = ()
    goals: tuple[SweepGoal, ...] = ()
    fidelity: str = "fast"
    search: SweepSearch = field(default_factory=SweepSearch)
    limits: SweepLimits = field(default_factory=SweepLimits)
    objective: str = "latency"
    dtype: str | None = None
    marks: Mapping[str, Mark] = field(default_factory=dict, compare=False)  # axis -> file:line:column
    places: Mapping[str, Mark] = field(default_factory=dict, compare=False)  # other key paths -> file:line:column
    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict, compare=False)  # list -> its items in the file

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of how the file was read."""
        return tuple([f"{self.marks[axis.key]}: axes.{axis.key}: {axis.note}" for axis in self.axes if axis.note])

    def item(self, key: str, at: int) -> str:
        """The key path of an item of a list: ``models[2]``, though an item before it could not be read."""
        numbers = self.numbers.get(key, ())
        return f"{key}[{numbers[at] if at < len(numbers) else at}]"

    def mark(self, key: str) -> Mark:
        """Where a key other than an axis stands, as far as a file says it."""
        return self.places.get(key, Mark(key))

    def place(self, key: str) -> str:
        """Where a key other than an axis stands: ``file:line:column: key``."""
        return f"{self.places[key]}: {key}" if key in self.places else key


@dataclass(frozen=True, slots=True)
class JudgedSweep:
    """A sweep as far as its file is right; ``wrong``: keys of which something, or all, is left out."""

    sweep: Sweep
    wrong: frozenset[str]


def read(text: str, path: str = "<text>") -> Sweep:
    """The sweep of a file's text; raises ConfigError with file:line:column, key path and what is allowed."""
    problems = Problems()
    found = judge(text, path, problems)
    problems.raise_all()
    return found.sweep


def judge(text: str, path: str, problems: Problems) -> JudgedSweep:
    """What is right of a file, all that is wrong goes to ``problems``; raises ConfigError where it is no YAML."""
    root = parse(text, path)
    taken = sound(root, problems)
    found, stated, wrong = taken.found, taken.root.mapping, set(taken.wrong)
    axes = _axes(stated["axes"], wrong, problems)
    models = tuple(SweepModel(each.model, each.batch, each.parameters) for each in found.models)
    goals = tuple(goal_of(text) for text in found.objectives)
    _check_some("models", [each.label for each in models], taken, problems)
    _check_some("objectives", [goal.key for goal in goals], taken, problems)
    if "axes" not in wrong and not axes:
        problems.add(stated["axes"].mark, "axes", "found none; allowed key paths of the chip with their values")
    known = list(root.mapping["axes"].mapping) if "axes" in root.mapping else []
    zips = _zips(stated["zip"], taken, axes, known, wrong, problems) if "zip" in stated else ()
    search = _search(found.search, stated, problems)
    constraints = [
        _constraint(text, stated["constraints"].items[at], taken.item("constraints", at), problems)
        for at, text in enumerate(found.constraints)
    ]
    right = [at for at, each in enumerate(constraints) if each is not None]
    numbers = {**taken.numbers, "constraints": tuple(taken.number("constraints", at) for at in right)}
    sweep = Sweep(
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
        numbers,
    )
    return JudgedSweep(sweep, frozenset(wrong))


def _axes(stated: FileNode, wrong: set[str], problems: Problems) -> tuple[SweepAxis, ...]:
    """Those that can be read, with what is wrong with the others."""
    found: list[SweepAxis] = []
    for key, node in stated.mapping.items():
        before = len(found)
        with problems.caught(node.mark):
            found.append(axis(key, node, f"axes.{key}"))
        if len(found) == before:
            wrong.add("axes")
    return tuple(found)


def _places(root: FileNode) -> dict[str, Mark]:
    """Key path of each key, and of each item of its list, to where it stands."""
    found = {key: node.mark for key, node in root.mapping.items()}
    for key, node in root.mapping.items():
        found |= {f"{key}[{number}]": item.mark for number, item in enumerate(node.items)}
    return found


def _check_some(key: str, names: list[str], taken: SoundSections, problems: Problems) -> None:
    """A list of one or more, each item another one."""
    node = taken.root.mapping[key]
    if not names and key not in taken.wrong:
        problems.add(node.mark, key, "found none; allowed a list of one or more")
    for at, name in enumerate(names):
        if name in names[:at]:
            problems.add(node.items[at].mark, taken.item(key, at), f"found '{name}'; allowed each once")


def goal_of(text: str) -> SweepGoal:
    """``latency_s``, ``max utilization``; raises ConfigError for another form."""
    match = schema.GOAL.fullmatch(text)
    if match is None:
        raise ConfigError(f"found {text!r}; allowed a number of the result such as latency_s, or 'max utilization'")
    way, key = match[1], match[2]
    return SweepGoal(key, way == "max" if way else more_is_better(key))


def more_is_better(key: str) -> bool:
    """Whether a sweep looks for the most of a number of a model's or a scenario's result unless it is told."""
    row = FIGURES.get(key)
    return row.more_is_better if row is not None and row.key == key else key in SCENARIO_MORE_IS_BETTER


def _constraint(text: str, node: FileNode, path: str, problems: Problems) -> Requirement | None:
    try:
        return Requirement.parse(text)
    except ConfigError as error:
        problems.add(node.mark, path, str(error).removeprefix("--require: "))
        return None


def _zips(
    node: FileNode,
    taken: SoundSections,
    axes: tuple[SweepAxis, ...],
    known: list[str],
    wrong: set[str],
    problems: Problems,
) -> tuple[tuple[int, ...], ...]:
    """Axes that move together are listed above, have as many values, and are zipped once; ``known``: those of the file,
    also the ones that cannot be read."""
    names = [axis.key for axis in axes]
    used: list[str] = []
    found = []
    for at, group in enumerate(node.items):
        zipped = [str(item.value) for item in group.items]
        faults = _wrong_group(zipped, known, used, axes)
        for fault in faults:
            problems.add(group.mark, taken.item("zip", at), fault)
        used += zipped
        if faults or not set(zipped) <= set(names):
            wrong.add("zip")
            continue
        found.append(tuple(names.index(name) for name in zipped))
    return tuple(found)


def _wrong_group(zipped: list[str], known: list[str], used: list[str], axes: tuple[SweepAxis, ...]) -> list[str]:
    """All that is wrong with a list of axes that move together."""
    shown = f"[{', '.join(zipped)}]"
    if len(zipped) < 2:
        return [f"found {shown}; allowed a list of two axes or more"]
    found = []
    for number, name in enumerate(zipped):
        if name in used or name in zipped[:number]:
            found.append(f"found '{name}'; allowed axes of this file that are not zipped yet")
        elif name not in known:
            found.append(f"found '{name}'; allowed axes of this file{nearest(name, known)}")
    if len({len(axis.values) for axis in axes if axis.key in zipped}) > 1:
        found.append(f"found {shown}; allowed axes of the same number of values")
    return found


def _search(found: schema.Search | None, stated: Mapping[str, FileNode], problems: Problems) -> SweepSearch:
    if found is None:
        return SweepSearch()
    if found.method != "grid" and found.trials is None:
        problems.add(stated["search"].mark, "search.trials", "missing; allowed a number of points")
    return SweepSearch(found.method, (found.trials or 0) if found.method != "grid" else 0, found.seed)


def _limits(found: schema.Limits | None) -> SweepLimits:
    if found is None:
        return SweepLimits()
    return SweepLimits(None if found.time is None else float(found.time / PS_PER_S), found.memory)
