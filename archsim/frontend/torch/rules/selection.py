"""The largest and smallest elements of rows, and where they are."""

from __future__ import annotations

from archsim.frontend.torch.bound import BoundCall


def top(call: BoundCall) -> tuple[str, ...]:
    """The k largest or smallest of an axis, from the first on, with their places."""
    return _ordered(call, call.integer("k"), call.flag("largest", True))


def ordered(call: BoundCall) -> tuple[str, ...]:
    """All of an axis in order: as the choice of as many as there are."""
    source = call.tensor("self")
    shape = call.size(source)
    count = shape[call.axis("dim", len(shape), -1)] if shape else 1
    found = _ordered(call, count, call.flag("descending"), (False, True) if call.name == "argsort" else None)
    return found[1:] if call.name == "argsort" else found


def _ordered(call: BoundCall, count: int, largest: bool, wanted: tuple[bool, bool] | None = None) -> tuple[str, ...]:
    source = call.tensor("self")
    shape = call.size(source)
    row = call.reshaped(source, shape or (1,), "row")
    values, places = wanted or (call.wanted(0), call.wanted(1))
    kinds = [call.value(source).dtype if values else "", "int64" if places or not values else ""]
    axis = call.axis("dim", len(shape), -1)
    found = call.add_kinds("TopK", kinds, row, call.integers_value("count", (count,)), axis=axis, largest=int(largest))
    return tuple(call.reshaped(name, call.shape, "element") if name and not shape else name for name in found)


def place(call: BoundCall) -> str:
    """Where the largest or smallest element of an axis is, the first of equal ones; of all elements where no axis is
    given."""
    source = call.tensor("self")
    shape = call.size(source)
    op = "ArgMax" if call.name.startswith("argmax") else "ArgMin"
    if call.plain("dim") is None:
        row = call.reshaped(source, (call.value(source).elements,), "row")
        return call.reshaped(call.add(op, row, axis=0, keepdims=0), call.shape, "place")
    return call.add(op, source, axis=call.axis("dim", len(shape)), keepdims=int(call.flag("keepdim")))


RULES = {
    "topk": top,
    "sort": ordered,
    "argsort": ordered,
    "argmax": place,
    "argmin": place,
}
