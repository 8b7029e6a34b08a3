"""SCALE-Sim topologies (.csv) as work: archsim also runs them as they are (``archsim run topology.csv``)."""

from __future__ import annotations

from pathlib import Path

from archsim.frontend.foreign.section import Section
from archsim.frontend.foreign.work import Access, Task, Work
from archsim.frontend.scalesim_csv import layers
from archsim.spec.nodes import Mark, Node

CONV = ("height", "width", "filter_height", "filter_width", "channels", "filters", "stride")
GEMM = ("m", "n", "k")


def parse_topology(path: Path) -> Node:
    """A list of layers: name, sizes, and what follows them. Raises ModelError with file:line."""
    items = []
    for layer in layers(path):
        mark = Mark(str(path), layer.line, 1)
        named = dict(zip(CONV if len(layer.sizes) == len(CONV) else GEMM, layer.sizes, strict=True))
        values = {"name": Node(layer.name, mark)} | {key: Node(size, mark) for key, size in named.items()}
        if layer.extra:
            values["extra"] = Node(layer.extra, mark)
        if layer.unread:
            values["unread"] = Node({name: Node(text, mark) for name, text in layer.unread}, mark)
        items.append(Node(values, mark))
    return Node(list(items), Mark(str(path), 1, 1))


def work(root: Section, file: str) -> Work:
    """The layers, each with an input of its own."""
    for item in root.items():
        item.refuse("a column that is not known; the layer is written without it", "unread")
    tasks = tuple(_conv(item) if "height" in item else _gemm(item) for item in root.items())
    return Work("SCALE-Sim", Path(file).stem, file, root.node.mark, tasks)


def _sizes(item: Section, keys: tuple[str, ...]) -> list[int]:
    return [item.count(key, "the layer's sizes") or item.fail(f"key '{key}' is missing") for key in keys]


def _gemm(item: Section) -> Task:
    m, n, k = _sizes(item, GEMM)
    name = item.text("name", "layers.name")
    products = _extra(item, "a number of products") or 1
    sizes = {"m": m, "n": n, "k": k} | ({"b": products} if products > 1 else {})
    batch = ((("b", 1),),) if products > 1 else ()
    a = Access(f"{name}.input", "inputs", (*batch, (("m", 1),), (("k", 1),)))
    b = Access(f"{name}.weights", "weights", (*batch, (("k", 1),), (("n", 1),)))
    out = Access(name, "outputs", (*batch, (("m", 1),), (("n", 1),)))
    return Task(name, item.node.mark, item.path, sizes, (a, b), out)


def _conv(item: Section) -> Task:
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
    image = Access(f"{name}.input", "inputs", (*group, *channel, rows, columns))
    weights = Access(f"{name}.weights", "weights", (*group, (("k", 1),), *channel, (("r", 1),), (("s", 1),)))
    out = Access(name, "outputs", (*group, (("k", 1),), (("p", 1),), (("q", 1),)))
    padding = {"p": (0, ends[0]), "q": (0, ends[1])}
    return Task(name, item.node.mark, item.path, sizes, (image, weights), out, padding=padding)


def _extra(item: Section, what: str) -> int:
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
