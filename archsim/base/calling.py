"""How parts call each other: a tuple of arrays is one argument.

Numba takes every argument apart down to words and puts it together again at both ends of a call. The state of a network
has some 300 words, and four fifths of the intermediate code of its parts did nothing else. The machine code is the same
either way: to it, a tuple that is passed as one is as many words. Numba's own functions are compiled with its own calls
and are given no such tuples (``archsim.base.lowering`` refuses).
"""

from __future__ import annotations

import hashlib
from typing import Any

from numba.core import funcdesc, types
from numba.core.callconv import CPUCallConv
from numba.core.cpu import CPUContext
from numba.core.datamodel.packer import ArgPacker

_DIGITS = 16


def goes_whole(kind: Any) -> bool:
    """Whether arguments of a type are passed as one."""
    return isinstance(kind, types.BaseNamedTuple)


class _Whole:
    """How an argument is passed as one."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def get_argument_type(self) -> Any:
        """As the value itself."""
        return self._model.get_value_type()

    def as_argument(self, _: Any, value: Any) -> Any:
        """What is passed."""
        return value

    def from_argument(self, _: Any, value: Any) -> Any:
        """What has been passed."""
        return value


class _Models:
    """Numba's models of types, for arguments of parts."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def lookup(self, kind: Any) -> Any:
        """How arguments of a type are passed."""
        model = self._of.lookup(kind)
        return _Whole(model) if goes_whole(kind) else model


class PartCalls(CPUCallConv):
    """The calling convention of parts."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._models = _Models(context.data_model_manager)
        self._packers: dict[Any, ArgPacker] = {}

    def _get_arg_packer(self, argtypes: Any) -> ArgPacker:
        key = tuple(argtypes)
        if key not in self._packers:
            self._packers[key] = ArgPacker(self._models, key)
        return self._packers[key]


class PartTarget(CPUContext):
    """What Numba makes code for, the same machine, where one part is compiled: with our calls and names."""

    def __init__(self, of: CPUContext, typing: Any) -> None:
        self.__dict__ = {**of.__dict__, "typing_context": typing}
        self._calls = PartCalls(self)

    @property
    def call_conv(self) -> PartCalls:
        """How functions are called."""
        return self._calls

    def mangler(self, name: str, types: Any, *, abi_tags: Any = (), uid: Any = None) -> str:
        """The name of a function for arguments of some types, of which Numba writes out all fields of all records."""
        found = hashlib.sha256(" ".join(each.name for each in types).encode()).hexdigest()
        made: str = funcdesc.default_mangler(f"{name}.{found[:_DIGITS]}", (), abi_tags=abi_tags, uid=uid)
        return made
