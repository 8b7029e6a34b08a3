"""Which convolution or pooling an einsum with sliding windows is: batch, groups, channels, filter, stride, padding.

    O[b, g, k, y, x] += I[b, g, c, y stride + fy dilation, x stride + fx dilation] * W[g, k, c, fy, fx]

The dims are told by the operands that they index, not by their names; dims of one kind multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from archsim.frontend.foreign.work import ForeignCoordinate, ForeignLayer, ForeignOperand

AXES = 2


class LayerRefusal(Exception):  # noqa: N818 (it is a verdict on one layer, which the import survives)
    """Why a layer cannot be written."""


@dataclass(frozen=True)
class WindowAxis:
    """One axis of an image: windows at ``out`` places, ``taps`` values in each."""

    out: int
    taps: int
    stride: int
    dilation: int
    pads: tuple[int, int]

    @property
    def extent(self) -> int:
        """Values along the image as it is stored, without padding."""
        return self.whole - sum(self.pads)

    @property
    def whole(self) -> int:
        """Values that the windows touch, padding included."""
        return (self.out - 1) * self.stride + self.reach

    @property
    def reach(self) -> int:
        """Values from the first to the last tap of a window."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def zeros(self) -> tuple[int, int]:
        """Zeros before and behind: behind as many as before where the last window does not reach the further ones."""
        before, behind = self.pads
        return (before, before) if before > behind and self._fits(self.extent, before) else self.pads

    def _fits(self, stored: int, zeros: int) -> bool:
        """Whether so many zeros on both sides make as many windows."""
        return stored >= 1 and (stored + 2 * zeros - self.reach) // self.stride + 1 == self.out


@dataclass(frozen=True)
class ForeignWindow:
    """A convolution, or with ``out_channels`` and ``groups`` = the channels a pooling. Pairs are (height, width)."""

    image: ForeignOperand
    batch: int
    groups: int
    channels: int  # of a group
    filters: int  # of a group
    height: WindowAxis
    width: WindowAxis

    @property
    def out_channels(self) -> int:
        """Channels of the result."""
        return self.groups * self.filters

    @property
    def input_shape(self) -> tuple[int, ...]:
        """n, c, h, w of the image as it is stored."""
        return self.batch, self.groups * self.channels, self.height.extent, self.width.extent

    @property
    def output_shape(self) -> tuple[int, ...]:
        """n, c, h, w of the result."""
        return self.batch, self.out_channels, self.height.out, self.width.out

    @property
    def kernel(self) -> tuple[int, int]:
        """Taps."""
        return self.height.taps, self.width.taps

    @property
    def stride(self) -> tuple[int, int]:
        """Steps between windows."""
        return self.height.stride, self.width.stride

    @property
    def dilation(self) -> tuple[int, int]:
        """Steps between taps."""
        return self.height.dilation, self.width.dilation

    @property
    def pad(self) -> tuple[int, ...]:
        """Zeros: of height and width where both sides have as many, else top, left, bottom, right."""
        (top, bottom), (left, right) = self.height.zeros, self.width.zeros
        return (top, left) if (top, left) == (bottom, right) else (top, left, bottom, right)


def windowed(task: ForeignLayer) -> ForeignWindow:
    """The convolution or pooling of a task. Raises Refusal with the reason where it is neither."""
    image = _image(task)
    filters = next((access for access in task.operands if access is not image), None)
    taken = filters.dims if filters is not None else frozenset[str]()
    axes = [_axis(task, terms, taken) for terms in image.coordinates if len(terms) > 1]
    if len(axes) > AXES:
        raise LayerRefusal(f"windows along {len(axes)} axes; archsim has convolutions of two")
    axes = [WindowAxis(1, 1, 1, 1, (0, 0)) for _ in range(AXES - len(axes))] + axes
    alone = {terms[0][0]: terms[0][1] for terms in image.coordinates if len(terms) == 1}
    if any(step != 1 for step in alone.values()):
        raise LayerRefusal("a step over values that are left out, without a window")
    moved = {dim for terms in image.coordinates if len(terms) > 1 for dim, _ in terms}
    kinds = _kinds(task, set(alone), taken - moved, moved)
    sizes = {kind: prod(task.extents[dim] for dim in dims) for kind, dims in kinds.items()}
    groups, channels, filters_each = sizes["groups"], sizes["channels"], sizes["filters"]
    batch = sizes["batch"]
    if task.kind == "pool":
        groups, batch = batch * groups, 1
    return ForeignWindow(image, batch, groups, channels, filters_each, *axes)


def _image(task: ForeignLayer) -> ForeignOperand:
    found = [access for access in task.operands if any(len(terms) > 1 for terms in access.coordinates)]
    if len(found) != 1 or len(task.operands) > AXES:
        raise LayerRefusal("windows over more than one operand")
    return found[0]


def _axis(task: ForeignLayer, terms: ForeignCoordinate, taken: Iterable[str]) -> WindowAxis:
    """Of the two dims of a window the one of the result counts the windows, the other one the taps."""
    if len(terms) != AXES:
        raise LayerRefusal(f"an index that is a sum of {len(terms)} dims; archsim's windows are sums of two")
    outs = [term for term in terms if term[0] in task.result.dims]
    taps = [term for term in terms if term[0] not in task.result.dims]
    if len(outs) != 1 or len(taps) != 1 or (task.kind != "pool" and taps[0][0] not in set(taken)):
        raise LayerRefusal("a window whose dims are not one of the result and one of the filter")
    (out, stride), (tap, dilation) = outs[0], taps[0]
    axis = WindowAxis(task.extents[out], task.extents[tap], stride, dilation, task.padding.get(out, (0, 0)))
    if axis.extent < 1 or sum(axis.pads) >= axis.whole:
        raise LayerRefusal(f"padding {list(axis.pads)} that leaves nothing of the {axis.whole} values of an axis")
    return axis


def _kinds(task: ForeignLayer, image: set[str], filters: Iterable[str], moved: set[str]) -> Mapping[str, list[str]]:
    """The dims beside the windows by the operands that they index. Raises Refusal for one of another kind."""
    found: dict[str, list[str]] = {"batch": [], "groups": [], "channels": [], "filters": []}
    weights = set(filters)
    for dim in task.extents:
        if dim in moved:
            continue
        key = (dim in image, dim in weights, dim in task.result.dims)
        kind = _KINDS.get(key)
        if kind is None and task.extents[dim] == 1:
            continue
        if kind is None:
            raise LayerRefusal(f"dim '{dim}' of extent {task.extents[dim]}, which no convolution has at this place")
        found[kind].append(dim)
    return found


_KINDS: Mapping[tuple[bool, bool, bool], str] = {  # indexes image, filters, result
    (True, False, True): "batch",
    (True, True, True): "groups",
    (True, True, False): "channels",
    (False, True, True): "filters",
}
