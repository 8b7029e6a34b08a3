"""SCALE-Sim configurations (.cfg): sections ``[name]`` of ``key: value`` or ``key = value`` lines.

Format: https://github.com/scalesim-project/SCALE-Sim (README, "Config file"). An array of three private SRAMs that
never limit it, in front of a memory. With InterfaceBandwidth USER inputs and weights are read at the bandwidths of
their SRAMs' banks ([layout]) and outputs written at the first one of ``Bandwidth``, each over an interface of its own;
with CALC the bandwidth is what the tool computes, so nothing limits it. One word is one byte here.

SCALE-Sim topologies (.csv) as work: archsim also runs them as they are (``archsim run topology.csv``).
"""

from __future__ import annotations

import re
from pathlib import Path

from archsim.base.errors import ConfigError, nearest
from archsim.base.units import shown
from archsim.frontend.foreign.design import ForeignDesign, ForeignFanout, ForeignMacs, ForeignMemory, constant
from archsim.frontend.foreign.section import SourceQuantity, SourceSection
from archsim.frontend.foreign.work import ForeignLayer, ForeignModel, ForeignOperand
from archsim.frontend.formats.scalesim_csv import layers
from archsim.spec.nodes import MAX_NODES, FileNode, Mark, scalar

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


def parse_config(text: str, file: str) -> FileNode:
    """The tree of a configuration: sections of scalars. Raises ConfigError with file:line."""
    root: dict[str, FileNode] = {}
    current: dict[str, FileNode] | None = None
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
            root[section[1]] = FileNode(current, mark)
        elif entry and current is not None:
            key = _SPELLED.get(entry[1].lower(), entry[1])
            _once(current, key, mark)
            current[key] = FileNode(scalar(entry[2]), mark)
        else:
            raise ConfigError(f"{mark}: found {shown(said)}; allowed [section], or 'key: value' below one")
    return FileNode(root, Mark(file, 1, 1))


def _once(found: dict[str, FileNode], key: str, mark: Mark) -> None:
    if key in found:
        raise ConfigError(f"{mark}: duplicate key '{key}', first at line {found[key].mark.line}; allowed once")


def design(root: SourceSection, file: str) -> ForeignDesign:
    """The chip of a configuration. Raises ConfigError for what is missing or no number."""
    presets = root.mapping(_PRESETS) or root.fail(f"has no section [{_PRESETS}]; a SCALE-Sim configuration has one")
    general = root.mapping("general")
    if general is not None:
        name = general.text("run_name", "name", "scalesim")
    rows, cols = _count(presets, "ArrayHeight"), _count(presets, "ArrayWidth")
    stores = [_outer(root, presets), *(_sram(presets, *each) for each in _SRAMS)]
    spreads = [ForeignFanout("ArrayHeight", rows, "rows"), ForeignFanout("ArrayWidth", cols, "cols")]
    _others(root, presets)
    return ForeignDesign(
        tool="SCALE-Sim",
        name=name if general is not None else "scalesim",
        file=file,
        mark=presets.node.mark,
        levels=(*stores, *spreads),
        units=ForeignMacs(
            "array", presets.node.mark, rate=constant(1, "SCALE-Sim: one MAC of a PE and cycle", rows.mark)
        ),
        dataflow=_dataflow(presets),
        free=(
            "SCALE-Sim itself has no vector unit, no width of partial sums, no energy and no host",
            "SCALE-Sim's SRAMs never limit its array",
        ),
    )


def _count(presets: SourceSection, key: str) -> SourceQuantity:
    if presets.count(key, "array.shape") is None:
        presets.fail(f"key '{key}' is missing")
    found = presets.number(key, "array.shape")
    assert found is not None
    return found


def _dataflow(presets: SourceSection) -> str:
    said = presets.text("Dataflow", "array.dataflow").lower()
    if said not in DATAFLOWS:
        presets.fail(f"found {shown(said)}; allowed {', '.join(DATAFLOWS)}{nearest(said, DATAFLOWS)}", "Dataflow")
    return DATAFLOWS[said]


def _outer(root: SourceSection, presets: SourceSection) -> ForeignMemory:
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
    return ForeignMemory(
        "dram", presets.node.mark, every, None, word, read_bits=bits, write_bits=bits, shared=True, offchip=True
    )


def _stated(presets: SourceSection, layout: SourceSection | None) -> SourceQuantity:
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


def _sram(presets: SourceSection, name: str, key: str, role: str) -> ForeignMemory:
    size = presets.number(key, f"{name}.size") or presets.fail(f"key '{key}' is missing")
    slots = constant(2, "SCALE-Sim double-buffers its SRAMs", size.mark)
    word = constant(8, "one byte a word", size.mark)
    return ForeignMemory(name, size.mark, frozenset((role,)), size.scaled(_KIB_BITS, "KiB"), word, slots=slots)


def _others(root: SourceSection, presets: SourceSection) -> None:
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


CONV = ("height", "width", "filter_height", "filter_width", "channels", "filters", "stride")
GEMM = ("m", "n", "k")


def parse_topology(path: Path) -> FileNode:
    """A list of layers: name, sizes, and what follows them. Raises ModelError with file:line."""
    items = []
    for layer in layers(path):
        mark = Mark(str(path), layer.line, 1)
        named = dict(zip(CONV if len(layer.sizes) == len(CONV) else GEMM, layer.sizes, strict=True))
        values = {"name": FileNode(layer.name, mark)} | {key: FileNode(size, mark) for key, size in named.items()}
        if layer.extra:
            values["extra"] = FileNode(layer.extra, mark)
        if layer.unread:
            values["unread"] = FileNode({name: FileNode(text, mark) for name, text in layer.unread}, mark)
        items.append(FileNode(values, mark))
    return FileNode(list(items), Mark(str(path), 1, 1))


def work(root: SourceSection, file: str) -> ForeignModel:
    """The layers, each with an input of its own."""
    for item in root.items():
        item.refuse("a column that is not known; the layer is written without it", "unread")
    tasks = tuple(_conv(item) if "height" in item else _gemm(item) for item in root.items())
    return ForeignModel("SCALE-Sim", Path(file).stem, file, root.node.mark, tasks)


def _sizes(item: SourceSection, keys: tuple[str, ...]) -> list[int]:
    return [item.count(key, "the layer's sizes") or item.fail(f"key '{key}' is missing") for key in keys]


def _gemm(item: SourceSection) -> ForeignLayer:
    m, n, k = _sizes(item, GEMM)
    name = item.text("name", "layers.name")
    products = _extra(item, "a number of products") or 1
    sizes = {"m": m, "n": n, "k": k} | ({"b": products} if products > 1 else {})
    batch = ((("b", 1),),) if products > 1 else ()
    a = ForeignOperand(f"{name}.input", "inputs", (*batch, (("m", 1),), (("k", 1),)))
    b = ForeignOperand(f"{name}.weights", "weights", (*batch, (("k", 1),), (("n", 1),)))
    out = ForeignOperand(name, "outputs", (*batch, (("m", 1),), (("n", 1),)))
    return ForeignLayer(name, item.node.mark, item.path, sizes, (a, b), out)


def _conv(item: SourceSection) -> ForeignLayer:
    height, width, kernel_h, kernel_w, channels, filters, stride = _sizes(item, CONV)
    name = item.text("name", "layers.name")
    strides = (stride, _extra(item, "the stride along the width") or stride)
    if kernel_h > height or kernel_w > width:
        item.fail(f"filter {kernel_h}x{kernel_w} is larger than its input {height}x{width}")
    outs = [-(-(height - kernel_h) // strides[0]) + 1, -(-(width - kernel_w) // strides[1]) + 1]
    ends = [
        (kernel - size) % step
        for size, kernel, step in zip((height, width), (kernel_h, kernel_w), strides, strict=True)
    ]
    depthwise = "DP" in name
    sizes = {"k": filters, "p": outs[0], "q": outs[1], "r": kernel_h, "s": kernel_w}
    sizes["g" if depthwise else "c"] = channels
    rows, columns = (("p", strides[0]), ("r", 1)), (("q", strides[1]), ("s", 1))
    group = ((("g", 1),),) if depthwise else ()
    channel = () if depthwise else ((("c", 1),),)
    image = ForeignOperand(f"{name}.input", "inputs", (*group, *channel, rows, columns))
    weights = ForeignOperand(f"{name}.weights", "weights", (*group, (("k", 1),), *channel, (("r", 1),), (("s", 1),)))
    out = ForeignOperand(name, "outputs", (*group, (("k", 1),), (("p", 1),), (("q", 1),)))
    padding = {"p": (0, ends[0]), "q": (0, ends[1])}
    return ForeignLayer(name, item.node.mark, item.path, sizes, (image, weights), out, padding=padding)


def _extra(item: SourceSection, what: str) -> int:
    """What follows the sizes: a second stride or a number of products (0: none), or sparsity, which is not modelled."""
    said = str(item.node.mapping["extra"].value) if "extra" in item else ""
    if said.isdecimal() and int(said) > 0:
        item.take(f"{what}, behind the sizes", "extra")
        return int(said)
    first, colon, second = (part.strip() for part in said.partition(":"))
    if colon and first.isdecimal() and first == second:
        item.ignore("dense", "extra")
    elif colon:
        item.refuse("sparsity is not modelled: the layer is computed dense", "extra")
    else:
        item.ignore("SCALE-Sim ignores it too", "extra")
    return 0
