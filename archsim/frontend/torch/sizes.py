"""Sizes that follow from open dimensions: formulas as sympy writes them, ``Mul(Integer(2), Symbol('s77'))``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from math import prod

from archsim.base.errors import ConfigError, ModelError, nearest
from archsim.frontend.torch.program import TorchProgram, TorchSize

LONGEST = 4000  # characters of a formula
_LARGEST = 1 << 62
_BATCH = re.compile(r"Symbol\('(\w+)'[^()]*\)$")


def _power(base: int, exponent: int) -> int:
    """Raises ValueError for what is no whole number of reasonable size."""
    if not 0 <= exponent <= 8 or abs(base) > _LARGEST:
        raise ValueError
    return int(base**exponent)


_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "Integer": lambda value: value,
    "Add": lambda *values: sum(values),
    "Mul": lambda *values: prod(values),
    "Max": max,
    "Min": min,
    "FloorDiv": lambda first, second: first // second,
    "CleanDiv": lambda first, second: first // second,
    "CeilDiv": lambda first, second: -(-first // second),
    "Mod": lambda first, second: first % second,
    "PythonMod": lambda first, second: first % second,
    "Pow": _power,
    "PowByNatural": _power,
}


class OpenSizes:
    """Numbers for the open dimensions of a program."""

    def __init__(
        self, program: TorchProgram, stated: Mapping[str, int | float | str], called: Mapping[str, str]
    ) -> None:
        """``stated``: numbers by the names that dimensions are ``called`` by, or by those that they have in the
        program. Raises ConfigError for names that there are not, and for numbers that the program does not allow."""
        self.called = called
        known = {called.get(name, name): name for name in program.ranges}
        self.numbers: dict[str, int] = {}
        for name, number in stated.items():
            if name not in known:
                have = f"there are: {', '.join(known)}" if known else "all its dimensions are fixed"
                raise ConfigError(f"--parameter: no dimension is called '{name}'{nearest(name, known)}; {have}")
            low, high = program.ranges[known[name]]
            if not isinstance(number, int):
                raise ConfigError(f"--parameter {name}: found '{number}'; allowed a number")
            if number < max(1, low) or (high is not None and number > high):
                most = "" if high is None else f" to {high}"
                raise ConfigError(f"--parameter {name}: found {number}; allowed {max(1, low)}{most or ' or more'}")
            self.numbers[known[name]] = number

    @staticmethod
    def of(program: TorchProgram, stated: Mapping[str, int | float | str], batch: int | None) -> OpenSizes:
        """Of a file, whose open dimensions have the names of the program; ``batch``: of the first input's first one."""
        first = next((name for name in program.graph.inputs if name and name not in program.stored), "")
        facts = program.graph.tensors.get(first)
        leading = _BATCH.match(str(facts.sizes[0])) if facts is not None and facts.sizes else None
        if batch is not None and leading is not None:
            stated = {**stated, leading[1]: batch}
        return OpenSizes(program, stated, {})

    def size(self, found: TorchSize, what: str) -> int:
        """The number that a size is; ``what`` it is of, for messages. Raises ModelError for a dimension left open."""
        if isinstance(found, int):
            return found
        if len(found) > LONGEST:
            raise ModelError(f"{what}: its size is a formula of {len(found)} characters; allowed up to {LONGEST}")
        try:
            number = self._value(ast.parse(found, mode="eval").body, what)
        except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, TypeError, RecursionError, MemoryError):
            raise ModelError(f"{what}: its size '{found[:60]}' is no formula of whole numbers") from None
        if abs(number) > _LARGEST:
            raise ModelError(f"{what}: its size is beyond {_LARGEST}")
        return number

    def _value(self, node: ast.expr, what: str) -> int:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._value(node.operand, what)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError
        if node.func.id == "Symbol":
            return self._symbol(node.args[0] if node.args else node, what)
        if node.func.id not in _FUNCTIONS:
            raise ModelError(f"{what}: its size is found by '{node.func.id}'; allowed {', '.join(_FUNCTIONS)}")
        return int(_FUNCTIONS[node.func.id](*(self._value(each, what) for each in node.args)))

    def _symbol(self, node: ast.expr, what: str) -> int:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise ValueError
        if node.value not in self.numbers:
            name = self.called.get(node.value, node.value)
            raise ModelError(f"{what}: its dimension '{name}' is open; state it, as in --parameter {name}=8")
        return self.numbers[node.value]
