"""Layers in a row that may be a group, and the loops over passes that they may share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from archsim.ir.workload import Layer, Workload
from mapper.problem.packed import base_of

KINDS = ("matmul", "vector")  # of layers that may be members
MOST_MEMBERS = 8
OUTERMOST = 3  # rows of a result that are looped over
MOST_TILES = 4  # of a loop that are tried: what follows from halving the largest
Loops = tuple[tuple[str, int], ...]  # dim and tile of each shared loop, outermost first


def chains(workload: Workload) -> Iterator[range]:
    """Layers whose results, but the last one's, only later ones of them read."""
    whole = {name for name in workload.tensors if _is_whole(workload, name)}
    readers = {name: _readers(workload, name) for name in whole}
    for first in range(len(workload.layers)):
        for last in range(first + 1, min(first + MOST_MEMBERS, len(workload.layers))):
            layers = workload.layers[first : last + 1]
            if any(layer.kind not in KINDS for layer in layers[-2:]):
                break
            made = [layer.output.tensor for layer in layers[:-1]]
            if all(name in whole and set(readers[name]) <= set(range(at + 1, last + 1)) and readers[name]
                   for at, name in enumerate(made, first)):  # fmt: skip
                yield range(first, last + 1)


def barrier(workload: Workload, members: range) -> str:
    """Why layers in a row are no such chain, in words that go on from 'since'; '' where they are one."""
    layers = workload.layers[members.start : members.stop]
    if len(layers) > MOST_MEMBERS:
        return f"a group has {MOST_MEMBERS} layers at the most"
    odd = next((layer for layer in layers if layer.kind not in KINDS), None)
    if odd is not None:
        return f"{odd.name} is a {odd.kind}" if odd.kind == "copy" else f"{odd.name} runs on the {odd.kind}"
    return next(filter(None, (_crossing(workload, at, members) for at in members[:-1])), "")


def _crossing(workload: Workload, at: int, members: range) -> str:
    """What else becomes of the result of a layer than that later ones of ``members`` read it."""
    name = workload.layers[at].output.tensor
    if not _is_whole(workload, name):
        return f"{name} is an output of the model, or a part or the whole of other tensors"
    readers = _readers(workload, name)
    outside = [workload.layers[reader].name for reader in readers if reader not in members]
    if outside:
        return f"{outside[0]} reads {name} too"
    return "" if readers else f"nothing reads {name}"


def _is_whole(workload: Workload, name: str) -> bool:
    """Whether a tensor is made by a layer and no other tensor is a view of it."""
    tensor = workload.tensors[name]
    if tensor.kind != "activation" or tensor.view is not None:
        return False
    return not any(
        other.view is not None and base_of(workload, other.name) == name for other in workload.tensors.values()
    )


def _readers(workload: Workload, name: str) -> list[int]:
    return [at for at, layer in enumerate(workload.layers) if any(op.tensor == name for op in layer.inputs)]


def shared_loops(last: Layer) -> Iterator[Loops]:
    """Loops over dims of the last member's result that are rows: over one of the outermost ones, over two in a row."""
    dims = [dim for axis in last.output.axes for dim, _ in axis.terms if last.dims[dim] > 1 and dim not in last.n]
    for dim in dims[:OUTERMOST]:
        for tile in tiles(last.dims[dim]):
            yield ((dim, tile),)
    for outer, inner in pairwise(dims[:OUTERMOST]):
        for tile in tiles(last.dims[inner]):
            yield ((outer, 1), (inner, tile))


def tiles(extent: int) -> Sequence[int]:
    """Tile sizes of a loop of two passes or more, the largest first."""
    found: list[int] = []
    passes = 4
    while passes <= extent and len(found) < MOST_TILES:
        found.append(-(-extent // passes))
        passes *= 2
    return list(dict.fromkeys(found)) or ([1] if extent > 1 else [])
