"""Two small groups on edge_npu, as files: three convolutions in a row, and attention."""

from __future__ import annotations

from pathlib import Path

from archsim.lab.run.job import Job

CONVOLUTIONS = """schema: archsim.workload/1
name: row
source: "made up"
inputs: {x: [1, 4, 10, 6]}
layers:
  - conv: {name: one, out_channels: 6, kernel: 1, act: relu}
  - conv: {name: two, out_channels: 5, kernel: 3, pad: 1, act: relu}
  - conv: {name: three, out_channels: 4, kernel: 1}
"""

IN_A_ROW = """schema: archsim.mapping/2
layers:
- layer: one
  unit: mxu
  kind: matmul
  nodes:
  - {keep: a, in: l1, slots: 2}
  - {keep: out, in: l1, slots: 0}
  - {keep: acc, in: acc, slots: 2}
- layer: two
  unit: mxu
  kind: matmul
  nodes:
  - {keep: a, in: l1, slots: 0}
  - {keep: out, in: l1, slots: 0}
  - {keep: acc, in: acc, slots: 2}
- layer: three
  unit: mxu
  kind: matmul
  nodes:
  - {keep: a, in: l1, slots: 0}
  - {keep: out, in: l1, slots: 2}
  - {keep: acc, in: acc, slots: 2}
groups:
- group: g0
  shared:
  - {keep: one.b, in: l1, slots: 1}
  - {keep: one.bias, in: l1, slots: 1}
  - {keep: two.b, in: l1, slots: 1}
  - {keep: two.bias, in: l1, slots: 1}
  - {keep: three.b, in: l1, slots: 1}
  - {keep: three.bias, in: l1, slots: 1}
  - {loop: three.p, tile: 2}
  windows:
  - {tensor: one, in: l1, slots: 2}
  - {tensor: two, in: l1, slots: 2}
  members:
  - {layer: one, ahead: 3}
  - {layer: two, ahead: 1}
  - {layer: three}
"""

ATTENTION = """schema: archsim.workload/1
name: attention
source: "made up"
inputs: {q: [1, HEADS, ROWS, 16], k: [1, HEADS, ROWS, 16], v: [1, HEADS, ROWS, 16]}
layers:
  - einsum: {equation: "b h s d, b h t d -> b h s t", inputs: [q, k], name: scores}
  - softmax: {name: shares, input: scores}
  - einsum: {equation: "b h s t, b h t e -> b h s e", inputs: [shares, v], name: context}
"""

HEAD_BY_HEAD = """schema: archsim.mapping/2
layers:
- layer: scores
  unit: mxu
  kind: matmul
  nodes:
  - {keep: a, in: l1, slots: 2}
  - {keep: out, in: l1, slots: 0}
  - {keep: acc, in: acc, slots: 2}
- layer: shares
  unit: vpu
  kind: vector
  nodes:
  - {keep: in0, in: l1, slots: 0}
  - {keep: out, in: l1, slots: 0}
- layer: context
  unit: mxu
  kind: matmul
  nodes:
  - {keep: a, in: l1, slots: 0}
  - {keep: out, in: l1, slots: 2}
  - {keep: acc, in: acc, slots: 2}
groups:
- group: heads
  shared:
  - {loop: context.h, tile: 1}
  - {keep: scores.b, in: l1, slots: 2}
  - {keep: context.b, in: l1, slots: 2}
  - {loop: context.s, tile: TILE}
  windows:
  - {tensor: scores, in: l1, slots: 1}
  - {tensor: shares, in: l1, slots: 2}
  members:
  - {layer: scores, ahead: 1}
  - {layer: shares, ahead: 1}
  - {layer: context}
"""


def attention(heads: int, rows: int, tile: int) -> tuple[str, str]:
    """Workload and mapping of ``heads`` of ``rows`` rows, ``tile`` in a pass."""
    return ATTENTION.replace("HEADS", str(heads)).replace("ROWS", str(rows)), HEAD_BY_HEAD.replace("TILE", str(tile))


def saved(folder: Path, workload: str, mapping: str, chip: str = "edge_npu") -> Job:
    """Both texts as files of a job."""
    paths = folder / "group.yaml", folder / "mapping.yaml"
    for path, text in zip(paths, (workload, mapping), strict=True):
        path.write_text(text, encoding="utf-8")
    return Job(str(paths[0]), chip, mapping=paths[1])
