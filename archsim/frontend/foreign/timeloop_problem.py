"""Timeloop problems: ``shape`` (dimensions, coefficients, data spaces with projections) and ``instance`` (sizes)."""

from __future__ import annotations

from archsim.base.errors import nearest
from archsim.base.units import shown
from archsim.frontend.foreign.section import SourceSection
from archsim.frontend.foreign.timeloop_chain import usual_role
from archsim.frontend.foreign.work import ForeignCoordinate, ForeignLayer, ForeignModel, ForeignOperand

_DENSE = "densities below 1 are not modelled: everything is computed dense"


def read(problem: SourceSection, file: str) -> tuple[ForeignModel, dict[str, str]]:
    """The layer, and by name the role of each data space. Raises ConfigError for what it cannot understand."""
    problem.ignore("the version of Timeloop's own grammar", "version")
    shape = problem.mapping("shape")
    if shape is None:
        problem.fail("key 'shape' is missing; shapes by name ('shape: cnn-layer') are to be written out")
    instance = problem.mapping("instance")
    if instance is None:
        problem.fail("key 'instance' is missing; it gives the size of each dimension")
    dims = shape.words("dimensions", "layers.sizes")
    extents = {dim: instance.count(dim, "layers.sizes") or 1 for dim in dims}
    for dim in dims:
        if dim not in instance:
            shape.ledger.assume(f"layers.sizes.{dim}", "1: the instance states no size of it")
    steps = _coefficients(shape, instance)
    spaces = shape.entries("data_spaces") or shape.entries("data-spaces")
    accesses, roles = _accesses(shape, spaces, extents, steps)
    _densities(instance)
    _densities(problem)
    name = shape.text("name", "layers.name", "layer")
    result = next((access for access in accesses if access.role == "outputs"), None)
    if result is None:
        shape.fail("no data space is written; allowed 'read_write: true' of one")
    operands = tuple(access for access in accesses if access is not result)
    task = ForeignLayer(name, shape.node.mark, shape.path, extents, operands, result)
    return ForeignModel("Timeloop", file.rpartition(".")[0] or file, file, problem.node.mark, (task,)), roles


def _coefficients(shape: SourceSection, instance: SourceSection) -> dict[str, int]:
    """Strides and dilations: of the instance, else their default."""
    found = {}
    for coefficient in shape.entries("coefficients"):
        name = coefficient.text("name", "layers.stride, layers.dilation")
        default = coefficient.count("default", "layers.stride, layers.dilation") or 1
        found[name] = instance.count(name, "layers.stride, layers.dilation") or default
    return found


def _densities(section: SourceSection) -> None:
    for key in ("densities", "density", "data_densities"):
        if key in section:
            given = section.node.mapping[key]
            plain = given.plain()
            dense = isinstance(plain, dict) and all(str(value) in ("1", "1.0") for value in plain.values())
            section.ignore("dense", key) if dense else section.refuse(_DENSE, key)


def _accesses(
    shape: SourceSection, spaces: list[SourceSection], extents: dict[str, int], steps: dict[str, int]
) -> tuple[list[ForeignOperand], dict[str, str]]:
    found: list[tuple[str, bool, tuple[ForeignCoordinate, ...]]] = []
    for space in spaces:
        name = space.text("name", "the tensor")
        written = any(space.flag(key, "the result") for key in ("read_write", "read-write"))
        terms = tuple(_coordinate(entry, extents, steps) for entry in _projection(space))
        space.take("the tensor's indices", "projection")
        found.append((name, written, terms))
    names = [name for name, _, _ in found]
    if len(set(names)) != len(names) or "" in names:
        shape.fail("data spaces need names of their own")
    roles = _roles(found)
    return [ForeignOperand(name, roles[name], terms) for name, _, terms in found], roles


def _roles(found: list[tuple[str, bool, tuple[ForeignCoordinate, ...]]]) -> dict[str, str]:
    """What is written is the output; of the others the one called so, or with whole indices, is the weights."""
    roles = {name: "outputs" for name, written, _ in found if written}
    rest = [(name, terms) for name, written, terms in found if not written]
    named = [name for name, _ in rest if usual_role(name) == "weights"]
    whole = [name for name, terms in rest if all(len(coordinate) == 1 for coordinate in terms)]
    weights = (named or whole[-1:] or [""])[0]
    return roles | {name: "weights" if name == weights and len(rest) > 1 else "inputs" for name, _ in rest}


def _projection(space: SourceSection) -> list[SourceSection]:
    """One entry for each index; a mapping of ranks states them by name."""
    found = space.at("projection")
    if found is None or not (found.node.items or found.node.mapping):
        space.fail("key 'projection' is missing; allowed a list of indices such as [[[M]], [[K]]]")
    if found.node.mapping:
        return [SourceSection(node, found.key_path(key), found.ledger) for key, node in found.node.mapping.items()]
    return found.items()


def _coordinate(entry: SourceSection, extents: dict[str, int], steps: dict[str, int]) -> ForeignCoordinate:
    """A sum of dims, each alone or with a coefficient: [[P, stride], [R]]; a dim may stand alone without brackets."""
    terms = []
    for term in entry.items() or [entry]:
        words = [str(item.node.value) for item in term.items()] if term.items() else [str(term.node.value)]
        if not 1 <= len(words) <= 2 or words[0] not in extents:
            hint = nearest(words[0], extents) if words else ""
            entry.fail(f"found {shown(' '.join(words))}{hint}; allowed [DIM] or [DIM, COEFFICIENT] of the dimensions")
        step = steps.get(words[1], 0) if len(words) == 2 else 1
        if len(words) == 2 and not step and words[1].isdecimal():
            step = int(words[1])
        if not step:
            entry.fail(f"no coefficient '{words[1]}'{nearest(words[1], steps)}; allowed {', '.join(steps) or 'none'}")
        terms.append((words[0], step))
    if len({dim for dim, _ in terms}) != len(terms):
        entry.fail("a sum with one dim twice; allowed each dim once")
    return tuple(terms)
