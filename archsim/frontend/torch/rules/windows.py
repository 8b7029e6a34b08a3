"""Pools and enlargements of images."""

from __future__ import annotations

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
    **dict.fromkeys(("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"), nearest),
}
