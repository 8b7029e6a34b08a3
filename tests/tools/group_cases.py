"""Random groups of layers as two files: a workload and a mapping that states all its layers as one group.

How far a member's readers reach beyond a pass is written out here (``leads``), apart from the compiler's own count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import strategies as st

from archsim.spec.architecture import Architecture


@dataclass(frozen=True)
class Conv:
    """A convolution of a chain. ``vector``: of one channel each, on the vector unit; ``added``: what is added to its
    result; ``shares_weights``: whether these are held over passes."""

    name: str
    channels: int
    kernel: int
    stride: int
    pad: int
    vector: bool = False
    added: str = ""
    shares_weights: bool = True

    def rows(self, height: int) -> int:
        """Rows of its result, from as many of its input."""
        return (height + 2 * self.pad - self.kernel) // self.stride + 1

    @property
    def layer(self) -> str:
        """What its layer is called."""
        return f"{self.name}_conv" if self.added else self.name

    def entry(self) -> str:
        """Of the workload file."""
        groups = ", groups: depthwise" if self.vector else f", out_channels: {self.channels}"
        act = "" if self.added else ", act: relu"
        window = f"kernel: {self.kernel}, stride: {self.stride}, pad: {self.pad}"
        conv = f"  - conv: {{name: {self.layer}, {window}{groups}{act}}}\n"
        added = f"  - add: {{name: {self.name}, inputs: [{self.layer}, {self.added}], act: relu}}\n"
        return conv + added if self.added else conv


@dataclass(frozen=True)
class GroupCase:
    """A group on a chip: ``workload`` and ``mapping`` are texts of files; ``windows``: tensors that lie in some."""

    workload: str
    mapping: str
    windows: tuple[str, ...]

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Write both files; returns their paths."""
        paths = folder / "group.yaml", folder / "mapping.yaml"
        for path, text in zip(paths, (self.workload, self.mapping), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths


@dataclass(frozen=True)
class Names:
    """What a chip calls what a mapping file speaks of."""

    array: str
    vector: str
    inputs: str
    weights: str
    outputs: str
    partials: str

    @staticmethod
    def of(chip: Architecture) -> Names:
        """Those of a chip of one core."""
        inner = [chip.inner(role).name for role in ("inputs", "weights", "outputs", "partials")]
        return Names(chip.arrays[0].name, chip.vectors[0].name, *inner)


@dataclass
class Stated:
    """A mapping file under construction: members in their order, each with its loops and its keeps that are shared."""

    chip: Names
    layers: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    windows: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)

    def layer(self, name: str, kind: str, unit: str, nodes: Sequence[str], ahead: int) -> None:
        """A member."""
        lines = "".join(f"  - {{{node}}}\n" for node in nodes)
        self.layers.append(f"- layer: {name}\n  unit: {unit}\n  kind: {kind}\n  nodes:\n{lines}")
        self.members.append(f"  - {{layer: {name}, ahead: {ahead}}}\n")

    def window(self, tensor: str, slots: int) -> None:
        """The place of a tensor between members."""
        self.windows.append(f"  - {{tensor: {tensor}, in: {self.chip.inputs}, slots: {slots}}}\n")

    def text(self) -> str:
        """The file."""
        parts = ("  shared:\n", *self.shared, "  windows:\n", *self.windows, "  members:\n", *self.members)
        return f"schema: archsim.mapping/2\nlayers:\n{''.join(self.layers)}groups:\n- group: g0\n{''.join(parts)}"


def leads(chain: Sequence[Conv], tile: int) -> list[int]:
    """Of each layer but the last, by how many passes it is done with more than its readers when these begin.

    ``tile``: rows of the last one's result in a pass.
    """
    found: list[int] = []
    step = tile
    for at in range(len(chain) - 1, 0, -1):
        reader = chain[at]
        high = -reader.pad + reader.stride * (step - 1) + reader.kernel
        step *= reader.stride
        found.insert(0, max(0, -(-(high - step) // step)))
    return found


def nodes_of(
    names: Names, conv: Conv, width: int, reads_window: bool, makes_window: bool, draw: st.DrawFn
) -> Iterator[str]:
    """A member's own loops and keeps; its result is ``width`` wide."""
    loops = []
    if not conv.vector and draw(st.booleans()):
        loops.append(f"loop: k, tile: {draw(st.integers(1, conv.channels))}")
    if draw(st.booleans()):
        loops.append(f"loop: q, tile: {draw(st.integers(1, width))}")
    loops = list(draw(st.permutations(loops)))
    keeps = []
    if not conv.shares_weights:
        keeps += [f"keep: {name}, in: {names.weights}, slots: {draw(st.integers(1, 2))}" for name in ("b", "bias")]
    keeps.append(f"keep: a, in: {names.inputs}, slots: {0 if reads_window else draw(st.integers(1, 2))}")
    for keep in keeps:
        loops.insert(draw(st.integers(0, len(loops))), keep)
    yield from loops
    if conv.added:
        yield f"keep: epilogue, in: {names.inputs}, slots: {0 if conv.added != 'x' else draw(st.integers(1, 2))}"
    yield f"keep: out, in: {names.outputs}, slots: {0 if makes_window else draw(st.integers(1, 2))}"
    yield f"keep: acc, in: {names.partials}, slots: {1 if conv.vector else draw(st.integers(1, 2))}"


@st.composite
def chains(draw: st.DrawFn, chip: Architecture) -> GroupCase:
    """Two to four convolutions, each of which reads the one before it; the last one may add what any other made. Of
    several images each is an iteration of the outer loop."""
    names, count, images = Names.of(chip), draw(st.integers(2, 4)), draw(st.sampled_from((1, 1, 2, 3)))
    height, width, depth = draw(st.integers(7, 22)), draw(st.integers(5, 9)), draw(st.integers(2, 9))
    adds = draw(st.sampled_from(("", "", "x", "inside")))
    chain: list[Conv] = []
    widths: list[int] = []
    h, w, c = height, width, depth
    for at in range(count):
        last, kernel = (
            at == count - 1,
            draw(st.sampled_from([k for k in (1, 3, 5) if k <= min(h, w)])),
        )
        stride = draw(st.sampled_from((1, 1, 2))) if not adds else 1
        pad = kernel // 2 if adds else draw(st.integers(0, kernel // 2))
        vector = not (last and adds) and draw(st.integers(0, 3)) == 0
        channels = c if vector else depth if adds else draw(st.integers(1, 20))
        shares = draw(st.booleans())
        chain.append(Conv(f"c{at}", channels, kernel, stride, pad, vector, "", shares))
        h, w, c = chain[-1].rows(h), chain[-1].rows(w), channels
        widths.append(w)
    if adds:
        added = "x" if adds == "x" else f"c{draw(st.integers(0, count - 2))}"
        chain[-1] = replace(chain[-1], added=added)
    tile = draw(st.integers(1, h))
    reach = leads(chain, tile)
    ahead = [0] * count
    stated = Stated(names)
    for at in range(count - 2, -1, -1):
        ahead[at] = ahead[at + 1] + reach[at] + draw(st.integers(0, 2))
    for at, conv in enumerate(chain):
        last = at == count - 1
        nodes = list(nodes_of(names, conv, widths[at], at > 0, not last, draw))
        kind = names.vector if conv.vector else names.array
        stated.layer(conv.layer, "matmul", kind, nodes, ahead[at])
        if conv.shares_weights:
            stated.shared += [
                f"  - {{keep: {conv.layer}.{op}, in: {names.weights}, slots: 1}}\n" for op in ("b", "bias")
            ]
        if not last:
            need = ahead[at] - ahead[at + 1] - reach[at] + 1
            stated.window(conv.name, need + draw(st.integers(0, 2)))
    if images > 1:
        stated.shared.append(f"  - {{loop: {chain[-1].layer}.n, tile: 1}}\n")
    stated.shared.append(f"  - {{loop: {chain[-1].layer}.p, tile: {tile}}}\n")
    shape = f"[{images}, {depth}, {height}, {width}]"
    head = f"schema: archsim.workload/1\nname: chain\nsource: random\ninputs: {{x: {shape}}}\n"
    workload = head + "layers:\n" + "".join(conv.entry() for conv in chain)
    return GroupCase(workload, stated.text(), tuple(conv.name for conv in chain[:-1]))


@st.composite
def attentions(draw: st.DrawFn, chip: Architecture) -> GroupCase:
    """Scores, softmax and context of some heads, in passes over rows of queries, over heads, or over both."""
    names = Names.of(chip)
    heads, rows, keys = draw(st.integers(1, 4)), draw(st.integers(2, 17)), draw(st.integers(2, 17))
    depth, width = draw(st.integers(2, 9)), draw(st.integers(2, 9))
    by_heads, by_rows = draw(st.sampled_from(((True, True), (True, False), (False, True))))
    tile = draw(st.integers(1, rows))
    passes = -(-rows // tile) if by_rows else heads
    slack = draw(st.integers(0, min(2, passes - 1)))
    stated = Stated(names)
    keeps_shared = draw(st.booleans())
    own: dict[str, list[str]] = {"scores": [], "context": []}
    shared = []
    for name, nodes in own.items():
        keep = f"in: {names.weights}, slots: {draw(st.integers(1, 2))}"
        if keeps_shared:
            shared.append(f"  - {{keep: {name}.b, {keep}}}\n")
        else:
            nodes.append(f"keep: b, {keep}")
    acc = f"keep: acc, in: {names.partials}, slots: {draw(st.integers(1, 2))}"
    made = f"keep: out, in: {names.outputs}, slots: 0"
    first = [f"keep: a, in: {names.inputs}, slots: {draw(st.integers(1, 2))}", *own["scores"], made, acc]
    stated.layer("scores", "matmul", names.array, first, slack)
    stated.layer("shares", "vector", names.vector, [f"keep: in0, in: {names.inputs}, slots: 0", made], slack)
    last = [f"keep: out, in: {names.outputs}, slots: {draw(st.integers(1, 2))}", acc]
    stated.layer(
        "context", "matmul", names.array, [f"keep: a, in: {names.inputs}, slots: 0", *own["context"], *last], 0
    )
    stated.window("scores", 1 + draw(st.integers(0, 1)))
    stated.window("shares", slack + 1 + draw(st.integers(0, 1)))
    if by_heads:
        stated.shared.append(f"  - {{loop: context.h, tile: {draw(st.integers(1, heads)) if by_rows else 1}}}\n")
    stated.shared += shared
    if by_rows:
        stated.shared.append(f"  - {{loop: context.s, tile: {tile}}}\n")
    shapes = f"q: [1, {heads}, {rows}, {depth}], k: [1, {heads}, {keys}, {depth}], v: [1, {heads}, {keys}, {width}]"
    workload = (
        f"schema: archsim.workload/1\nname: attention\nsource: random\ninputs: {{{shapes}}}\nlayers:\n"
        '  - einsum: {equation: "b h s d, b h t d -> b h s t", inputs: [q, k], name: scores}\n'
        "  - softmax: {name: shares, input: scores}\n"
        '  - einsum: {equation: "b h s t, b h t e -> b h s e", inputs: [shares, v], name: context}\n'
    )
    return GroupCase(workload, stated.text(), ("scores", "shares"))
