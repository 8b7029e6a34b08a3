"""What Numba finds out about calls, remembered: the same few operations are on every line of what is compiled.

Which of Numba's functions a call means, for which types, and what makes its code follow from the function and the types
of its arguments alone. Numba asks all candidates each time, for an addition of two integers as well, and looks for
extensions of others again wherever there is no answer.

What is relied on of Numba: that a typing context is what its ``__dict__`` holds, and how a target context wraps what
makes the code of a call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba.core import errors, types
from numba.core.typing.context import Context

_CALLS: dict[Any, Any] = {}  # signature by function and types of arguments
_ATTRIBUTES: dict[Any, Any] = {}  # type by that of a record and the name of its field
_MAKERS: dict[Any, Maker | None] = {}


class RememberedTyping(Context):
    """Numba's tables of types, the very same ones, asked once for each call of one of Numba's own functions."""

    def __init__(self, of: Context) -> None:
        self.__dict__ = of.__dict__

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a call."""
        if kws or not isinstance(func, types.Function):
            return super().resolve_function_type(func, args, kws)
        key = func, args
        if key not in _CALLS:
            _CALLS[key] = super().resolve_function_type(func, args, kws)
        return _CALLS[key]

    def resolve_getattr(self, typ: Any, attr: str) -> Any:
        """The type of an attribute, None where there is none."""
        if not isinstance(typ, (types.Record, types.BaseNamedTuple)):
            return super().resolve_getattr(typ, attr)
        key = typ, attr
        if key not in _ATTRIBUTES:
            _ATTRIBUTES[key] = super().resolve_getattr(typ, attr)
        return _ATTRIBUTES[key]


@cache
def remembered(typing: Context) -> RememberedTyping:
    """The one that stands for Numba's tables."""
    return RememberedTyping(typing)


class Maker(NamedTuple):
    """What makes the code of one of Numba's functions, for arguments of the types of a signature."""

    signature: Any
    make: Callable[..., Any]

    def __call__(self, lower: Any, values: Any) -> Any:
        """The value of a call with values of these types, where ``lower`` stands; may raise NotImplementedError."""
        made = self.make(lower.context, lower.builder, self.signature, values, loc=lower.loc)
        lower.context.add_linking_libs(getattr(self.make, "libs", ()))
        return made


def maker(context: Any, function: Any, kinds: tuple[Any, ...]) -> Maker | None:
    """What makes the code of a function for arguments of these types, None where nothing does."""
    key = function, kinds
    if key not in _MAKERS:
        _MAKERS[key] = _maker(context, function, kinds)
    return _MAKERS[key]


def _maker(context: Any, function: Any, kinds: tuple[Any, ...]) -> Maker | None:
    typing = context.typing_context
    named = typing.resolve_value_type(function)
    try:
        found = typing.resolve_function_type(named, kinds, {})
        return Maker(found, context.get_function(named, found)._imp)
    except (errors.TypingError, NotImplementedError):
        return None
