"""AccelForge workloads: einsums with tensor accesses or in one line, sizes by rank or by rank variable."""

from __future__ import annotations

import re
from dataclasses import dataclass

from archsim.base.errors import ConfigError
from archsim.base.units import shown
from archsim.frontend.foreign.ledger import APPROXIMATED
from archsim.frontend.foreign.section import MOST, SourceQuantity, SourceSection
from archsim.frontend.foreign.sets import Roles, roles_of
from archsim.frontend.foreign.timeloop_chain import usual_role
from archsim.frontend.foreign.work import ForeignCoordinate, ForeignLayer, ForeignModel, ForeignOperand
from archsim.spec.nodes import FileNode

_BOUND = re.compile(r"\s*([0-9]{1,15})\s*<=\s*(\w+)\s*(<=?)\s*([0-9]{1,15})\s*")
_TERM = re.compile(r"\s*(?:([0-9]{1,9})\s*\*\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*\*\s*([0-9]{1,9})|([A-Za-z_]\w*))\s*")
_TENSOR = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\(\s*([A-Za-z_]\w*)\s*\))?\s*\[([^\[\]]*)\]\s*")
_ALIASES = {"input": "inputs", "weight": "weights", "output": "outputs"}


@dataclass(frozen=True)
class AccelforgeFacts:
    """What an architecture may name: tensors by their roles in the first einsum, bits of each role."""

    roles: dict[str, Roles]
    bits: dict[str, SourceQuantity]


@dataclass(frozen=True)
class AccelforgeTensor:
    """An access of an einsum: rank -> sum of rank variables."""

    name: str
    ranks: dict[str, ForeignCoordinate]
    written: bool
    bits: SourceQuantity | None
    alias: str = ""


def read(
    workload: SourceSection, renames: SourceSection | None, file: str, variables: dict[str, object]
) -> tuple[ForeignModel, AccelforgeFacts]:
    """The einsums, and what an architecture may name. Raises ConfigError for what it cannot understand."""
    workload.ignore("the version of AccelForge's own grammar", "version")
    workload.ignore("which tensors stay where; archsim's compiler decides that", "persistent_tensors")
    _repeated(workload)
    named = _renamed(renames)
    ranks = _sizes(workload, "rank_sizes", variables)
    shared = _bounds(workload)
    tasks: list[ForeignLayer] = []
    facts = AccelforgeFacts({}, {})
    tensors_bits: dict[str, SourceQuantity] = {}
    for entry in workload.entries("einsums"):
        task, accesses = _einsum(entry, named, ranks, shared, variables)
        if task is None:
            continue
        tasks.append(task)
        roles = {access.tensor: access.role for access in (*task.operands, task.result)}
        for access in accesses:
            if access.bits is not None:
                _one_width(entry, access.name, roles[access.name], access.bits, tensors_bits)
        facts.roles.update((name, frozenset((role,))) for name, role in roles.items() if name not in facts.roles)
    facts.bits.update(_bits(workload, facts.roles, variables) | tensors_bits)
    name = re.sub(r"(\.workload)?\.ya?ml$", "", file)
    return ForeignModel("AccelForge", name, file, workload.node.mark, tuple(tasks)), facts


def _renamed(renames: SourceSection | None) -> dict[str, str]:
    """Tensor -> role of renames that name tensors; those that are set expressions are archsim's own rule."""
    found: dict[str, str] = {}
    for entry in renames.entries("einsums") if renames is not None else []:
        found |= _roles_of(entry, "tensor_accesses")
        entry.ignore("einsums and ranks that are renamed for the architecture", "name", "rank_variables")
    return found


def _roles_of(entry: SourceSection, key: str) -> dict[str, str]:
    """``{weight: W}`` or ``[{name: weight, source: W}]``."""
    table = entry.at(key)
    if table is None:
        return {}
    entry.take("roles of the tensors", key)
    pairs = {alias: str(node.value) for alias, node in table.node.mapping.items()}
    for item in table.items():
        pairs[item.text("name", "roles of the tensors")] = item.text("source", "roles of the tensors")
        item.ignore("a check of AccelForge's own", "expected_count")
    plain = {tensor: _ALIASES[alias] for alias, tensor in pairs.items() if alias in _ALIASES}
    return {
        tensor: role for tensor, role in plain.items() if tensor.isidentifier() and tensor not in ("Outputs", "Inputs")
    }


def _sizes(section: SourceSection, key: str, variables: dict[str, object]) -> dict[str, int]:
    table = section.mapping(key)
    found = {}
    for rank in table if table is not None else []:
        assert table is not None
        size = table.count(rank, "layers.sizes", variables)
        if size is not None:
            found[rank] = size
    return found


def _bounds(section: SourceSection) -> dict[str, int]:
    """Rank variable -> size, of ``{m: 0 <= m < 128}`` or ``[0 <= m < 128]``."""
    found: dict[str, int] = {}
    for key in ("iteration_space_shape", "shape"):
        table = section.at(key)
        if table is None:
            continue
        section.take("layers.sizes", key)
        nodes = list(table.node.mapping.values()) or table.node.items
        for node in nodes:
            bound = _BOUND.fullmatch(str(node.value))
            if bound is None:
                raise ConfigError(
                    f"{node.mark}: {section.key_path(key)}: found {shown(node.plain())}; allowed '0 <= m < 128'"
                )
            size = int(bound[4]) - int(bound[1]) + (bound[3] == "<=")
            if not 1 <= size <= MOST:
                raise ConfigError(
                    f"{node.mark}: {section.key_path(key)}: found {shown(node.plain())}; allowed 1 or more"
                )
            found[bound[2]] = size
    return found


def _einsum(
    entry: SourceSection,
    named: dict[str, str],
    ranks: dict[str, int],
    shared: dict[str, int],
    variables: dict[str, object],
) -> tuple[ForeignLayer | None, list[AccelforgeTensor]]:
    """The layer; None where it copies."""
    if isinstance(entry.node.value, str):
        entry.take("a layer")
        tensors, name = _concise(entry, entry.node.value), ""
    else:
        text = entry.text("einsum", "a layer")
        tensors = _concise(entry, text) if text else _accesses(entry, variables)
        name = entry.text("name", "layers.name")
    own = named | _roles_of(entry, "renames")
    _repeated(entry)
    if "is_copy_operation" in entry and entry.flag("is_copy_operation", ""):
        entry.ignore("a copy, which computes nothing")
        return None, []
    results = [tensor for tensor in tensors if tensor.written]
    if len(results) != 1:
        entry.fail(f"found {len(results)} outputs; allowed one with 'output: True'")
    place = SourceSection(FileNode(entry.node.mapping or {}, entry.node.mark), entry.path, entry.ledger)
    extents = _extents(entry, tensors, _sizes(place, "rank_sizes", variables), ranks, {**shared, **_bounds(place)})
    roles = _assigned(tensors, own)
    accesses = [ForeignOperand(tensor.name, roles[tensor.name], tuple(tensor.ranks.values())) for tensor in tensors]
    result = next(access for access in accesses if access.role == "outputs")
    operands = tuple(access for access in accesses if access is not result)
    name = name or result.tensor
    return ForeignLayer(name, entry.node.mark, entry.path, extents, operands, result), tensors


def _repeated(section: SourceSection) -> None:
    """``n_instances`` multiplies results."""
    if "n_instances" in section:
        many = section.count("n_instances", "")
        if many == 1:
            section.ignore("once", "n_instances")
        else:
            section.refuse(f"each layer is written once, not {many} times; multiply the results", "n_instances")


def _assigned(tensors: list[AccelforgeTensor], named: dict[str, str]) -> dict[str, str]:
    """Roles: by alias or rename, else by usual names; of two that are left the second is the weights."""
    roles = {tensor.name: "outputs" if tensor.written else "" for tensor in tensors}
    for tensor in tensors:
        said = _ALIASES.get(tensor.alias) or named.get(tensor.name) or ""
        if not tensor.written and said in ("inputs", "weights"):
            roles[tensor.name] = said
    for tensor in tensors:
        if not roles[tensor.name] and usual_role(tensor.name) in ("inputs", "weights"):
            roles[tensor.name] = usual_role(tensor.name)
    taken = [tensor.name for tensor in tensors if not roles[tensor.name]]
    for name in taken:
        has_weights = "weights" in roles.values()
        last = name == taken[-1] and len(tensors) > 2
        roles[name] = "weights" if last and not has_weights else "inputs"
    return roles


def _extents(
    entry: SourceSection,
    tensors: list[AccelforgeTensor],
    own: dict[str, int],
    ranks: dict[str, int],
    bounds: dict[str, int],
) -> dict[str, int]:
    """Sizes of the rank variables: stated, else those of a rank that one of them indexes alone."""
    found: dict[str, int] = {}
    sizes = ranks | own
    for tensor in (*[each for each in tensors if each.written], *tensors):
        for rank, terms in tensor.ranks.items():
            for variable, _ in terms:
                if variable in bounds:
                    found.setdefault(variable, bounds[variable])
            if len(terms) == 1 and terms[0][0] not in bounds and rank in sizes:
                found.setdefault(terms[0][0], sizes[rank])
    for tensor in tensors:
        for terms in tensor.ranks.values():
            missing = next((variable for variable, _ in terms if variable not in found), None)
            if missing is not None:
                entry.fail(
                    f"no size of '{missing}'; allowed rank_sizes, or iteration_space_shape '0 <= {missing} < SIZE'"
                )
    return found


def _accesses(entry: SourceSection, variables: dict[str, object]) -> list[AccelforgeTensor]:
    found = []
    for access in entry.entries("tensor_accesses"):
        name = access.text("name", "the tensor")
        table = access.at("projection")
        if table is None or not name:
            access.fail("needs 'name' and 'projection'")
        access.take("the tensor's indices", "projection")
        if table.node.mapping:
            ranks = {rank: _terms(table, str(node.value)) for rank, node in table.node.mapping.items()}
        else:
            ranks = {str(node.value).upper(): _terms(table, str(node.value)) for node in table.node.items}
        bits = access.number("bits_per_value", "dtypes", variables)
        access.ignore(
            "which tensors stay where; archsim's compiler decides that", "persistent", "backing_storage_size_scale"
        )
        if "density" in access:
            access.refuse("sparse tensors are not modelled: everything is computed dense", "density")
        found.append(AccelforgeTensor(name, ranks, access.flag("output", "the result"), bits))
    if not found:
        entry.fail("has no tensors; allowed 'tensor_accesses', or 'einsum: O[m, n] = I[m, k] * W[k, n]'")
    return found


def _terms(place: SourceSection, text: str) -> ForeignCoordinate:
    """``2*p + r`` as ((p, 2), (r, 1))."""
    found = []
    for part in text.split("+"):
        term = _TERM.fullmatch(part)
        if term is None:
            place.fail(f"found {shown(text)}; allowed a sum of rank variables such as 2*p + r")
        found.append((term[2] or term[3] or term[5], int(term[1] or term[4] or 1)))
    if len({variable for variable, _ in found}) != len(found) or any(step < 1 for _, step in found):
        place.fail(f"found {shown(text)}; allowed each rank variable once")
    return tuple(found)


def _concise(entry: SourceSection, text: str) -> list[AccelforgeTensor]:
    """``O[m, n] = I[m, k] * W(weight)[k, n]``."""
    left, equals, right = text.partition("] =")
    if not equals:
        left, equals, right = text.partition("]=")
    parts = [left + "]", *right.split("*")] if equals else []
    found = []
    for at, part in enumerate(parts):
        tensor = _TENSOR.fullmatch(part)
        if tensor is None:
            parts = []
            break
        ranks = {}
        for index in filter(None, (each.strip() for each in tensor[3].split(","))):
            rank, stated, variables = index.partition("=")
            ranks[rank.strip().upper() if not stated else rank.strip()] = _terms(entry, variables if stated else index)
        found.append(AccelforgeTensor(tensor[1], ranks, at == 0, None, tensor[2] or ""))
    if not parts:
        entry.fail(f"found {shown(text)}; allowed O[m, n] = I[m, k] * W[k, n]")
    return found


def _bits(workload: SourceSection, roles: dict[str, Roles], variables: dict[str, object]) -> dict[str, SourceQuantity]:
    """``bits_per_value: {All: 8, weight: 4}``; what names fewer tensors wins, the first tensor of a role decides."""
    table = workload.mapping("bits_per_value")
    stated: dict[str, tuple[Roles, SourceQuantity]] = {}
    for key in table if table is not None else []:
        assert table is not None
        try:
            of = roles_of(key, roles)
        except ConfigError as error:
            table.fail(str(error), key)
        bits = table.number(key, "dtypes", variables)
        if bits is not None:
            stated[key] = of, bits
    found: dict[str, SourceQuantity] = {}
    for tensor, (role, *_) in ((name, sorted(own)) for name, own in roles.items() if own):
        known = [key for key, (of, _) in stated.items() if key == tensor or (key not in roles and role in of)]
        if known:
            key = min(known, key=lambda each: 0 if each == tensor else len(stated[each][0]))
            _one_width(workload, tensor, role, stated[key][1], found)
    return found


def _one_width(
    section: SourceSection, tensor: str, role: str, bits: SourceQuantity, found: dict[str, SourceQuantity]
) -> None:
    """A role has one width, that of its first tensor."""
    first = found.setdefault(role, bits)
    if first.value != bits.value:
        said = (
            f"'{tensor}' has {first.value} b here as the first of {role}: a run has one dtype for each role (--dtype)"
        )
        section.ledger.settle(APPROXIMATED, bits.path, bits.mark, said)
