"""A library of kernels below a framework: each layer is a kernel of its own, products come in tiles of a menu.

A product is cut into tiles of output rows and columns, one of which a core makes at a time from slices of its
reduction; every core has whole tiles. Of the menu the search takes what it ranks best, as the library's heuristics do.
What works element by element goes in blocks of a power of two of elements, which begin where lines of memory do (of
tensors of several axes the innermost are whole as long as they fit). Entries that have no room are left out: sums of
128 x 256 on A100, on MI210 all above 128 x 64 x 32.

Source: tiles such as Triton's tutorial of matrix multiplication tunes over and CUTLASS has, with smaller ones for few
rows (estimated); blocks as in elementwise kernels of PyTorch (threads of a block times elements of a thread, both
powers of two).
"""

from __future__ import annotations

from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.policies.catalogue import LayerRestriction, ScheduleRestriction

TILES = (
    *((128, 256, 64), (256, 128, 64), (128, 256, 32), (256, 128, 32), (128, 128, 64), (128, 128, 32)),
    *((256, 64, 64), (64, 256, 64), (256, 64, 32), (64, 256, 32), (128, 64, 64), (64, 128, 64)),
    *((128, 64, 32), (64, 128, 32), (64, 64, 64), (64, 64, 32), (128, 32, 32), (64, 32, 32), (32, 64, 32)),
    *((32, 128, 64), (16, 128, 64), (16, 64, 64)),
)


BLOCKS = tuple((1 << power, 1, 1) for power in range(8, 16))


def restrict(workload: Workload, chip: Architecture) -> ScheduleRestriction:
    """Products have tiles of the menu, layers element by element blocks; nothing else is restricted but that layers do
    not run together."""
    found = {layer.name: LayerRestriction(tiles=TILES) for layer in workload.layers if layer.kind == "matmul"}
    blocks = {layer.name: LayerRestriction(tiles=BLOCKS) for layer in workload.layers if _is_elementwise(layer)}
    return ScheduleRestriction({**found, **blocks})


def _is_elementwise(layer: Layer) -> bool:
    """Whether a layer makes each output of one point of its inputs."""
    outputs = {dim for axis in layer.output.axes for dim, _ in axis.terms}
    points = {dim for dim, extent in layer.dims.items() if extent > 1}
    return layer.kind == "vector" and not layer.whole and points <= outputs
