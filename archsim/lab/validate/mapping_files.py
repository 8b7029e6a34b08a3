"""Files of recorded optimal mappings (form in studies/validation/mapping/accelforge/README.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError, MappingError, nearest
from archsim.ir.mapping import Keep
from mapper.looptree.counts import Count
from mapper.looptree.einsum import Coordinate, Einsum, Operand, convolution, gemm
from mapper.looptree.hierarchy import COMPUTE, READ, WRITE, Action, Axis, Compute, Hierarchy, Memory
from mapper.looptree.nest import Nest
from mapper.looptree.search.objective import OBJECTIVES, Objective
from mapper.looptree.search.space import Factors
from mapper.looptree.text import parse

_RULE = re.compile(r"(sum|max)\(a\.n_calls( / a\.throughput)? for a in actions\)((?: / [\d.e+]+)*)")
_PART = re.compile(r"shape=\d+\.\d*[1-9]")
_KINDS = ("memory", "container", "compute")
_GEMM, _CONV, _DEPTHWISE = ("M", "K", "N"), ("N", "M", "C", "P", "Q", "R", "S"), ("N", "C", "P", "Q", "R", "S")
_NOTED = frozenset({"macs", "padding", "stride", "dilation", "G"})


@dataclass(frozen=True)
class RecordedMapping:
    """A problem with the figures of its recorded mapping. ``actions``: (memory, operand, action) -> how often.

    ``factors``: which the recorded search allowed; it kept nodes in the order of the memories. ``user_s``: CPU time of
    its process, ``warm_user_s``: of a second search in it; None where not recorded.
    """

    name: str
    einsum: Einsum
    hierarchy: Hierarchy
    objective: Objective
    factors: Factors
    nest: Nest
    energy_j: float
    latency_s: float
    actions: Mapping[Count, float]
    user_s: float | None
    warm_user_s: float | None


def read(path: Path) -> RecordedMapping:
    """One file. Raises ConfigError with the file, the key and what is allowed for anything that it cannot read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not JSON: {error}") from error
    try:
        return _recorded(path, data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except KeyError as error:
        raise ConfigError(f"{path}: key {error} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path}: not in the form of a recorded mapping: {error}") from error


def _recorded(path: Path, data: Mapping[str, Any]) -> RecordedMapping:
    options = data.get("options", {})
    for option in ("unfused", "max_fused_loops"):
        if options.get(option):
            raise ConfigError(f"options.{option}: found {options[option]}; fused layers are not read")
    einsum, hierarchy = _einsum(data["shape"]), _hierarchy(data["arch"], data["levels"])
    cost = data.get("anchor_cost") or {}
    return RecordedMapping(
        name=path.stem,
        einsum=einsum,
        hierarchy=hierarchy,
        objective=_one_of("objective", data["objective"], OBJECTIVES),
        factors=_factors(options),
        nest=_nest(data["mapping_text"], einsum, hierarchy),
        energy_j=float(data["energy_j"]),
        latency_s=float(data["latency_s"]),
        actions={_key(key): float(count) for key, count in data["actions_bits"].items()},
        user_s=cost.get("user_s_self"),
        warm_user_s=(cost.get("warm_rerun") or {}).get("user_s"),
    )


def _factors(options: Mapping[str, Any]) -> Factors:
    if options.get("imperfect"):
        return "any"
    return "spatial" if options.get("imperfect_spatial") else "divisors"


def _nest(text: str, einsum: Einsum, hierarchy: Hierarchy) -> Nest:
    """The recorded LoopTree; every name in it is one of the einsum or of the hierarchy."""
    if found := _PART.search(text):
        raise ConfigError(f"mapping_text: '{found[0]}': tiles that are not whole are not read")
    try:
        nest = Nest(einsum, parse(text))
    except MappingError as error:
        raise ConfigError(f"mapping_text: {error}") from error
    operands = dict.fromkeys(operand.name for operand in einsum.operands)
    memories = dict.fromkeys(memory.name for memory in hierarchy.memories)
    axes = dict.fromkeys(["", *(axis.name for axis in hierarchy.axes)])
    for node in nest.nodes:
        if isinstance(node, Keep):
            _one_of("mapping_text, operand", node.operand, operands)
            _one_of("mapping_text, memory", node.level, memories)
        else:
            _one_of("mapping_text, dim", node.dim, einsum.extents)
            _one_of("mapping_text, fan-out", node.axis, axes)
    for dim, tile in nest.tile(len(nest.nodes)).items():
        if tile != 1:
            raise ConfigError(f"mapping_text: dim '{dim}' still has tiles of {tile} below all loops")
    return nest


def _key(text: str) -> Count:
    parts = text.split("|")
    if len(parts) != 5:
        raise ConfigError(f"actions_bits: '{text}'; the form is einsum|action|level|operand|action")
    return parts[2], "" if parts[3] == "None" else parts[3], parts[4]


def _one_of(key: str, found: Any, allowed: Mapping[str, Any]) -> Any:
    if found not in allowed:
        raise ConfigError(f"{key}: found '{found}'{nearest(str(found), allowed)}; allowed: {', '.join(allowed)}")
    return allowed[found]


def _einsum(shape: Mapping[str, Any]) -> Einsum:
    """Of a product or a convolution; one without M has one filter a channel."""
    dims = _dims(shape)
    unknown = [key for key in shape if key not in dims and key not in _NOTED]
    if unknown:
        raise ConfigError(f"shape.{unknown[0]}: not a dim of {'a product' if dims is _GEMM else 'a convolution'}")
    extents = {dim.lower(): _extent(f"shape.{dim}", shape.get("N", 1) if dim == "N" else shape[dim]) for dim in dims}
    if dims is _GEMM:
        return _checked(gemm(*extents.values()), shape)
    groups, stride, dilation = (_extent(f"shape.{key}", shape.get(key, 1)) for key in ("G", "stride", "dilation"))
    if dims is _DEPTHWISE:
        return _checked(_depthwise(convolution(extents | {"m": 1}, stride, dilation)), shape)
    einsum = convolution(extents, stride, dilation)
    return _checked(einsum if groups == 1 else _grouped(einsum, groups), shape)


def _dims(shape: Mapping[str, Any]) -> tuple[str, ...]:
    if "P" not in shape:
        return _GEMM
    return _CONV if "M" in shape else _DEPTHWISE


def _checked(einsum: Einsum, shape: Mapping[str, Any]) -> Einsum:
    if shape.get("macs", einsum.macs) != einsum.macs:
        raise ConfigError(f"shape.macs: found {shape['macs']}; the dims give {einsum.macs}")
    return einsum


def _depthwise(einsum: Einsum) -> Einsum:
    """Filters and outputs have the channels of the inputs."""
    channel: Coordinate = (("c", 1),)
    image, kernel, out = einsum.operands
    operands = (
        image,
        Operand(kernel.name, (channel, *kernel.coordinates[2:]), False, kernel.bits),
        Operand(out.name, (out.coordinates[0], channel, *out.coordinates[2:]), True, out.bits),
    )
    return Einsum("depthwise", {dim: e for dim, e in einsum.extents.items() if dim != "m"}, operands)


def _extent(key: str, found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ConfigError(f"{key}: found {found!r}; allowed integers from 1")
    return found


def _grouped(einsum: Einsum, groups: int) -> Einsum:
    """Every operand has the group as a dim; extents of m and c are those of one group."""
    group: Coordinate = (("g", 1),)
    operands = tuple(Operand(o.name, (group, *o.coordinates), o.is_output, o.bits) for o in einsum.operands)
    return Einsum(einsum.name, {"g": groups, **einsum.extents}, operands)


def _hierarchy(name: str, levels: list[Mapping[str, Any]]) -> Hierarchy:
    parts: list[Memory | Axis] = []
    compute = None
    for at, level in enumerate(levels):
        kind = level["kind"]
        _one_of(f"levels[{at}].kind", kind, dict.fromkeys(_KINDS))
        parts += [_axis(axis) for axis in level.get("spatial") or []]
        if kind == "memory":
            parts.append(_memory(f"levels[{at}]", level))
        elif kind == "compute":
            rate, _ = _rule(f"levels[{at}]", level)
            compute = Compute(level["name"], _actions(level)[COMPUTE], rate, level.get("leak_w_total", 0.0))
    if compute is None or levels[-1]["kind"] != "compute":
        raise ConfigError("levels: the last one must be of kind 'compute'")
    return Hierarchy(name, tuple(parts), compute)


def _axis(axis: Mapping[str, Any]) -> Axis:
    if axis["min_usage"] not in (0, 1):
        raise ConfigError(f"spatial.{axis['name']}.min_usage: found {axis['min_usage']}; allowed: 0, 1")
    reused = frozenset(axis["may_reuse"]), frozenset(axis["reuse"])
    return Axis(axis["name"], int(axis["fanout"]), *reused, axis["min_usage"] == 1)


def _memory(key: str, level: Mapping[str, Any]) -> Memory:
    rate, combine = _rule(key, level)
    actions = _actions(level)
    bits = {operand: int(bits) for operand, bits in (level.get("bits_per_value") or {}).items()}
    return Memory(
        level["name"],
        level["size_bits"],
        frozenset(level["keep"]),
        frozenset(level["may_keep"]),
        {action: actions[action] for action in (READ, WRITE)},
        "max" if combine == "max" else "sum",
        rate,
        level.get("leak_w_total", 0.0),
        bits,
    )


def _rule(key: str, level: Mapping[str, Any]) -> tuple[float | None, str]:
    """Rate of all actions together, where the rule is one, and how reads and writes combine."""
    match = _RULE.fullmatch(level["latency_rule"])
    if not match or bool(match[2]) == bool(match[3]):
        raise ConfigError(f"{key}.latency_rule: '{level['latency_rule']}' is not read")
    if match[2]:
        return None, match[1]
    if match[1] == "max":
        raise ConfigError(f"{key}.latency_rule: '{level['latency_rule']}': a rate of all actions needs their sum")
    rate = 1.0
    for factor in match[3].split(" / ")[1:]:
        rate *= float(factor)
    return rate, match[1]


def _actions(level: Mapping[str, Any]) -> dict[str, Action]:
    return {
        name: Action(action["energy_j"], float(action["per_s"]), _bits(action["bits"]))
        for name, action in level["actions"].items()
    }


def _bits(found: Any) -> float:
    return 0.0 if found in (None, "None") else float(found)
