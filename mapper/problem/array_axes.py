"""An array as its dataflow sees it: its shape, which dims are spread over its axes, and constraints on that.

A dim is spread over an axis by a command of which its tile is larger than one, so one that may not be is cut to tiles
of one. A dataflow that spreads a dim which is never cut cannot obey: the array is left out, or the layer refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from archsim.base.errors import MappingError, nearest
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, FanoutSpec
from archsim.ir.workload import Layer
from archsim.spec.architecture import Array
from mapper.problem.constraints import Rules
from mapper.problem.operands import OUT
from mapper.problem.problem import nest_of, never_cut

OPERAND_OF = {"inputs": "a", "weights": "b", "partials": OUT}  # roles of the array
_STREAM = {"a": "a", "b": "b", OUT: "acc_write"}  # that an operand's fan-out spares
Spread = Mapping[str, tuple[str, ...]]  # axis -> dims


def array_shape(array: Array, inputs: str, weights: str) -> ArrayShape:
    """The array as its dataflow sees it at a dtype pair; raises ConfigError when the pair has no rate."""
    return ArrayShape(
        array.rows,
        array.cols,
        array.rate(inputs, weights),
        weight_double_buffer=array.weight_double_buffer,
        fold_overlap=array.fold_overlap,
        load_rows=array.load_rows,
        block=array.block,
    )


def shared(axis: FanoutSpec) -> frozenset[str]:
    """Operands of which the instances of an axis take one value, or make one sum."""
    return frozenset(OPERAND_OF[role] for role in (*axis["multicast"], *axis["reduce"]))


def spread(layer: Layer, dataflow: str, shape: ArrayShape) -> dict[str, tuple[str, ...]]:
    """Dims of a matmul that a dataflow lays over each axis: those that its file states, else those of which two
    indices take one fold, says ``fold`` itself. An axis of one PE has none.
    """
    flow = catalogue.get(dataflow)
    nest = nest_of(layer, dataflow)
    stated = catalogue.spread_of(dataflow, nest, shape)
    if stated is not None:
        return stated
    operands = {operand.name: operand for operand in (*layer.inputs, layer.output)}
    index = {name: {dim for axis in operand.axes for dim, _ in axis.terms} for name, operand in operands.items()}

    def together(dim: str, stream: str) -> bool:
        extents = {name: 2 if name == dim else 1 for name in layer.dims}
        return flow.fold(nest, extents, shape, accumulate=False).streams[stream].accesses == 1

    return {
        axis["axis"]: tuple(
            dim
            for dim in layer.dims
            if any(dim not in index[name] and together(dim, _STREAM[name]) for name in sorted(shared(axis)))
        )
        for axis in flow.fanouts(shape.rows, shape.cols)
    }


def obeyed(layer: Layer, rules: Rules, array: Array, dtypes: Mapping[str, str], others: tuple[str, ...]) -> Rules:
    """The rules with what ``spatial`` means for a layer on an array: dims that have tiles of one there.

    ``others``: units that may run the layer instead; they alone are left where the array cannot obey. Raises
    MappingError for axes and dims that the array does not have or spread, and where nothing is left.
    """
    shape = array_shape(array, dtypes["inputs"], dtypes["weights"])
    laid = spread(layer, array.dataflow, shape)
    for axis, allowed in rules.spatial.items():
        _check(layer, rules, array, shape, laid, axis, allowed)
    unspread = {
        dim: axis
        for axis, allowed in rules.spatial.items()
        for dim in laid[axis]
        if dim not in allowed and layer.dims[dim] > 1
    }
    _check_tiles(layer, rules, array, unspread)
    stuck = [dim for dim in unspread if dim in never_cut(layer)]
    if not stuck:
        return replace(rules, unspread=unspread)
    if others:
        return replace(rules, units=others)
    axis = unspread[stuck[0]]
    names = ", ".join(dim for dim in stuck if unspread[dim] == axis)
    raise _refused(
        layer, rules, array, axis, shape, f"of {', '.join(laid[axis])} that it spreads {names} cannot be cut"
    )


def _check(
    layer: Layer, rules: Rules, array: Array, shape: ArrayShape, laid: Spread, axis: str, allowed: tuple[str, ...]
) -> None:
    if axis not in laid:
        hint = nearest(axis, laid)
        raise MappingError(
            f"{rules.place}: layer '{layer.name}': array '{array.name}' has no axis '{axis}'{hint}; it has "
            f"{', '.join(laid)}"
        )
    never = [dim for dim in allowed if dim not in laid[axis]]
    if never:
        raise _refused(layer, rules, array, axis, shape, f"its {array.dataflow} never spreads {', '.join(never)} there")


def _check_tiles(layer: Layer, rules: Rules, array: Array, unspread: Mapping[str, str]) -> None:
    for dim, axis in unspread.items():
        if rules.tiles.get(dim, 1) != 1:
            raise MappingError(
                f"{rules.place}: layer '{layer.name}': tiles of {rules.tiles[dim]} of dim '{dim}' are spread over "
                f"{axis} of '{array.name}', which may spread {', '.join(rules.spatial[axis]) or 'nothing'}"
            )


def _refused(layer: Layer, rules: Rules, array: Array, axis: str, shape: ArrayShape, text: str) -> MappingError:
    plain = ArrayShape(shape.rows, shape.cols, shape.rate)  # options have no meaning for some
    found = {name: spread(layer, name, plain).get(axis, ()) for name in catalogue.names()}
    told = "; ".join(f"{name} {', '.join(dims) or 'nothing'}" for name, dims in found.items())
    allowed = ", ".join(rules.spatial[axis]) or "nothing"
    return MappingError(
        f"{rules.place}: layer '{layer.name}': {axis} of '{array.name}' may spread {allowed}, but {text}. Dims spread "
        f"over {axis} by dataflow: {told}"
    )
