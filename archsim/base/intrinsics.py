"""What compiled code is given beside Python's own functions: made for the compiler when something is compiled."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.cpython.unsafe import numbers
from numba.extending import intrinsic

_WORD, _NOTHING = ir.IntType(64), ir.IntType(8).as_pointer()
_ENTRY = ir.FunctionType(ir.IntType(32), [_WORD.as_pointer(), _NOTHING.as_pointer(), _NOTHING, *[_WORD] * 4])

trailing_zeros = numbers.trailing_zeros


@intrinsic
def value_at(_: Any, kind: Any, address: Any) -> Any:
    """The value of a type that lies at an address, for compiled code."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model = context.data_model_manager[signature.return_type]
        place = builder.inttoptr(arguments[1], model.get_data_type().as_pointer())
        return model.load_from_data_pointer(builder, place)

    return kind.instance_type(kind, address), make


@intrinsic
def word_at(_: Any, address: Any) -> Any:
    """The word at an address, for compiled code."""

    def make(__: Any, builder: Any, ___: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))

    return types.int64(types.int64), make


@intrinsic
def address_of(_: Any, array: Any, place: Any) -> Any:
    """Where word ``place`` of an array of words lies, for compiled code."""

    def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(builder.gep(found, [arguments[1]]), _WORD)

    return types.int64(array, types.int64), make


@intrinsic
def call(_: Any, address: Any, table: Any, a: Any, b: Any, c: Any) -> Any:
    """Call the entry at an address, from compiled code."""

    def make(__: Any, builder: Any, ___: Any, arguments: Any) -> Any:
        entry = builder.inttoptr(arguments[0], _ENTRY.as_pointer())
        made: Any = cgutils.alloca_once
        result, error = made(builder, _WORD), made(builder, _NOTHING)
        builder.call(entry, [result, error, _NOTHING(None), *arguments[1:]])
        return builder.load(result)

    return types.int64(*[types.int64] * 5), make
