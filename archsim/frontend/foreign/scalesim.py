"""SCALE-Sim configurations (.cfg): sections ``[name]`` of ``key: value`` or ``key = value`` lines.

Format: https://github.com/scalesim-project/SCALE-Sim (README, "Config file"). An array of three private SRAMs that
never limit it, in front of a memory. With InterfaceBandwidth USER inputs and weights are read at the bandwidths of
their SRAMs' banks ([layout]) and outputs written at the first one of ``Bandwidth``, each over an interface of its own;
with CALC the bandwidth is what the tool computes, so nothing limits it. One word is one byte here.
"""

from __future__ import annotations

import re

from archsim.base.errors import ConfigError, nearest
from archsim.base.units import shown
from archsim.frontend.foreign.design import Design, Spread, Store, Units, constant
from archsim.frontend.foreign.section import Quantity, Section
from archsim.spec.nodes import MAX_NODES, Mark, Node, scalar

DATAFLOWS = {"os": "output_stationary", "ws": "weight_stationary", "is": "input_stationary"}
_SECTION = re.compile(r"\[\s*(\w+)\s*\]")
_ENTRY = re.compile(r"([A-Za-z_][\w ]*?)\s*[:=]\s*(.*)")
_PRESETS = "architecture_presets"
_SRAMS = (
    ("ifmap", "IfmapSramSzkB", "inputs"),
    ("filter", "FilterSramSzkB", "weights"),
    ("ofmap", "OfmapSramSzkB", "outputs"),
)
_KIB_BITS = 1024 * 8
_KEYS = (
    *("run_name", "ArrayHeight", "ArrayWidth", "Dataflow", "Bandwidth", "MemoryBanks", "ReadRequestBuffer"),
    *("WriteRequestBuffer", "IfmapSramSzkB", "FilterSramSzkB", "OfmapSramSzkB", "IfmapOffset", "FilterOffset"),
    *("OfmapOffset", "IfmapCustomLayout", "FilterCustomLayout", "SparsitySupport", "SparseRep", "OptimizedMapping"),
    *("BlockSize", "RandomNumberGeneratorSeed", "InterfaceBandwidth", "UseRamulatorTrace"),
    *("IfmapSRAMBankBandwidth", "FilterSRAMBankBandwidth"),
)
_SPELLED = {key.lower(): key for key in _KEYS}  # case does not matter in these files
_LAYOUT = "banks and layout of SCALE-Sim's SRAMs act with a layout file alone; these SRAMs are as wide as the array"
_READS = ("IfmapSRAMBankBandwidth", "FilterSRAMBankBandwidth")  # with USER also what the DRAM is read with
_FREE = "with InterfaceBandwidth CALC the bandwidth is what the tool computes: no limit"
_OFFSET = "addresses of SCALE-Sim's traces; archsim places tensors itself"


def is_config(text: str) -> bool:
    """Whether the first line that says something opens a section."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return bool(_SECTION.fullmatch(first))


def parse_config(text: str, file: str) -> Node:
    """The tree of a configuration: sections of scalars. Raises ConfigError with file:line."""
    root: dict[str, Node] = {}
    current: dict[str, Node] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.split("#")[0].split(";")[0].strip()
        mark = Mark(file, number, len(line) - len(line.lstrip()) + 1)
        section, entry = _SECTION.fullmatch(said), _ENTRY.fullmatch(said)
        if not said:
            continue
        if number > MAX_NODES:
            raise ConfigError(f"{mark}: more than {MAX_NODES} lines; allowed fewer")
        if section:
            current = {}
            _once(root, section[1], mark)
            root[section[1]] = Node(current, mark)
        elif entry and current is not None:
            key = _SPELLED.get(entry[1].lower(), entry[1])
            _once(current, key, mark)
            current[key] = Node(scalar(entry[2]), mark)
        else:
            raise ConfigError(f"{mark}: found {shown(said)}; allowed [section], or 'key: value' below one")
    return Node(root, Mark(file, 1, 1))


def _once(found: dict[str, Node], key: str, mark: Mark) -> None:
    if key in found:
        raise ConfigError(f"{mark}: duplicate key '{key}', first at line {found[key].mark.line}; allowed once")


def design(root: Section, file: str) -> Design:
    """The chip of a configuration. Raises ConfigError for what is missing or no number."""
    presets = root.mapping(_PRESETS) or root.fail(f"has no section [{_PRESETS}]; a SCALE-Sim configuration has one")
    general = root.mapping("general")
    if general is not None:
        name = general.text("run_name", "name", "scalesim")
    rows, cols = _count(presets, "ArrayHeight"), _count(presets, "ArrayWidth")
    stores = [_outer(root, presets), *(_sram(presets, *each) for each in _SRAMS)]
    spreads = [Spread("ArrayHeight", rows, "rows"), Spread("ArrayWidth", cols, "cols")]
    _others(root, presets)
    return Design(
        tool="SCALE-Sim",
        name=name if general is not None else "scalesim",
        file=file,
        mark=presets.node.mark,
        levels=(*stores, *spreads),
        units=Units("array", presets.node.mark, rate=constant(1, "SCALE-Sim: one MAC of a PE and cycle", rows.mark)),
        dataflow=_dataflow(presets),
        free=(
            "SCALE-Sim itself has no vector unit, no width of partial sums, no energy and no host",
            "SCALE-Sim's SRAMs never limit its array",
        ),
    )


def _count(presets: Section, key: str) -> Quantity:
    if presets.count(key, "array.shape") is None:
        presets.fail(f"key '{key}' is missing")
    found = presets.number(key, "array.shape")
    assert found is not None
    return found


def _dataflow(presets: Section) -> str:
    said = presets.text("Dataflow", "array.dataflow").lower()
    if said not in DATAFLOWS:
        presets.fail(f"found {shown(said)}; allowed {', '.join(DATAFLOWS)}{nearest(said, DATAFLOWS)}", "Dataflow")
    return DATAFLOWS[said]


def _outer(root: Section, presets: Section) -> Store:
    """The memory behind the SRAMs."""
    run = root.mapping("run_presets")
    mode = run.text("InterfaceBandwidth", "dram.bandwidth", "CALC").upper() if run is not None else "CALC"
    if run is not None and mode not in ("CALC", "USER"):
        run.fail(f"found {shown(mode)}; allowed CALC, USER", "InterfaceBandwidth")
    layout = root.mapping("layout")
    words = _stated(presets, layout) if mode == "USER" else None
    if mode == "CALC":
        presets.ignore(_FREE, "Bandwidth")
        if layout is not None:
            layout.ignore(_FREE, *_READS)
    if run is not None and run.flag("UseRamulatorTrace", "dram.standard"):
        run.refuse(
            "traces of another simulator; state `standard:` of the dram yourself (archsim show dram)",
            "UseRamulatorTrace",
        )
    bits = words.scaled(8, "one byte a word") if words is not None else None
    word = constant(8, "one byte a word", presets.node.mark)
    every = frozenset(("inputs", "weights", "outputs"))
    return Store(
        "dram", presets.node.mark, every, None, word, read_bits=bits, write_bits=bits, shared=True, offchip=True
    )


def _stated(presets: Section, layout: Section | None) -> Quantity:
    """Words a cycle of the three interfaces together: reads of inputs, reads of weights, writes of outputs."""
    node = presets.node.mapping.get("Bandwidth")
    if node is None:
        presets.fail("key 'Bandwidth' is missing; InterfaceBandwidth USER needs it")
    texts = [part.strip() for part in str(node.value).split(",") if part.strip()]
    numbers = [scalar(text) for text in texts]
    if not numbers or not all(isinstance(number, int) and number > 0 for number in numbers):
        presets.fail(f"found {shown(node.value)}; allowed words a cycle", "Bandwidth")
    own = numbers[0]
    assert isinstance(own, int)
    first = "; of several SCALE-Sim takes the first" if len(numbers) > 1 else ""
    whole, said = own, [f"{own} written"]
    for key, of in zip(_READS, ("inputs", "weights"), strict=True):
        stated = layout.count(key, "dram.bandwidth") if layout is not None else None
        whole += stated or own
        said.append(f"{stated or own} of {of} read")
        if stated is None:
            presets.ledger.assume(f"dram.bandwidth of {of}", f"{own} words a cycle, as Bandwidth: {key} is not stated")
    why = (
        f"{', '.join(said)} in a cycle over three interfaces of their own{first}; one dram of {whole} words a cycle "
        "takes all of them here: cycles are too few where one interface alone is full"
    )
    presets.approximate(why, "Bandwidth")
    if layout is not None:
        layout.approximate(why, *_READS)
    return constant(whole, f"{presets.source('Bandwidth')}; {', '.join(said)}", node.mark)


def _sram(presets: Section, name: str, key: str, role: str) -> Store:
    size = presets.number(key, f"{name}.size") or presets.fail(f"key '{key}' is missing")
    slots = constant(2, "SCALE-Sim double-buffers its SRAMs", size.mark)
    word = constant(8, "one byte a word", size.mark)
    return Store(name, size.mark, frozenset((role,)), size.scaled(_KIB_BITS, "KiB"), word, slots=slots)


def _others(root: Section, presets: Section) -> None:
    presets.ignore(_OFFSET, "IfmapOffset", "FilterOffset", "OfmapOffset")
    presets.ignore(
        "queues towards another simulator, without it they do nothing", "ReadRequestBuffer", "WriteRequestBuffer"
    )
    presets.ignore("SCALE-Sim reads it and does nothing with it", "MemoryBanks")
    layout = root.mapping("layout")
    if layout is not None:
        for each in layout:
            if each.startswith(("Ifmap", "Filter", "Ofmap")) and each not in _READS:
                layout.ignore(_LAYOUT, each)
        for key in ("IfmapCustomLayout", "FilterCustomLayout"):
            if layout.flag(key, ""):
                layout.refuse("a layout of tensors in banks; archsim has `interleave` and `padding` of an sram", key)
            else:
                layout.ignore(_LAYOUT, key)
    sparsity = root.mapping("sparsity")
    if sparsity is not None:
        dense = "without SparsitySupport they do nothing"
        keys = ("SparseRep", "OptimizedMapping", "BlockSize", "RandomNumberGeneratorSeed")
        if sparsity.flag("SparsitySupport", ""):
            sparsity.refuse("sparse weights are not modelled; layers are computed dense", "SparsitySupport", *keys)
        else:
            sparsity.ignore("dense, as archsim is", "SparsitySupport")
            sparsity.ignore(dense, *keys)
