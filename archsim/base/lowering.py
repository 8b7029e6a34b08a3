"""Intermediate code of parts, made as Numba makes it, with less work for what is on every line.

Numba looks up what makes the code of an operation at each of its places, writes out for a listing, which nobody sees,
what it makes code of, with the types of all arguments, and takes an item of an array by way of a copy of the array's
description in memory. Here an operation is looked up once (``archsim.base.signatures``), nothing is written out, and an
item is where the description says that it is. What is not treated here Numba makes itself.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, ir, types
from numba.core.errors import LoweringError
from numba.core.lowering import Lower, _lit_or_omitted
from numba.np import arrayobj

from archsim.base.calling import goes_whole
from archsim.base.signatures import Maker, maker
from archsim.base.variables import of_one_value


class PartLower(Lower):
    """Makes the intermediate code of one function."""

    def _find_singly_assigned_variable(self) -> None:
        self._counts = self.context.enable_nrt or self._disable_sroa_like_opt
        if self._counts:
            super()._find_singly_assigned_variable()
            return
        self._singly_assigned_vars = of_one_value(self.blocks)
        self._blk_local_varmap: dict[str, Any] = {}

    def lower_block(self, block: Any) -> None:
        """All instructions of a block."""
        self.pre_block(block)
        for each in block.body:
            self.loc = each.loc
            self.lower_inst(each)
        self.post_block(block)

    def lower_inst(self, inst: Any) -> None:
        """One instruction."""
        match inst:
            case ir.Assign():
                name = inst.target.name
                argument = inst.value.index + 1 if isinstance(inst.value, ir.Arg) else None
                self.storevar(self.lower_assign(self.typeof(name), inst), name, argument)
            case ir.Del():
                self.delvar(inst.value)
            case ir.SetItem():
                self.lower_setitem(inst.target, inst.index, inst.value, self.fndesc.calltypes[inst])
            case ir.StaticSetItem() if self._is_item(inst.target, self.fndesc.calltypes[inst], inst.index):
                self.lower_setitem(inst.target, inst.index_var, inst.value, self.fndesc.calltypes[inst])
            case _:
                super().lower_inst(inst)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Give a variable its value; what it held needs no care where nothing is counted."""
        if self._counts:
            super().storevar(value, name, argidx)
        elif name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """A variable is not read again."""
        if self._counts:
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def lower_call(self, resty: Any, expr: Any) -> Any:
        """A call."""
        signature = self.fndesc.calltypes[expr]
        kind = self.typeof(expr.func.name)
        known = isinstance(kind, (types.Dispatcher, types.Function)) and expr.target is None
        if not known or isinstance(signature.return_type, types.Phantom):
            return super().lower_call(resty, expr)
        values = self.fold_call_args(kind, signature, expr.args, expr.vararg, expr.kws)
        found: Any = self.context.get_function(kind, signature)
        if isinstance(kind, types.Function) and any(map(goes_whole, signature.args)) and getattr(found, "libs", None):
            raise LoweringError(f"{kind} cannot be given a tuple of arrays at {self.loc}")
        made = found(self.builder, values, self.loc)
        if made is None:
            made = self.context.get_dummy_value()
        return self.context.cast(self.builder, made, signature.return_type, resty)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """An operation on two values, of which either may be a constant that its code depends on."""
        names = expr.lhs.name, expr.rhs.name
        signature = self.fndesc.calltypes[expr]
        kinds = self.typeof(names[0]), self.typeof(names[1])
        values = [
            self.context.cast(self.builder, self.loadvar(name), kind, wanted)
            for name, kind, wanted in zip(names, kinds, signature.args, strict=True)
        ]
        constants = expr.static_lhs, expr.static_rhs
        for fixed in ((True, True), (True, False), (False, True)):
            if any(each and constant is ir.UNDEFINED for each, constant in zip(fixed, constants, strict=True)):
                continue
            asked = tuple(
                _lit_or_omitted(constant) if each else kind
                for each, constant, kind in zip(fixed, constants, kinds, strict=True)
            )
            found = maker(self.context, op, asked)
            if found is None:
                continue
            given = [constants[at] if fixed[at] else values[at] for at in range(2)]
            try:
                made = found(self, given)
            except NotImplementedError:
                continue
            return self.context.cast(self.builder, made, signature.return_type, resty)
        made = self._known(op, signature.args)(self, values)
        return self.context.cast(self.builder, made, signature.return_type, resty)

    def _known(self, function: Any, kinds: Any) -> Maker:
        """What makes the code of a function that has been typed."""
        found = maker(self.context, function, tuple(kinds))
        if found is None:
            raise NotImplementedError(f"no code of {function} for {kinds}")
        return found

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """A value; an item at a constant place is one at any place."""
        if expr.op == "static_getitem":
            signature = self.fndesc.calltypes[expr]
            if expr.index_var is not None and self._is_item(expr.value, signature, expr.index):
                return self.lower_getitem(resty, expr, expr.value, expr.index_var, signature)
        return super().lower_expr(resty, expr)

    def _is_item(self, array: Any, signature: Any, index: Any) -> bool:
        """Whether what a constant place denotes is one item of an array."""
        known = isinstance(index, int) and signature is not None
        return known and self._is_plain(self.typeof(array.name), signature.args[1])

    def _is_plain(self, array: Any, place: Any) -> bool:
        """Whether a place denotes one item of an array: it has a whole number for each dimension."""
        if type(array) is not types.Array or self.context.enable_boundscheck:
            return False
        kinds = _kinds(place)
        return len(kinds) == array.ndim and all(isinstance(kind, types.Integer) for kind in kinds)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """An item of an array or of something else."""
        array, place = signature.args
        base, at = self._cast_var(value, array), self._cast_var(index, place)
        if self._is_plain(array, place):
            found = arrayobj.load_item(self.context, self.builder, array, self._item(array, base, place, at))
        else:
            found = self._known(operator.getitem, signature.args)(self, (base, at))
        return self.context.cast(self.builder, found, signature.return_type, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Put a value in the place of an item."""
        array, place, kind = signature.args
        base, at = self._cast_var(target_var, array), self._cast_var(index_var, place)
        value = self._cast_var(value_var, kind)
        if not self._is_plain(array, place):
            return self._known(operator.setitem, signature.args)(self, (base, at, value))
        value = self.context.cast(self.builder, value, kind, array.dtype)
        arrayobj.store_item(self.context, self.builder, array, value, self._item(array, base, place, at))
        return None

    def _item(self, array: Any, base: Any, place: Any, at: Any) -> Any:
        """Where an item of an array lies."""
        builder, model = self.builder, self.context.data_model_manager[array]
        data, shape, strides = (model.get(builder, base, name) for name in ("data", "shape", "strides"))
        places = cgutils.unpack_tuple(builder, at) if isinstance(place, types.BaseTuple) else (at,)
        sizes = cgutils.unpack_tuple(builder, shape, array.ndim)
        indices = [
            arrayobj.fix_integer_index(self.context, builder, kind, each, size)
            for kind, each, size in zip(_kinds(place), places, sizes, strict=True)
        ]
        if array.ndim == 1 and array.layout == "C":
            return builder.gep(data, indices)
        steps = cgutils.unpack_tuple(builder, strides, array.ndim)
        return cgutils.get_item_pointer2(self.context, builder, data, sizes, steps, array.layout, indices)


def _kinds(place: Any) -> tuple[Any, ...]:
    """The types of the numbers that a place in an array is."""
    several = isinstance(place, types.BaseTuple)
    return tuple(place.types) if several else (place,)
