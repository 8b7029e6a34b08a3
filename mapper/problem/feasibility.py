"""Whether a chip can run a model at all, judged before anything is searched: sizes, units, functions, formats.

Each complaint names a layer. One that the chip's file can mend comes with the part and the line to paste there; a
figure that only the architect knows is proposed as the worst that the part has, and said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from archsim.base.errors import ConfigError, MappingError
from archsim.facts.number_formats import element_format
from archsim.ir.dtypes import size_bytes
from archsim.ir.packing import stored_bits
from archsim.ir.workload import Layer, Tensor, Workload
from archsim.spec.architecture import Architecture, Array, Vector
from archsim.spec.memories import Memory
from mapper.problem.formats import factors, lanes_of, narrower_scales, operand_dtype, pair_of
from mapper.problem.operands import home_role, plans

MOST_EXTENT = 1 << 30  # of a dim: what was tried; a matrix of 2^28 rows takes 4 s and 0.2 GB to map on 108 cores
MOST_POINTS = 1 << 62  # of a layer: counts are 64-bit integers
GIB = 1 << 30


@dataclass(frozen=True)
class Complaint:
    """What stands in the way; ``part`` and ``key`` of the chip that would mend it, and the ``line`` to write there.

    All three are '' where the chip's file cannot mend it.
    """

    text: str
    part: str = ""
    key: str = ""
    line: str = ""

    def told(self, place: str = "") -> str:
        """The complaint as a sentence; ``place``: file:line:column of the part or key."""
        if not self.line:
            return self.text
        where = f", at {place}" if place else ""
        return f"{self.text}. Write into '{self.part}'{where}:\n    {self.line}"


class UnfitError(ConfigError):
    """The chip cannot run the model."""

    def __init__(self, complaints: tuple[Complaint, ...], place: Callable[[Complaint], str] = lambda _: "") -> None:
        """``place``: where the file of the chip states the part of a complaint."""
        super().__init__("\n".join(complaint.told(place(complaint)) for complaint in complaints))
        self.complaints = complaints


def judge(workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]) -> None:
    """Accept what can be mapped as far as is known without a search; raises UnfitError with every complaint."""
    sizes = tuple(_sizes(workload, architecture, dtypes))
    found = sizes or (
        *_units(workload, architecture),
        *_rates(workload, architecture, dtypes),
        *_lanes(workload, architecture, dtypes),
        *_functions(workload, architecture),
    )
    found = found or tuple(_roles(workload, architecture, dtypes))
    if found:
        raise UnfitError(found)


def _sizes(workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]) -> Iterator[Complaint]:
    for layer in workload.layers:
        dim = max(layer.dims, key=lambda name: layer.dims[name], default="")
        if dim and layer.kind != "host" and layer.dims[dim] > MOST_EXTENT:
            yield Complaint(f"{_called(layer)}: dim '{dim}' of {layer.dims[dim]:,}; allowed up to {MOST_EXTENT:,}")
            return
        points = prod(layer.dims.values()) if layer.kind != "host" else 0  # whose operands share no dim
        if points > MOST_POINTS:
            yield Complaint(f"{_called(layer)}: {points:,} points; allowed up to {MOST_POINTS:,}")
            return
    yield from _capacities(workload, architecture, dtypes)


def _capacities(workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]) -> Iterator[Complaint]:
    """Tensors against the memory that holds them all the time; weights all together, since all of them stay there."""
    together: dict[str, int] = {}
    for layer in workload.layers:
        for operand in (*layer.inputs, layer.output) if layer.kind != "host" else ():
            tensor = workload.tensors[operand.tensor]
            if tensor.view is not None or not architecture.path(home_role(tensor.kind, operand.role)):
                continue
            memory = architecture.outer(home_role(tensor.kind, operand.role))
            size = stored_bits(tensor, 8 * size_bytes(operand_dtype(operand, workload, dtypes))) // 8
            if size > memory.capacity_bytes:
                yield _too_large(f"{_called(layer)}: tensor '{tensor.name}'{_shape(tensor)}", size, memory)
                return
            if tensor.kind == "weight":
                together.setdefault(f"{memory.name} {tensor.name}", size)
    for memory in architecture.memories:
        total = sum(size for name, size in together.items() if name.partition(" ")[0] == memory.name)
        if total > memory.capacity_bytes:
            yield _too_large("all weights", total, memory)


def _too_large(what: str, size: int, memory: Memory) -> Complaint:
    text = f"{what}: needs {size:,} bytes in '{memory.name}', which has {memory.capacity_bytes:,}"
    return Complaint(text, memory.name, "capacity", f"capacity: {-(-size // GIB)} GiB")


def _units(workload: Workload, architecture: Architecture) -> Iterator[Complaint]:
    """Layers for which the chip has no engine."""
    if not architecture.vectors:
        layers = [layer for layer in workload.layers if layer.kind in ("matmul", "vector")]
        if layers:
            why = "drains sums and computes all that is no matmul"
            yield Complaint(f"{_named(layers)}: needs a vector unit, which {why}; chip '{architecture.name}' has none")


def _rates(workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]) -> Iterator[Complaint]:
    lanes = lanes_of(architecture)
    for array in architecture.arrays[:1]:
        missing: dict[tuple[str, str], list[Layer]] = {}
        for layer in workload.layers:
            a, b = factors(layer, workload, dtypes) if layer.kind == "matmul" else (None, None)
            if a is not None and b is not None and pair_of(array, lanes, a, b) is None:
                missing.setdefault((str(a), str(b)), []).append(layer)
        for pair, layers in missing.items():
            yield _rate(array, lanes, layers, pair)


def _rate(array: Array, lanes: Collection[str], layers: list[Layer], pair: tuple[str, str]) -> Complaint:
    a, b = map(element_format, pair)
    if not (a.is_plain and b.is_plain):
        held = f"nor for types that hold them; it has {', '.join(map(_pair, sorted(array.rates)))}"
        held += narrower_scales(array, lanes, a, b)
        return Complaint(f"{_named(layers)}: array '{array.name}' has no rate for {pair[0]} x {pair[1]}, {held}")
    known = {_pair(each): rate for each, rate in sorted(array.rates.items())}
    line = _line("rates", {**known, _pair(pair): min(array.rates.values())}, "MACs per PE and cycle", _pair(pair))
    text = f"{_named(layers)}: array '{array.name}' has no rate for {pair[0]} inputs x {pair[1]} weights"
    return Complaint(text, array.name, "rates", line)


def _lanes(workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]) -> Iterator[Complaint]:
    layers = [layer for layer in workload.layers if layer.kind in ("matmul", "vector")]
    dtype = dtypes["inputs"]
    for unit in architecture.vectors[:1] if layers else ():
        if dtype not in unit.lanes:
            known = dict(sorted(unit.lanes.items()))
            line = _line("lanes", {**known, dtype: min(known.values())}, "elements per cycle", dtype)
            yield Complaint(
                f"{_named(layers)}: vector unit '{unit.name}' has no lanes for {dtype}", unit.name, "lanes", line
            )


def _functions(workload: Workload, architecture: Architecture) -> Iterator[Complaint]:
    for unit in architecture.vectors[:1]:
        missing: dict[str, list[Layer]] = {}
        for layer in workload.layers:
            for name in (name for step in layer.steps for name in step.slow) if layer.kind != "host" else ():
                if name not in unit.function_cycles:
                    missing.setdefault(name, []).append(layer)
        if missing:
            yield _function(unit, missing)


def _function(unit: Vector, missing: Mapping[str, list[Layer]]) -> Complaint:
    known = dict(sorted(unit.function_cycles.items()))
    worst = max(known.values(), default=Fraction(1))
    line = _line("functions", {**known, **dict.fromkeys(missing, worst)}, "cycles per group of lanes", *missing)
    asked = "; ".join(f"{_named(layers)} needs '{name}'" for name, layers in missing.items())
    return Complaint(f"{asked}: vector unit '{unit.name}' has no rate for it", unit.name, "functions", line)


def _roles(workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]) -> Iterator[Complaint]:
    """Operands for which no memory is there."""
    for layer in workload.layers:
        for operand in (*layer.inputs, layer.output) if layer.kind != "host" else ():
            try:
                plans(operand, layer, workload, architecture, dtypes, {}, layer.kind == "copy")
                if layer.kind == "matmul":
                    architecture.inner("partials")
            except (ConfigError, MappingError) as error:
                yield Complaint(f"{_called(layer)}: operand '{operand.name}': {error}")
                return


def _line(key: str, values: Mapping[str, object], unit: str, *new: str) -> str:
    """The line of YAML with what is there and what is new, the worst of what is there."""
    stated = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{key}: {{{stated}}}  # {unit}; put your own figure for {', '.join(new)}: here the worst that there is"


def _pair(pair: tuple[str, str]) -> str:
    return pair[0] if pair[0] == pair[1] else f"{pair[0]}x{pair[1]}"


def _shape(tensor: Tensor) -> str:
    return f" of shape {list(tensor.shape)}"


def _called(layer: Layer) -> str:
    return f"layer '{layer.name}' ({layer.op})"


def _named(layers: list[Layer]) -> str:
    """``layer 'a' (Gemm) and 7 more``."""
    rest = len(layers) - 1
    return _called(layers[0]) + (f" and {rest} more" if rest else "")
