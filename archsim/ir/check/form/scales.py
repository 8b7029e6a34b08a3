"""Whether a command's numbers fit: scales of what it reads and writes, operands and extents that its functions name."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.base.errors import ModelError, ProgramError
from archsim.base.ragged import Items, alike
from archsim.facts.dataflows.fold import check_windows
from archsim.ir.check.form.commands import MOVES
from archsim.ir.check.form.declarations import known_name
from archsim.ir.columns import ProgramColumns, numbered
from archsim.ir.dtypes import element_range
from archsim.ir.inside import guarded_operand
from archsim.ir.program import Command, MatmulNest, PlacedTensor, Ring

StoresByName = Mapping[str, PlacedTensor | Ring]
_FACTORS = {"MATMUL": ("a", "b", "acc"), "VECTOR": ("in0", "in1", "out")}  # of what accumulates: factors, sum


def check_numbers(columns: ProgramColumns) -> None:
    """Raise ProgramError for the first command whose numbers do not fit its operands."""
    stores = {item.name: item for item in columns.items}
    kinds = numbered([(item.dtype, item.scale, item.zero) for item in columns.items])
    first, _ = alike([columns.shape[1]], [Items(columns.operands, [kinds[columns.store]])])
    for number in first.tolist():
        command = columns.commands[number]
        if command.op != "SYNC" or command.extents:
            _check_command(command, stores, f"{command.name} of {columns.program.queues[columns.queue[number]].name}")


def _check_command(command: Command, stores: StoresByName, what: str) -> None:
    _check_extents(command, what)
    _check_guards(command, what)
    if command.op in MOVES:
        _check_move(command, stores, what)
    elif command.op == "MATMUL" or command.function == "mac":
        _check_product(command, stores, what)
        _check_nest(command, what)
    elif command.op == "VECTOR":
        _check_functions(command, what)


def _check_extents(command: Command, what: str) -> None:
    """An extent is there for an operand (a stride of 0 broadcasts); else the same work would be done several times."""
    moving = {dim for region in (*command.reads, *command.writes) for dim, _ in region.strides}
    for extent in command.extents:
        if extent.size > 1 and extent.dim not in moving:
            raise ProgramError(f"{what}: extent '{extent.dim}' of {extent.size} moves no operand; allowed 1")


def _check_move(command: Command, stores: StoresByName, what: str) -> None:
    """A move carries elements as they are, and fills with what they can hold."""
    for target in command.writes:
        low, high = element_range(stores[target.store].dtype)
        if not low <= command.fill + stores[target.store].zero <= high:
            raise ProgramError(f"{what} fills with {command.fill}; '{target.store}' holds {low} to {high}")
    for source in command.reads:
        for target in command.writes:
            first, second = stores[source.store], stores[target.store]
            if first.dtype != second.dtype:
                raise ProgramError(
                    f"{what} moves elements of dtype {first.dtype} to '{second.name}' of dtype {second.dtype}; a move "
                    "changes none, a VECTOR can"
                )
            if (first.scale, first.zero) != (second.scale, second.zero):
                raise ProgramError(
                    f"{what} moves elements of scale {first.scale:g} and zero {first.zero} to '{second.name}' of scale "
                    f"{second.scale:g} and zero {second.zero}; a move changes none, a VECTOR can"
                )


def _check_product(command: Command, stores: StoresByName, what: str) -> None:
    regions = {region.operand: region for region in (*command.reads, *command.writes)}
    first, second, total = (regions.get(name) for name in _FACTORS[command.op])
    if first is None or second is None or total is None:
        raise ProgramError(f"{what} multiplies and needs operands {', '.join(_FACTORS[command.op])}")
    product = stores[first.store].scale * stores[second.store].scale
    out = stores[total.store]
    if out.scale != product or out.zero:
        raise ProgramError(
            f"{what} adds up products of scale {product:g} in '{out.name}' of scale {out.scale:g} and zero {out.zero}; "
            "they have the product's scale and zero 0"
        )


def _check_nest(command: Command, what: str) -> None:
    """Rows do not move b, columns do not move a, reductions do not move the accumulator."""
    if command.nest is None:
        return
    regions = {region.operand: region for region in (*command.reads, *command.writes)}
    nest = command.nest
    for part, dims, operand in (("rows (m)", nest.m, "b"), ("columns (n)", nest.n, "a"), ("sums (k)", nest.k, "acc")):
        for dim, stride in regions[operand].strides if operand in regions else ():
            if dim in dims and stride:
                raise ProgramError(f"{what}: extent '{dim}' of the {part} of its nest moves operand '{operand}'")
    if nest.windows:
        _check_windows(command, nest, what)


def _check_windows(command: Command, nest: MatmulNest, what: str) -> None:
    """Points of a window that are said to read one input read the same bytes of ``a``, and no others do.

    What lies between the bytes does not matter: windows that do not overlap may lie closer together in a slot.
    """
    try:
        check_windows(nest.windows, nest.m, nest.k)
    except ModelError as error:
        raise ProgramError(f"{what}: {error}") from None
    bytes_of = {dim: stride for region in command.reads if region.operand == "a" for dim, stride in region.strides}
    sizes = {extent.dim: extent.size for extent in command.extents}
    for window in nest.windows:
        outputs, taps = sizes[window.output], sizes[window.tap]
        if min(outputs, taps) == 1:
            continue
        steps = bytes_of.get(window.output, 0), bytes_of.get(window.tap, 0)
        alike = min(steps) > 0 and window._replace(stride=steps[0], dilation=steps[1])
        pairs = outputs * taps
        if not alike or (
            alike.pace != window.pace and min(alike.distinct(outputs, taps), window.distinct(outputs, taps)) < pairs
        ):
            raise ProgramError(
                f"{what}: its nest has a window {window.stride}*{window.output}+{window.dilation}*{window.tap}, but "
                f"its operand 'a' moves by {steps[0]} bytes along '{window.output}' and {steps[1]} along "
                f"'{window.tap}'; allowed the same steps, in bytes"
            )


def _check_functions(command: Command, what: str) -> None:
    dims = [extent.dim for extent in command.extents]
    operands = [region.operand for region in command.reads]
    for function in command.functions:
        for operand in function.operands:
            if isinstance(operand, str):
                known_name(operand, operands, f"{what}: function '{function.name}' takes an operand that is not read,")
        for key, value in function.parameters:
            for dim in value if isinstance(value, tuple) else ():
                known_name(dim, dims, f"{what}: '{key}' of function '{function.name}' names an unknown extent")


def _check_guards(command: Command, what: str) -> None:
    dims = [extent.dim for extent in command.extents]
    for guard in command.guards:
        for dim, _ in guard.terms:
            known_name(dim, dims, f"{what}: a guard names an unknown extent")
        if guard.length < 1:
            raise ProgramError(f"{what}: a guard admits {guard.length} indices; allowed 1 or more")
        if command.op == "MATMUL" and guarded_operand(command, guard) is None:
            raise ProgramError(f"{what}: a guard ties extents that no operand has together; allowed those of one")
