"""Rules between the keys of a part, and between parts and the chip's number formats and technology."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

from archsim.base import units
from archsim.base.errors import ConfigError, nearest
from archsim.facts.dram import bit_order, catalogue
from archsim.facts.dram.device import DramMemory
from archsim.spec import nodes_between, schema
from archsim.spec.architecture import dataflow_name
from archsim.spec.declared import DeclaredPart, File
from archsim.spec.dtypes import BITS
from archsim.spec.expand import ArrayFacts, DataflowFacts, Sugar
from archsim.spec.keys import keys_of
from archsim.spec.locate import config_files
from archsim.spec.memories import CONSTANT, ENGINES, DramControl, Memory, constant, timed
from archsim.spec.value_domains import pair_name

_CONTROL = tuple(item.key.name for item in keys_of(DramControl))
_TIMED_ONLY = tuple(item.key.name for item in keys_of(Memory, "dram") if item.when is timed)
_CONSTANT_ONLY = tuple(item.key.name for item in keys_of(Memory, "dram") if item.when is constant)


def check(file: File) -> None:
    """Add a problem for every broken rule."""
    for rule in (_srams, _caches, _drams, _requests, _accumulate, _vectors, _host, _platform, _technology):
        rule(file)


def _caches(file: File) -> None:
    for part in file.of(schema.CACHE):
        spec = part.spec
        _port_set(file, part, "ports", spec.ports)
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
    for part in file.of(schema.SRAM):
        _ports(file, part)
        _interleave(file, part)
        _unserved(file, part)
        most = part.spec.size // part.spec.banks
        if part.spec.word > most:
            limit = f"1 B to {units.exact(most, units.SIZE)} (size / banks)" if most else "fewer banks"
            file.add(part, "word", f"found {units.shown(part.found('word'))}; allowed {limit}")


def _ports(file: File, part: DeclaredPart) -> None:
    _port_set(file, part, "ports", part.spec.ports)
    for engine in ENGINES:
        own = getattr(part.spec.ports, engine)
        if own is None:
            continue
        _port_set(file, part, f"ports.{engine}", own)
        if own.shared is None and own.read is None and own.write is None:
            file.add(part, f"ports.{engine}", "found no port; allowed {read: N}, {write: N}, both, or {shared: N}")


def _port_set(file: File, part: DeclaredPart, key: str, ports: schema.PortsSection | schema.EnginePortsSection) -> None:
    if ports.shared is not None and (ports.read is not None or ports.write is not None):
        file.add(part, key, "found `shared` beside `read` or `write`; allowed {read: N, write: N} or {shared: N}")


def _interleave(file: File, part: DeclaredPart) -> None:
    spec = part.spec
    if spec.interleave == "xor" and spec.banks & (spec.banks - 1):
        file.add(part, "interleave", f"found xor with {spec.banks} banks; allowed with a power of two of banks")
    if isinstance(spec.interleave, int):
        most = spec.size // spec.banks
        if spec.interleave % spec.word or spec.interleave > most:
            limit = f"a multiple of the word up to {units.exact(most, units.SIZE)} (size / banks)"
            file.add(part, "interleave", f"found {units.shown(part.found('interleave'))}; allowed {limit}")


def _unserved(file: File, part: DeclaredPart) -> None:
    """Keys that would be ignored: of a memory without rings and moves, and ports of engines that are not there."""
    spec = part.spec
    named = [engine for engine in ENGINES if getattr(spec.ports, engine) is not None]
    if spec.filled_by == "array":
        stated = {"interleave": spec.interleave != "word", "padding": any(spec.padding.values())}
        stated |= {f"ports.{engine}": True for engine in named}
        for key in (key for key, is_stated in stated.items() if is_stated):
            file.add(part, key, "has no meaning with `filled_by: array`; allowed in an explicit sram")
    for engine, kind in (("array", schema.ARRAY), ("vector", schema.VECTOR)):
        if engine in named and not any(file.of(kind)):
            file.add(part, f"ports.{engine}", f"found ports of an engine that this chip lacks; allowed with a {engine}")


def _drams(file: File) -> None:
    for part in file.of(schema.DRAM):
        constant = part.spec.standard == CONSTANT
        what = "`standard: constant`" if constant else "a DRAM standard"
        needed = ("bandwidth",) if constant else ("speed", "width")
        for key in needed:
            if key not in part.spec.model_fields_set:
                file.add(part, key, f"missing; {what} needs {', '.join(needed)}")
        for key in dict.fromkeys((*_TIMED_ONLY, *_CONTROL)) if constant else _CONSTANT_ONLY:
            if key in part.spec.model_fields_set:
                file.add(part, key, f"has no meaning with {what}; allowed {', '.join(needed)} in its place")
        if not constant:
            _standard(file, part)


def _requests(file: File) -> None:
    """What engines offer in a cycle is counted in bursts, which a memory of constant rate does not have."""
    drams = list(file.of(schema.DRAM))
    if not drams or any(part.spec.standard != CONSTANT for part in drams):
        return
    for part in file.of(schema.DMA):
        if part.spec.requests is not None:
            message = "has no meaning where every dram is `standard: constant`, which has no bursts"
            file.add(part, "requests", f"{message}; allowed with a DRAM standard")


def _standard(file: File, part: DeclaredPart) -> None:
    """A DRAM standard's own file says which speeds, widths and capacities it has."""
    spec = part.spec
    known = [*catalogue.names(), CONSTANT]
    if spec.standard not in known:
        message = f"found '{spec.standard}'; allowed {', '.join(known)}{nearest(spec.standard, known)}"
        file.add(part, "standard", message)
    elif spec.speed and spec.width:
        try:
            memory = catalogue.dram(spec.standard, spec.speed // 10**6, spec.width, spec.channels, spec.capacity)
        except ConfigError as error:
            key = next((key for key in (*_TIMED_ONLY, "capacity") if f"{key}:" in str(error)), "standard")
            file.add(part, key, str(error).removeprefix(f"{spec.standard}: {key}: "))
        else:
            _control(file, part, memory)


def _control(file: File, part: DeclaredPart, memory: DramMemory) -> None:
    """What the controller is told has a meaning for this memory. ``memory``: what the standard's file made of it."""
    spec = part.spec
    try:
        bit_order.mapped(spec.address_map, memory)
    except ConfigError as error:
        file.add(part, "address_map", str(error))
    if "row_timeout" in spec.model_fields_set and spec.rows != "timeout":
        file.add(part, "row_timeout", f"has no meaning with `rows: {spec.rows}`; allowed with `rows: timeout`")
    if spec.refresh == "per_bank" and not memory.device.bank_refresh_cycles:
        file.add(part, "refresh", f"found per_bank, which {spec.standard} has not; allowed all_bank, none")


def _accumulate(file: File) -> None:
    dtypes = file.chip.dtypes
    wide = max(BITS[dtypes.inputs], BITS[dtypes.weights])
    if BITS[dtypes.accumulate] < wide:
        message = f"found '{dtypes.accumulate}'; allowed a dtype of at least {wide} bits, the width of the factors"
        file.problems.add(file.mark("dtypes", "accumulate"), "dtypes.accumulate", message)
    for part in file.of(schema.ARRAY):
        if (dtypes.inputs, dtypes.weights) not in part.spec.rates:
            have = ", ".join(pair_name(pair) for pair in sorted(part.spec.rates)) or "none"
            file.add(
                part,
                "rates",
                f"no rate for the chip's {pair_name((dtypes.inputs, dtypes.weights))}; found {have}",
            )


def _vectors(file: File) -> None:
    dtypes = file.chip.dtypes
    for part in file.of(schema.VECTOR):
        lanes = part.spec.lanes
        missing = [d for d in (dtypes.inputs, dtypes.outputs, dtypes.accumulate) if d not in lanes]
        if missing and "all" not in lanes:
            file.add(part, "lanes", f"no lanes for the chip's {missing[0]}; found {', '.join(lanes) or 'none'}")


def _host(file: File) -> None:
    for part in file.of(schema.HOST):
        if part.spec.per == "program" and part.spec.issue > part.spec.launch:
            most = units.exact(part.spec.launch, units.TIME)
            file.add(part, "issue", f"found {units.shown(part.found('issue'))}; allowed 0 s to {most}, the launch")
        if part.spec.per == "program" and part.spec.floor:
            file.add(part, "floor", f"found {units.shown(part.found('floor'))}; allowed 0 s, or with 'per: kernel'")


def _platform(file: File) -> None:
    named: str | None = file.chip.platform
    known: dict[str, Any] = file.chip.platforms
    for name, platform in known.items():
        _host_of_platform(file, name, platform.host)
        if platform.prefetch is not None and not platform.policy:
            _of_platform(file, f"{name}.prefetch", "found no policy that would read it; allowed beside a 'policy'")
    if named is not None and named not in known:
        allowed = ", ".join(known) or "no platform, since the file states none under 'platforms'"
        file.problems.add(
            file.mark("platform"), "platform", f"found '{named}'; allowed {allowed}{nearest(named, known)}"
        )
    if any(platform.host.model_fields_set for platform in known.values()) and not any(file.of(schema.HOST)):
        file.problems.add(
            file.mark("platforms"), "platforms", "found keys of a host; allowed on a chip with a 'host' part"
        )


def _host_of_platform(file: File, name: str, own: Any) -> None:
    """The host as a platform makes it launches whole Programs or kernels; a key of the platform has to act there."""
    host = next((part.spec for part in file.of(schema.HOST)), None)
    if host is None or (own.per or host.per) == "kernel" or not own.model_fields_set - {"depth"}:
        return
    times = {key: getattr(own, key) for key in ("launch", "issue", "floor")}
    for key in (key for key, time in times.items() if time is not None and time.others):
        said = "found times of single operators; allowed one time, or with 'per: kernel'"
        _of_platform(file, f"{name}.host.{key}", said)
    launch, issue, floor = (getattr(host, key) if time is None else time.default for key, time in times.items())
    if floor:
        key = "floor" if times["floor"] is not None else "per"
        found = units.exact(floor, units.TIME)
        _of_platform(file, f"{name}.host.{key}", f"found a floor of {found}; allowed 0 s, or with 'per: kernel'")
    if issue > launch:
        key = next((key for key in ("issue", "launch") if times[key] is not None), "per")
        found, most = (units.exact(time, units.TIME) for time in (issue, launch))
        said = f"found an issue of {found}; allowed 0 s to {most}, the launch, or with 'per: kernel'"
        _of_platform(file, f"{name}.host.{key}", said)


def _of_platform(file: File, path: str, message: str) -> None:
    file.problems.add(file.mark("platforms", *path.split(".")), f"platforms.{path}", message)


def _technology(file: File) -> None:
    known = config_files("technology")
    node = file.chip.technology.node
    if known and node not in known and nodes_between.of(node) is None:
        message = f"found '{node}'; allowed {', '.join(known)}{nearest(node, known)}"
        file.problems.add(file.mark("technology", "node"), "technology.node", message)


def array_facts(file: File, part: DeclaredPart, facts: DataflowFacts, bits: dict[str, int]) -> ArrayFacts | None:
    """The facts of an array's dataflow; None, with problems added, when there is no such dataflow."""
    spec = part.spec
    name = dataflow_name(spec.dataflow, spec.kind)
    dtypes = file.chip.dtypes
    rate = spec.rates.get((dtypes.inputs, dtypes.weights), Fraction(1))
    options = spec.weight_double_buffer, spec.fold_overlap, spec.load_rows, spec.block
    sugar = Sugar(name, spec.shape[0], spec.shape[1], rate, *options)
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


def _array_options(file: File, part: DeclaredPart, options: tuple[str, ...]) -> None:
    name = dataflow_name(part.spec.dataflow, part.spec.kind)
    for option in ("weight_double_buffer", "fold_overlap"):
        if getattr(part.spec, option) and option not in options:
            file.add(part, option, f"found true, which has no meaning for dataflow '{name}'; allowed false")
    for option in ("load_rows", "block"):
        found = getattr(part.spec, option)
        if found != 1 and option not in options:
            file.add(part, option, f"found {found}, which has no meaning for dataflow '{name}'; allowed 1")
    skewed = "fold_overlap" in options  # only a dataflow with fill and drain can overlap them
    if (part.spec.kind == "systolic") != skewed:
        other = "systolic" if skewed else "generic"
        file.add(part, "kind", f"found '{part.spec.kind}' with dataflow '{name}'; allowed {other} with it")
