"""Pools and enlargements of images."""

from __future__ import annotations

from math import prod

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import OperatorAttribute


def pool(call: BoundCall) -> str:
    """Maximum or mean of windows."""
    source = call.tensor("self")
    spatial = int(call.name.partition("pool")[2][0])
    kernel = call.spread("kernel_size", spatial, 1)
    strides = call.integers("stride", kernel)
    strides = strides if len(strides) == spatial else strides * spatial
    pads = call.spread("padding", spatial, 0)
    attributes: dict[str, OperatorAttribute] = {"kernel_shape": kernel, "strides": strides, "pads": pads + pads}
    attributes["ceil_mode"] = int(call.flag("ceil_mode"))
    if call.name.startswith("max"):
        attributes["dilations"] = call.spread("dilation", spatial, 1)
        return call.fitted(call.add("MaxPool", _images(call, source, spatial), attributes=attributes), "image")
    if call.plain("divisor_override") is not None:
        call.refuse("divides by a number of its own")
    attributes["count_include_pad"] = int(call.flag("count_include_pad", True))
    return call.fitted(call.add("AveragePool", _images(call, source, spatial), attributes=attributes), "image")


def pool_to(call: BoundCall) -> str:
    """Means of windows that make an image of a stated size, where these windows are equal; of one window the mean."""
    source = call.tensor("self")
    spatial = int(call.name.partition("pool")[2][0])
    size, wanted = call.size(source)[-spatial:], call.shape[-spatial:]
    if any(small < 1 or large % small for large, small in zip(size, wanted, strict=True)):
        call.refuse(f"from {list(size)} to {list(wanted)}: its windows are not equal")
    if set(wanted) == {1}:
        rank = len(call.size(source))
        return call.add(
            "ReduceMean", source, call.integers_value("axes", tuple(range(rank - spatial, rank))), keepdims=1
        )
    kernel = tuple(large // small for large, small in zip(size, wanted, strict=True))
    found = call.add("AveragePool", _images(call, source, spatial), kernel_shape=kernel, strides=kernel)
    return call.fitted(found, "image")


def _images(call: BoundCall, source: str, spatial: int) -> str:
    """With an axis of samples in front."""
    shape = call.size(source)
    if len(shape) not in (spatial + 1, spatial + 2):
        call.fail(f"pools {spatial} axes of shape {list(shape)}")
    return source if len(shape) == spatial + 2 else call.reshaped(source, (1, *shape), "sample")


def largest_to(call: BoundCall) -> str:
    """Maxima of windows that make an image of a stated size, where these windows are equal."""
    source = call.tensor("self")
    spatial = int(call.name.partition("pool")[2][0])
    size, wanted = call.size(source)[-spatial:], call.shape[-spatial:]
    if any(small < 1 or large % small for large, small in zip(size, wanted, strict=True)):
        call.refuse(f"from {list(size)} to {list(wanted)}: its windows are not equal")
    kernel = tuple(large // small for large, small in zip(size, wanted, strict=True))
    found = call.add("MaxPool", _images(call, source, spatial), kernel_shape=kernel, strides=kernel)
    return call.fitted(found, "image")


def linear(call: BoundCall) -> str:
    """Between neighbours along each axis; scales that are stated say where neighbours lie, else sizes do."""
    source = call.tensor("input" if call.is_tensor("input") else "self")
    rank, shape = len(call.size(source)), call.shape
    scales = call.plain("scale_factors")
    corners = call.flag("align_corners")
    mode = "align_corners" if corners else "pytorch_half_pixel"
    given = ["", call.integers_value("sizes", shape)]
    if isinstance(scales, tuple) and scales and not corners:
        factors = [1.0] * (rank - len(scales)) + [float(each) for each in scales if isinstance(each, int | float)]
        given = [call.maker.constant(f"{call.label}.scales", factors, "float32")]
    return call.add("Resize", source, "", *given, mode="linear", coordinate_transformation_mode=mode)


def columns(call: BoundCall) -> str:
    """Windows as columns (im2col): by rows of the padded image that each position of the window takes."""
    source = call.tensor("self")
    kernel, dilation, padding, stride = (
        call.spread(key, 2, default) for key, default in
        (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1))
    )  # fmt: skip
    *outer, channels, rows, across = call.size(source)
    found = call.reshaped(source, (prod(outer), channels, rows, across), "sample")
    if any(padding):
        sides = (0, 0, *padding, 0, 0, *padding)
        fill = call.scalar_value("fill", 0.0, call.dtype)
        found = call.add("Pad", found, call.integers_value("pads", sides), fill, part="padded")
    for axis in (2, 4):  # the second one is behind the places and positions of the first one
        at = axis // 2 - 1
        size = call.size(found)[axis]
        count = (size - dilation[at] * (kernel[at] - 1) - 1) // stride[at] + 1
        places = np.add.outer(np.arange(kernel[at]) * dilation[at], np.arange(count) * stride[at])
        taken = call.maker.constant(f"{call.label}.places{at}", places.ravel(), "int64")
        index = call.reshaped(taken, places.shape, f"places{at}.window")
        found = call.add("Gather", found, index, part=f"axis{at}", axis=axis)
    found = call.add("Transpose", found, part="columns", perm=(0, 1, 2, 4, 3, 5))
    return call.reshaped(found, call.shape)


def images(call: BoundCall) -> str:
    """Columns of windows added up where they overlap (col2im)."""
    kernel, dilation, padding, stride = (
        call.spread(key, 2, default) for key, default in
        (("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1))
    )  # fmt: skip
    source = call.tensor("self")
    shape = call.size(source)
    source = call.reshaped(source, (1, *shape), "sample") if len(shape) == 2 else source
    sizes = [call.integers_value(key, numbers) for key, numbers in
             (("image", call.spread("output_size", 2, 1)), ("window", kernel))]  # fmt: skip
    found = call.add("Col2Im", source, *sizes, dilations=dilation, pads=(*padding, *padding), strides=stride)
    return call.fitted(found, "image")


def nearest(call: BoundCall) -> str:
    """Each element several times; the shape of the result is that which the program states."""
    sizes = call.integers_value("sizes", call.shape)
    return call.add(
        "Resize",
        call.tensor("input" if call.is_tensor("input") else "self"),
        "",
        "",
        sizes,
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


RULES = {
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"), pool),
    **dict.fromkeys(
        ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d"), pool_to
    ),
    **dict.fromkeys(("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"), largest_to),
    **dict.fromkeys(("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices"), pool),
    **dict.fromkeys(("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"), linear),
    "im2col": columns,
    "col2im": images,
    **dict.fromkeys(("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"), nearest),
}
