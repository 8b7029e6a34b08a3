"""Rules between the keys of a part, and between parts and the chip's number formats and technology."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from archsim import registry, units
from archsim.errors import ConfigError, nearest
from archsim.spec import schema
from archsim.spec.declared import Declared, File
from archsim.spec.dtypes import BITS
from archsim.spec.expand import DEFAULT_DATAFLOW, DataflowFacts, Facts, Sugar
from archsim.spec.locate import config_files

STANDARDS = "archsim.memory.dram.standards"
CONSTANT = "constant"
_TIMED_ONLY = ("speed", "width", "channels", "fidelity")
_CONSTANT_ONLY = ("bandwidth", "latency")


def check(file: File) -> None:
    """Add a problem for every broken rule."""
    for rule in (_srams, _caches, _drams, _accumulate, _vectors, _host, _technology):
        rule(file)


def _ports(file: File, part: Declared[schema.Part], ports: schema.Ports) -> None:
    if ports.shared is not None and (ports.read is not None or ports.write is not None):
        file.add(part, "ports", "found `shared` beside `read` or `write`; allowed {read: N, write: N} or {shared: N}")


def _caches(file: File) -> None:
    for part in file.of(schema.Cache):
        spec = part.spec
        _ports(file, part, spec.ports)
        if spec.line & (spec.line - 1):
            file.add(part, "line", f"found {units.shown(part.found('line'))}; allowed a power of two")
        if spec.word > spec.line:
            most = units.exact(spec.line, units.SIZE)
            file.add(part, "word", f"found {units.shown(part.found('word'))}; allowed at most {most}, the line")
        one_set = spec.ways * spec.line
        if spec.size % one_set:
            text = units.exact(one_set, units.SIZE)
            file.add(
                part, "size", f"found {units.shown(part.found('size'))}; allowed multiples of ways x line = {text}"
            )


def _srams(file: File) -> None:
    for part in file.of(schema.Sram):
        _ports(file, part, part.spec.ports)
        most = part.spec.size // part.spec.banks
        if part.spec.word > most:
            limit = f"1 B to {units.exact(most, units.SIZE)} (size / banks)" if most else "fewer banks"
            file.add(part, "word", f"found {units.shown(part.found('word'))}; allowed {limit}")


def _drams(file: File) -> None:
    for part in file.of(schema.Dram):
        constant = part.spec.standard == CONSTANT
        what = "`standard: constant`" if constant else "a DRAM standard"
        needed = ("bandwidth",) if constant else ("speed", "width")
        for key in needed:
            if key not in part.spec.model_fields_set:
                file.add(part, key, f"missing; {what} needs {', '.join(needed)}")
        for key in _TIMED_ONLY if constant else _CONSTANT_ONLY:
            if key in part.spec.model_fields_set:
                file.add(part, key, f"has no meaning with {what}; allowed {', '.join(needed)} in its place")
        if not constant:
            _standard(file, part)


def _standard(file: File, part: Declared[schema.Dram]) -> None:
    """A DRAM standard's own file says which speeds, widths and capacities it has."""
    spec = part.spec
    known = [*registry.modules(STANDARDS), CONSTANT]
    if spec.standard not in known:
        message = f"found '{spec.standard}'; allowed {', '.join(known)}{nearest(spec.standard, known)}"
        file.add(part, "standard", message)
    elif spec.speed and spec.width:
        try:
            timing = registry.load(STANDARDS, spec.standard).timing
            timing(spec.speed // 10**6, spec.width, spec.channels, spec.capacity)
        except ConfigError as error:
            key = next((key for key in (*_TIMED_ONLY, "capacity") if f"{key}:" in str(error)), "standard")
            file.add(part, key, str(error).removeprefix(f"{spec.standard}: {key}: "))


def _accumulate(file: File) -> None:
    dtypes = file.chip.dtypes
    wide = max(BITS[dtypes.inputs], BITS[dtypes.weights])
    if BITS[dtypes.accumulate] < wide:
        message = f"found '{dtypes.accumulate}'; allowed a dtype of at least {wide} bits, the width of the factors"
        file.problems.add(file.mark("dtypes", "accumulate"), "dtypes.accumulate", message)
    for part in file.of(schema.Array):
        if (dtypes.inputs, dtypes.weights) not in part.spec.rates:
            have = ", ".join(pair_name(*pair) for pair in sorted(part.spec.rates)) or "none"
            file.add(
                part,
                "rates",
                f"no rate for the chip's {pair_name(dtypes.inputs, dtypes.weights)}; found {have}",
            )


def _vectors(file: File) -> None:
    dtypes = file.chip.dtypes
    for part in file.of(schema.Vector):
        lanes = part.spec.lanes
        missing = [d for d in (dtypes.inputs, dtypes.outputs, dtypes.accumulate) if d not in lanes]
        if missing and "all" not in lanes:
            file.add(part, "lanes", f"no lanes for the chip's {missing[0]}; found {', '.join(lanes) or 'none'}")


def _host(file: File) -> None:
    for part in file.of(schema.Host):
        if part.spec.issue > part.spec.launch:
            most = units.exact(part.spec.launch, units.TIME)
            file.add(part, "issue", f"found {units.shown(part.found('issue'))}; allowed 0 s to {most}, the launch")


def _technology(file: File) -> None:
    known = config_files("technology")
    node = file.chip.technology.node
    if known and node not in known:
        message = f"found '{node}'; allowed {', '.join(known)}{nearest(node, known)}"
        file.problems.add(file.mark("technology", "node"), "technology.node", message)


def array_facts(file: File, part: Declared[schema.Array], facts: DataflowFacts, bits: dict[str, int]) -> Facts | None:
    """The facts of an array's dataflow; None, with problems added, when there is no such dataflow."""
    spec = part.spec
    name = dataflow_name(spec)
    dtypes = file.chip.dtypes
    rate = spec.rates.get((dtypes.inputs, dtypes.weights), Fraction(1))
    sugar = Sugar(name, spec.shape[0], spec.shape[1], rate, spec.weight_double_buffer, spec.fold_overlap)
    try:
        found = facts(sugar, bits)
    except ConfigError as error:
        file.add(part, "dataflow", f"found '{name}': {error}")
        return None
    _array_options(file, part, found.options)
    sizes = prod(item.size for item in spec.fanouts or found.fanouts)
    if sizes != prod(spec.shape):
        file.add(part, "fanouts", f"found sizes that multiply to {sizes}; allowed {prod(spec.shape)}, as the shape")
    return found


def dataflow_name(spec: schema.Array) -> str:
    """The dataflow of an array: stated, or the default of its kind."""
    return spec.dataflow or DEFAULT_DATAFLOW[spec.kind]


def pair_name(inputs: str, weights: str) -> str:
    """How a file spells a dtype pair: ``int8`` or ``int8xint4``."""
    return inputs if inputs == weights else f"{inputs}x{weights}"


def _array_options(file: File, part: Declared[schema.Array], options: tuple[str, ...]) -> None:
    name = dataflow_name(part.spec)
    for option in ("weight_double_buffer", "fold_overlap"):
        if getattr(part.spec, option) and option not in options:
            file.add(part, option, f"found true, which has no meaning for dataflow '{name}'; allowed false")
    skewed = "fold_overlap" in options  # only a dataflow with fill and drain can overlap them
    if (part.spec.kind == "systolic") != skewed:
        other = "systolic" if skewed else "generic"
        file.add(part, "kind", f"found '{part.spec.kind}' with dataflow '{name}'; allowed {other} with it")
