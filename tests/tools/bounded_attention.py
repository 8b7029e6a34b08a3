"""Attention of which each row sees some keys, as an ONNX file: causal by an attribute, or by a mask that is stored."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from archsim.ops.kit.visible import Band


class BoundedAttention(NamedTuple):
    """One attention: extents, what a row sees, and how it is stated: 'causal', 'where' or 'add'."""

    heads: int
    rows: int
    keys: int
    width: int
    out: int
    band: Band
    stated: str

    @property
    def seen(self) -> np.ndarray:
        """(rows, keys)."""
        return np.asarray(self.band.mask(self.rows, self.keys))

    @property
    def macs(self) -> int:
        """Inside the bounds, counted point by point."""
        return self.heads * int(self.seen.sum()) * (self.width + self.out)

    def save(self, path: Path) -> Path:
        """The file."""
        nodes, constants = self._nodes()
        shapes = (("q", self.rows, self.width), ("k", self.keys, self.width), ("v", self.keys, self.out))
        inputs = [_tensor(name, (1, self.heads, rows, width)) for name, rows, width in shapes]
        output = _tensor("y", (1, self.heads, self.rows, self.out))
        stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph(nodes, "attention", inputs, [output], stored)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), str(path))
        return path

    def _nodes(self) -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
        make = helper.make_node
        if self.stated == "causal":
            return [make("Attention", ["q", "k", "v"], ["y"], name="attn", is_causal=1)], {}
        nodes = [make("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), make("MatMul", ["q", "kt"], ["s"], name="scores")]
        hidden = np.float32(np.finfo(np.float32).min)
        constants = {"low": hidden, "seen": self.seen}
        if self.stated == "where":
            nodes.append(make("Where", ["seen", "s", "low"], ["m"]))
        else:
            constants = {"mask": np.where(self.seen, np.float32(0), hidden)[None, None]}
            nodes.append(make("Add", ["s", "mask"], ["m"]))
        nodes += [make("Softmax", ["m"], ["p"], name="softmax"), make("MatMul", ["p", "v"], ["y"], name="context")]
        return nodes, {name: np.asarray(array) for name, array in constants.items()}


def _tensor(name: str, shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
