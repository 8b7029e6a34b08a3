"""Normalisations, softmax and reductions along axes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import GraphValue, Shape

_REDUCTIONS = {
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "max": "ReduceMax",
    "mean": "ReduceMean",
    "min": "ReduceMin",
    "prod": "ReduceProd",
    "sum": "ReduceSum",
}
_NORMS = {1.0: "ReduceL1", 2.0: "ReduceL2"}
_EPSILONS: Mapping[str, float] = {  # the distance from 1 to the next number, which rms_norm adds by default
    "bfloat16": 2.0**-7,
    "float16": 2.0**-10,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
}


def batch_norm(call: BoundCall) -> str:
    """By stored means and variances; by those of the batch it is training, and refused."""
    training = call.flag("training") and "no_training" not in call.name
    mean, variance = (call.optional(key) for key in ("running_mean", "running_var"))
    if training or not mean or not variance:
        call.refuse("takes mean and variance of the batch; call eval() on the module before it is exported")
    source = call.tensor("input")
    channels = call.size(mean)
    scale = call.optional("weight") or _filled(call, "scale", channels, 1.0)
    shift = call.optional("bias") or _filled(call, "shift", channels, 0.0)
    return call.add("BatchNormalization", source, scale, shift, mean, variance, epsilon=call.number("eps", 1e-5))


def layer_norm(call: BoundCall) -> str:
    """Over the last axes."""
    shape = call.integers("normalized_shape")
    scale = call.optional("weight") or _filled(call, "scale", shape, 1.0)
    bias = call.optional("bias")
    inputs = [call.tensor("input"), scale, *([bias] if bias else [])]
    return call.add("LayerNormalization", *inputs, axis=-len(shape), epsilon=call.number("eps", 1e-5))


def rms_norm(call: BoundCall) -> str:
    """By the root of the mean square, over the last axes."""
    shape, source = call.integers("normalized_shape"), call.tensor("input")
    scale = call.optional("weight") or _filled(call, "scale", shape, 1.0)
    epsilon = call.number("eps", _EPSILONS.get(call.value(source).dtype, 0.0))
    return call.add("RMSNormalization", source, scale, axis=-len(shape), epsilon=epsilon)


def group_norm(call: BoundCall) -> str:
    """Each group of channels, then scale and bias of each channel."""
    source, groups = (
        call.tensor("input"),
        call.integer("num_groups" if "num_groups" in call.call.arguments else "group"),
    )
    shape = call.size(source)
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        call.refuse(f"{groups} groups of shape {list(shape)}")
    wide = call.reshaped(source, (*shape, 1), "wide") if len(shape) == 2 else source
    scale = call.optional("weight") or _filled(call, "scale", (shape[1] if call.optional("bias") else groups,), 1.0)
    shift = call.optional("bias") or _filled(call, "shift", call.size(scale), 0.0)
    found = call.add("GroupNormalization", wide, scale, shift, num_groups=groups, epsilon=call.number("eps", 1e-5))
    return call.reshaped(found, shape, "channels")


def instance_norm(call: BoundCall) -> str:
    """Each channel of each sample by its own mean and variance."""
    source = call.tensor("input")
    if not call.flag("use_input_stats", True):
        return batch_norm(call)
    channels = (call.size(source)[1],)
    scale = call.optional("weight") or _filled(call, "scale", channels, 1.0)
    shift = call.optional("bias") or _filled(call, "shift", channels, 0.0)
    return call.add("InstanceNormalization", source, scale, shift, epsilon=call.number("eps", 1e-5))


def _filled(call: BoundCall, part: str, shape: Shape, number: float) -> str:
    """What stands in for weights that a layer does without."""
    name, kind = f"{call.label}.{part}", call.dtype
    if prod(shape) <= 1024:
        return call.maker.constant(name, np.full(shape, number), kind)
    return call.maker.enter(GraphValue(name, shape, "constant", kind))


def softmax(call: BoundCall) -> str:
    """Along one axis, in the type that is asked for."""
    op = "LogSoftmax" if "log" in call.name else "Softmax"
    source = call.cast(call.tensor("self"), call.dtype, "float")
    return call.add(op, source, axis=call.axis("dim", len(call.size(source)), -1))


def reduction(call: BoundCall) -> str | tuple[str, ...]:
    """Along axes, all where none are given; of a maximum or minimum where it lies too."""
    source = call.tensor("self")
    if call.is_tensor("other"):
        return call.add("Max" if call.name == "max" else "Min", source, call.tensor("other"))
    if len(call.shapes) > 1:
        found = _reduced(call, _REDUCTIONS[call.name], source)
        if not call.wanted(1):
            return (found,)
        axis, keep = call.axis("dim", len(call.size(source))), int(call.flag("keepdim"))
        op = "ArgMax" if call.name == "max" else "ArgMin"
        return (found, call.add(op, source, part="place", dtype="int64", axis=axis, keepdims=keep))
    return _reduced(call, _REDUCTIONS[call.name], call.cast(source, call.dtype, "whole"))


def norm(call: BoundCall) -> str:
    """The sum of magnitudes, or the root of that of squares."""
    order = call.number("ord", call.number("p", 2.0))
    if order not in _NORMS:
        call.refuse(f"norm of order {order}; allowed 1 and 2")
    return _reduced(call, _NORMS[order], call.tensor("self"))


def running(call: BoundCall) -> str:
    """Sums of all elements of an axis up to each."""
    source = call.cast(call.tensor("self"), call.dtype, "terms")
    rank = len(call.size(source))
    axis = call.maker.constant(f"{call.label}.axis", call.axis("dim", rank), "int64")
    return call.add("CumSum", source, axis) if rank else source


def _reduced(call: BoundCall, op: str, source: str) -> str:
    rank = len(call.size(source))
    if not rank:
        return source
    axes = call.integers_value("axes", call.axes("dim", rank) or tuple(range(rank)))
    return call.add(op, source, axes, keepdims=int(call.flag("keepdim")))


RULES = {
    "batch_norm": batch_norm,
    "_native_batch_norm_legit_no_training": batch_norm,
    "layer_norm": layer_norm,
    "native_layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "_fused_rms_norm": rms_norm,
    "group_norm": group_norm,
    "native_group_norm": group_norm,
    "instance_norm": instance_norm,
    "softmax": softmax,
    "_softmax": softmax,
    "log_softmax": softmax,
    "_log_softmax": softmax,
    **dict.fromkeys(_REDUCTIONS, reduction),
    "cumsum": running,
    "linalg_vector_norm": norm,
    "norm": norm,
}
