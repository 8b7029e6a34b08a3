"""Elements written at places that indices say: of constants, whose result is one."""

from __future__ import annotations

import numpy as np

from archsim.frontend.torch.bound import BoundCall
from archsim.ir.graph import Array


def put(call: BoundCall) -> str:
    """Values at places of all axes, or of the first ones."""
    stated = call.tensors("indices")
    if "" in stated:
        call.refuse("writes at places of axes that are not the first ones")
    data, values, *places = (_known(call, name) for name in (call.tensor("self"), call.tensor("values"), *stated))
    found, at = data.copy(), tuple(np.asarray(each) for each in places)
    try:
        if call.flag("accumulate"):
            np.add.at(found, at, values)
        else:
            found[at] = values
    except (IndexError, ValueError) as error:
        call.fail(f"its indices or values do not fit: {error}")
    return call.maker.constant(call.label, found, call.dtype)


def _known(call: BoundCall, name: str) -> Array:
    data = call.value(name).data
    return call.refuse("writes what is known only when the model runs") if data is None else data


RULES = {"index_put": put, "_index_put_impl": put}
