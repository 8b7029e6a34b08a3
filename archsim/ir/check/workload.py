"""The Workload checker: tensors are known and written once before they are read, indices fit, dims have their parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod

from archsim.base.errors import ConfigError, ModelError, nearest
from archsim.facts.number_formats import element_format
from archsim.ir.check.ragged import check_bounds, check_ragged
from archsim.ir.composites import KINDS, Composite
from archsim.ir.workload import Axis, Layer, Operand, Rows, Tensor, View, Workload

ROLES = ("inputs", "weights", "outputs", "tables", "kv")
OUTPUT = "out"  # the name of every layer's output operand
MOST_INDEX = 2**40  # up to which an index may reach on either side; offsets in bytes are counted in 64 bits


def check_workload(workload: Workload) -> None:
    """Accept ``workload`` or raise ModelError naming the layer or tensor and what can be done."""
    if workload.batch < 1:
        raise ModelError(f"workload '{workload.name}': batch {workload.batch}; allowed 1 or more")
    for name, tensor in workload.tensors.items():
        _check_tensor(name, tensor, workload)
    names = Counter(layer.name for layer in workload.layers)
    for layer in workload.layers:
        if names[layer.name] > 1:
            raise ModelError(f"layer '{layer.name}' is there twice; every layer has a name of its own")
        _check_dims(layer)
        for operand in (*layer.inputs, layer.output):
            _check_operand(layer, operand, workload)
        _check_parts(layer)
        check_bounds(layer)
    _check_order(workload)
    check_ragged(workload)
    _check_composites(workload, {name: at for at, name in enumerate(names)})


def _check_tensor(name: str, tensor: Tensor, workload: Workload) -> None:
    if name != tensor.name:
        raise ModelError(f"tensor '{tensor.name}' is listed as '{name}'; both names must be the same")
    if min(tensor.shape, default=1) < 1:
        raise ModelError(f"tensor '{name}' has shape {list(tensor.shape)}; allowed extents of 1 or more")
    if tensor.logical and sorted(tensor.logical) != list(range(len(tensor.shape))):
        raise ModelError(
            f"tensor '{name}': logical {list(tensor.logical)} does not permute its {len(tensor.shape)} axes"
        )
    if tensor.view is not None:
        _check_view(tensor, tensor.view, workload)
    _check_state(tensor, workload)
    if tensor.format:
        _check_format(tensor)


def _check_format(tensor: Tensor) -> None:
    """Weights state formats, which their views share; the text is the one way to write a format."""
    name = tensor.name
    if tensor.kind != "weight" or tensor.view is not None:
        what = "a view" if tensor.view is not None else f"of kind {tensor.kind}"
        raise ModelError(f"tensor '{name}' is {what} and states format '{tensor.format}'; allowed for weights")
    try:
        stated = element_format(tensor.format)
    except ConfigError as error:
        raise ModelError(f"tensor '{name}': {error}") from None
    if str(stated) != tensor.format:
        raise ModelError(f"tensor '{name}': format '{tensor.format}'; write '{stated}'")
    if not tensor.shape and not stated.is_plain:
        raise ModelError(f"tensor '{name}' has no axis along which '{tensor.format}' is packed")


def _check_state(tensor: Tensor, workload: Workload) -> None:
    """A state says which rows are there; views of it are states too, and no other tensor is."""
    name, rows = tensor.name, tensor.state
    if tensor.view is not None:
        kinds = {tensor.kind, workload.tensors[tensor.view.base].kind}
        if rows is not None or (len(kinds) > 1 and "state" in kinds):
            raise ModelError(
                f"tensor '{name}' is a view of '{tensor.view.base}'; allowed kind state where that is one, without rows"
            )
        return
    if (rows is not None) != (tensor.kind == "state"):
        raise ModelError(
            f"tensor '{name}' is of kind {tensor.kind}; allowed 'axis A past N' of kind state, and there only"
        )
    if rows is not None and not 0 <= rows.axis < len(tensor.shape):
        raise ModelError(f"tensor '{name}': its rows follow along axis {rows.axis} of {len(tensor.shape)}")
    if rows is not None and not 0 <= rows.past <= tensor.shape[rows.axis]:
        raise ModelError(f"tensor '{name}': {rows.past} rows are there; allowed 0 to {tensor.shape[rows.axis]}")


def _check_view(tensor: Tensor, view: View, workload: Workload) -> None:
    name = tensor.name
    base = workload.tensors.get(view.base)
    if base is None or base.view is not None:
        what = "is a view itself" if base is not None else f"is not a tensor{nearest(view.base, workload.tensors)}"
        raise ModelError(f"tensor '{name}' is a view of '{view.base}', which {what}")
    if len(view.strides) != len(tensor.shape) or min(view.strides, default=0) < 0 or view.offset < 0:
        raise ModelError(f"tensor '{name}': a view needs an offset of 0 or more and one stride for each axis")
    last = view.offset + sum((n - 1) * s for n, s in zip(tensor.shape, view.strides, strict=True))
    if last >= base.elements:
        raise ModelError(f"tensor '{name}' reaches element {last} of '{view.base}', which has {base.elements}")


def _check_dims(layer: Layer) -> None:
    where = f"layer '{layer.name}' ({layer.op})"
    for dim, extent in layer.dims.items():
        if extent < 1:
            raise ModelError(f"{where}: dim '{dim}' of {extent}; allowed 1 or more")
    for dim in layer.whole:
        if dim not in layer.dims:
            raise ModelError(f"{where}: whole dim '{dim}' is not one of {', '.join(layer.dims)}")
    if layer.kind == "matmul":
        parts = [*layer.m, *layer.n, *layer.k, *layer.batch]
        if sorted(parts) != sorted(layer.dims):
            raise ModelError(f"{where}: its parts name ({', '.join(parts)}), its dims are ({', '.join(layer.dims)})")
    if any(step.passes < 0 for step in layer.steps):
        raise ModelError(f"{where}: a step with fewer than 0 passes")


def _check_operand(layer: Layer, operand: Operand, workload: Workload) -> None:
    where = f"layer '{layer.name}' ({layer.op}): operand '{operand.name}'"
    tensor = workload.tensors.get(operand.tensor)
    if tensor is None:
        raise ModelError(f"{where}: no tensor '{operand.tensor}'{nearest(operand.tensor, workload.tensors)}")
    if operand.role not in ROLES:
        raise ModelError(f"{where}: role '{operand.role}'; allowed {', '.join(ROLES)}{nearest(operand.role, ROLES)}")
    if layer.kind != "host":
        _check_axes(layer, operand, tensor, where)
    if operand.rows is not None:
        _check_rows(layer, operand, tensor, operand.rows, where)


def _check_axes(layer: Layer, operand: Operand, tensor: Tensor, where: str) -> None:
    """Indices name dims; those of the output stay inside (inputs are 0 outside, all of them if need be)."""
    if len(operand.axes) != len(tensor.shape):
        raise ModelError(f"{where} gives {len(operand.axes)} indices to '{operand.tensor}' of {len(tensor.shape)} axes")
    for number, (axis, extent) in enumerate(zip(operand.axes, tensor.shape, strict=True)):
        for dim, _ in axis.terms:
            if dim not in layer.dims:
                raise ModelError(
                    f"{where}: no dim '{dim}'{nearest(dim, layer.dims)}; there are: {', '.join(layer.dims)}"
                )
        low, high = _reach(axis, layer)
        if low <= -MOST_INDEX or high >= MOST_INDEX:
            raise ModelError(
                f"{where}: axis {number} of '{operand.tensor}' is indexed {low} to {high}; allowed within 2^40"
            )
        if operand is layer.output and (low < 0 or high >= extent):
            raise ModelError(
                f"{where}: axis {number} of '{operand.tensor}' is indexed {low} to {high}; it has 0 to {extent - 1}"
            )


def _check_rows(layer: Layer, operand: Operand, tensor: Tensor, rows: Rows, where: str) -> None:
    """Inputs of vector and copy layers look rows up; the entries and the rows that a trace names are there."""
    if operand is layer.output or layer.kind not in ("vector", "copy"):
        raise ModelError(f"{where} looks rows up; allowed for inputs of vector and copy layers")
    if not 0 <= rows.axis < len(operand.axes):
        raise ModelError(f"{where} looks rows up along axis {rows.axis} of {len(operand.axes)}")
    low, high = _reach(operand.axes[rows.axis], layer)
    trace, count = rows.indices.trace, tensor.shape[rows.axis]
    if low < 0 or (rows.indices.kind == "trace" and high >= len(trace)):
        raise ModelError(f"{where} asks for entries {low} to {high} of its indices; a trace has {len(trace)}")
    if any(not 0 <= row < count for row in trace):
        raise ModelError(f"{where}: its trace names a row outside 0 to {count - 1}")
    others = {dim for number, axis in enumerate(operand.axes) for dim, _ in axis.terms if number != rows.axis}
    shared = [dim for dim, _ in operand.axes[rows.axis].terms if dim in others]
    if shared:
        raise ModelError(
            f"{where}: dim '{shared[0]}' counts its look-ups and moves inside its rows; allowed one of both"
        )


def _reach(axis: Axis, layer: Layer) -> tuple[int, int]:
    """Lowest and highest index."""
    ends = [coefficient * (layer.dims[dim] - 1) for dim, coefficient in axis.terms]
    return axis.offset + sum(min(end, 0) for end in ends), axis.offset + sum(max(end, 0) for end in ends)


def _check_parts(layer: Layer) -> None:
    """Operands are named once, the output as every layer's; a matmul has a and b."""
    names = [operand.name for operand in layer.inputs]
    if len(set(names)) < len(names):
        raise ModelError(f"layer '{layer.name}' ({layer.op}) has two operands of one name: {', '.join(names)}")
    if layer.output.name != OUTPUT:
        raise ModelError(
            f"layer '{layer.name}' ({layer.op}) calls its output operand '{layer.output.name}'; allowed '{OUTPUT}'"
        )
    missing = [name for name in ("a", "b") if name not in names]
    if layer.kind == "matmul" and missing:
        raise ModelError(f"layer '{layer.name}' ({layer.op}) is a matmul without operand '{missing[0]}'")


def _check_composites(workload: Workload, layers: Mapping[str, int]) -> None:
    """Each has a name of its own and layers of its own, in their order."""
    taken, names = set[str](), set(layers)
    for each in workload.composites:
        where = f"composite '{each.name}'"
        if each.name in names:
            raise ModelError(f"{where}: its name is that of a layer or another composite; allowed one of its own")
        names.add(each.name)
        if each.kind not in KINDS:
            raise ModelError(f"{where}: kind '{each.kind}'; allowed {', '.join(KINDS)}{nearest(each.kind, KINDS)}")
        _check_members(each, layers, taken)


def _check_members(composite: Composite, layers: Mapping[str, int], taken: set[str]) -> None:
    where = f"composite '{composite.name}'"
    unknown = next((name for name in composite.members if name not in layers), None)
    if unknown is not None or not composite.members:
        what = f"'{unknown}'{nearest(unknown, layers)}" if unknown is not None else "nothing"
        raise ModelError(f"{where}: names {what}; allowed one layer of the workload or more")
    if sorted(set(composite.members), key=layers.__getitem__) != list(composite.members):
        raise ModelError(f"{where}: its layers stand in another order than they run in, or twice")
    for name in composite.members:
        if name in taken:
            raise ModelError(f"{where}: layer '{name}' is in another composite too")
        taken.add(name)


def _check_order(workload: Workload) -> None:
    """An activation is written before it is read; inputs and weights are never written, nor are rows of before."""
    written: set[str] = set()
    there = {name: tensor.state.past for name, tensor in workload.tensors.items() if tensor.state is not None}
    for layer in workload.layers:
        _check_rows_there(workload, layer, there)
        for operand in layer.inputs:
            home = _home(workload, operand.tensor)
            if home.kind in ("activation", "output") and home.name not in written:
                raise ModelError(
                    f"layer '{layer.name}' ({layer.op}) reads '{operand.tensor}', which no earlier layer writes"
                )
        home = _home(workload, layer.output.tensor)
        if home.kind in ("input", "weight"):
            raise ModelError(f"layer '{layer.name}' ({layer.op}) writes '{home.name}', which is an {home.kind}")
        written.add(home.name)


def _check_rows_there(workload: Workload, layer: Layer, there: dict[str, int]) -> None:
    """Rows of a state are read where they are ``there`` already; new ones are written behind those of before."""
    where = f"layer '{layer.name}' ({layer.op})"
    for operand in (*layer.inputs, layer.output):
        state = _home(workload, operand.tensor)
        if state.state is None:
            continue
        low, high = _rows_reached(workload.tensors[operand.tensor], state, state.state.axis)
        if operand is layer.output and low < state.state.past:
            raise ModelError(
                f"{where} writes row {low} of '{state.name}', of which {state.state.past} are there; allowed new rows"
            )
        if operand is layer.output:
            there[state.name] = max(there[state.name], high + 1)
        elif high >= there[state.name]:
            raise ModelError(
                f"{where} reads row {high} of '{state.name}', which has {there[state.name]} by then; append it before"
            )


def _rows_reached(tensor: Tensor, state: Tensor, axis: int) -> tuple[int, int]:
    """First and last row along ``axis`` of a state that a tensor, it or a view of it, has elements of."""
    if tensor.view is None:
        return 0, state.shape[axis] - 1
    row = prod(state.shape[axis + 1 :])
    whole = row * state.shape[axis]
    steps = [(n - 1) * stride for n, stride in zip(tensor.shape, tensor.view.strides, strict=True) if stride < whole]
    first = tensor.view.offset % whole
    return first // row, (first + sum(steps)) // row


def _home(workload: Workload, name: str) -> Tensor:
    """The tensor whose elements ``name`` stands for."""
    tensor = workload.tensors[name]
    return workload.tensors[tensor.view.base] if tensor.view is not None else tensor
