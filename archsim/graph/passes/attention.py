"""Takes attention apart: into the products of queries and keys and of shares and values, with softmax between them.

Heads of queries that share keys and values read them in place, by one more axis along which keys and values do not
move. Parts are called after the node: NAME.scores, NAME.softmax and NAME.context. Causal attention has no mask: its
parts say which keys a row sees (archsim/ops/kit/visible.py), and compute nothing of the others.
"""

from __future__ import annotations

from archsim.graph.passes.manager import PassOptions
from archsim.graph.pieces import Pieces
from archsim.graph.producers import Producers
from archsim.ir.graph import Graph, GraphNode
from archsim.ops.attention import (
    KEY,
    MASK,
    PAST_KEY,
    PAST_VALUE,
    QUERY,
    SINKS,
    VALUE,
    Heads,
    band_of,
    heads_of,
    is_known,
    scale_of,
)
from archsim.ops.kit.visible import VISIBLE, VISIBLE_A

AFTER = ("alias",)
BEFORE = ("product_scale",)


def run(graph: Graph, options: PassOptions) -> Graph:
    """The graph with the parts of each Attention in its place."""
    pieces, producers = Pieces(graph), Producers(graph)
    for node in graph.nodes:
        if node.op == "Attention" and is_known(node, graph.inputs_of(node)):
            _Parts(pieces, producers, node).make()
    return pieces.done()


class _Parts:
    """The parts of one attention."""

    def __init__(self, pieces: Pieces, producers: Producers, node: GraphNode) -> None:
        self.pieces, self.producers, self.node = pieces, producers, node
        shapes = tuple(pieces.shape(name) if name else None for name in node.inputs)
        self.heads: Heads = heads_of(node, shapes)
        band = band_of(node, self.heads)
        self.band: tuple[int, ...] | None = None if band is None else tuple(band)

    def make(self) -> None:
        """Enter them."""
        node, heads = self.node, self.heads
        self.pieces.gone.add(node.name)
        query = self._grouped("query", self._by_heads(QUERY, "q"), heads.queries)
        key = self._with_older("key", self._by_heads(KEY, "kv"), PAST_KEY, 1)
        value = self._with_older("value", self._by_heads(VALUE, "kv"), PAST_VALUE, 2)
        turned = self._add("Transpose", "keys", self._grouped("key", key, 1), perm=(0, 1, 2, 4, 3))
        scores = self._masked(self._capped(self._scored("MatMul", "scores", query, turned)))
        shares = self._scored("Softmax", "softmax", scores, *self._sinks(), axis=-1, masked_rows=0)
        context = self._within("MatMul", "context", VISIBLE_A, shares, self._grouped("value", value, 1))
        self._out(context)

    def _sinks(self) -> tuple[str, ...]:
        """(1, shared heads, heads of queries, 1, 1), where there are any."""
        if len(self.node.inputs) <= SINKS or not self.node.inputs[SINKS]:
            return ()
        sizes = (1, self.heads.shared, self.heads.queries, 1, 1)
        return (self._reshaped("sinks", self.node.inputs[SINKS], *sizes),)

    def _scored(self, op: str, part: str, *inputs: str, **attributes: int | tuple[int, ...]) -> str:
        """A node that has a number for each row and each key that it sees."""
        return self._within(op, part, VISIBLE, *inputs, **attributes)

    def _within(self, op: str, part: str, key: str, *inputs: str, **attributes: int | tuple[int, ...]) -> str:
        """A node that says, where some rows do not see all keys, which they see."""
        if self.band is not None:
            attributes[key] = self.band
        return self._add(op, part, *inputs, output="", **attributes)

    def _add(self, op: str, part: str, *inputs: str, output: str = "", **attributes: int | tuple[int, ...]) -> str:
        return self.pieces.add(op, f"{self.node.name}.{part}", *inputs, output=output, **attributes)

    def _reshaped(self, part: str, name: str, *sizes: int, output: str = "") -> str:
        shape = self.pieces.constant(f"{self.node.name}.{part}.shape", sizes)
        return self._add("Reshape", part, name, shape, output=output)

    def _by_heads(self, at: int, which: str) -> str:
        """An operand as (batch, heads, rows, elements)."""
        name = self.node.inputs[at]
        shape = self.pieces.shape(name)
        if len(shape) == 4:
            return name
        heads = self.node.integer(f"{which}_num_heads", 0)
        parted = self._reshaped(f"{at}.heads", name, shape[0], shape[1], heads, shape[2] // heads)
        return self._add("Transpose", f"{at}.rows", parted, perm=(0, 2, 1, 3))

    def _with_older(self, part: str, name: str, past: int, output: int) -> str:
        """Keys or values behind those of before; what the node puts out of them is this."""
        node = self.node
        asked = node.outputs[output] if len(node.outputs) > output else ""
        if len(node.inputs) > past and node.inputs[past]:
            return self._add("Concat", f"{part}.all", node.inputs[past], name, output=asked, axis=2)
        return self._add("Identity", f"{part}.all", name, output=asked) if asked else name

    def _grouped(self, part: str, name: str, each: int) -> str:
        """(batch, shared heads, heads of queries or 1, rows, elements)."""
        batch, _, rows, width = self.pieces.shape(name)
        return self._reshaped(f"{part}.groups", name, batch, self.heads.shared, each, rows, width)

    def _capped(self, scores: str) -> str:
        """Scaled, and kept within the cap."""
        node, cap = self.node, self.node.number("softcap", 0.0)
        scale = scale_of(node, self.heads)
        factor = self.pieces.constant(f"{node.name}.scale.number", scale / cap if cap else scale, "float32")
        scaled = self._scored("Mul", "scale", scores, factor)
        if not cap:
            return scaled
        top = self.pieces.constant(f"{node.name}.cap.number", cap, "float32")
        return self._scored("Mul", "cap", self._scored("Tanh", "tanh", scaled), top)

    def _masked(self, scores: str) -> str:
        heads, node = self.heads, self.node
        if len(node.inputs) <= MASK or not node.inputs[MASK]:
            return scores
        mask = node.inputs[MASK]
        sizes = (1,) * (4 - len(self.pieces.shape(mask))) + self.pieces.shape(mask)
        groups = (1, 1) if sizes[1] == 1 else (heads.shared, heads.queries)
        mask = self._reshaped("mask.groups", mask, sizes[0], *groups, sizes[2], sizes[3])
        if self.producers.elements(node.inputs[MASK]) == "bool":
            nothing = self.pieces.constant(f"{node.name}.mask.else", float("-inf"), "float32")
            return self._scored("Where", "mask", mask, scores, nothing)
        return self._scored("Add", "mask", scores, mask)

    def _out(self, context: str) -> None:
        heads, out = self.heads, self.node.outputs[0]
        every = heads.shared * heads.queries
        if not heads.joined:
            self._reshaped("heads", context, *heads.result, output=out)
            return
        joined = self._reshaped("heads", context, heads.batch, every, heads.rows, heads.out)
        rows = self._add("Transpose", "rows.heads", joined, perm=(0, 2, 1, 3))
        self._reshaped("joined", rows, *heads.result, output=out)
