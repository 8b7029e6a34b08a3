"""Numbers of other tools' files: plain, or arithmetic such as ``1 / (8 * 614e9)``, exact and never executed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import ceil, floor, inf, log2

from archsim.base.errors import ConfigError
from archsim.base.units import shown

Number = Fraction | float  # a float is infinite
_LONGEST = 200  # characters of an expression
_BITS = 400  # of numerator and denominator
_POWER = 64
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "min": min,
    "max": max,
    "sum": lambda *given: sum(given, Fraction(0)),
    "abs": abs,
    "ceil": lambda x: Fraction(ceil(x)),
    "floor": lambda x: Fraction(floor(x)),
    "int": lambda x: Fraction(int(x)),
    "float": lambda x: x,
    "log2": lambda x: Fraction(log2(x)).limit_denominator(10**12),
}
_COMPARE = {
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}


def evaluate(value: object, names: Mapping[str, object] | None = None) -> Number:
    """The number that a scalar of a file stands for; ``names``: what names in arithmetic stand for.

    Raises ConfigError for anything that is no number: what was found and what is allowed.
    """
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        raise ConfigError(f"found {shown(value)}; allowed a number, or arithmetic on numbers")
    if isinstance(value, (int, Decimal)):
        return _bounded(Fraction(value), value)
    text = str(value).strip()
    if text.lower().lstrip(".") in ("inf", "infinity"):
        return inf
    if len(text) > _LONGEST:
        raise ConfigError(f"found {shown(value)}; allowed arithmetic of at most {_LONGEST} characters")
    try:
        tree = parsed(text)
        return _bounded(_Evaluator(text, names or {}).value(tree), value)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, TypeError, RecursionError, MemoryError) as error:
        reason = "a division by 0" if isinstance(error, ZeroDivisionError) else "no arithmetic that is understood"
        raise ConfigError(f"found {shown(value)}, {reason}; allowed a number, or arithmetic on numbers") from None


def parsed(text: str) -> ast.expr:
    """The tree of an expression, without a word on stderr. Raises SyntaxError, ValueError, ... for what is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.strip(), mode="eval").body


class _Evaluator:
    """Walks the tree of an expression; only what is named here is known."""

    def __init__(self, text: str, names: Mapping[str, object]) -> None:
        self._text = text
        self._names = names

    def value(self, node: ast.expr) -> Number:
        """The number of a node; raises ValueError for what is not known."""
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._named(node)
        if isinstance(node, ast.BinOp):
            return _binary(type(node.op), self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return -self.value(node.operand) if isinstance(node.op, ast.USub) else self.value(node.operand)
        if isinstance(node, ast.IfExp):
            return self.value(node.body if self._holds(node.test) else node.orelse)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return _FUNCTIONS[node.func.id](*map(self.value, node.args)) if node.func.id in _FUNCTIONS else _no()
        return _no()

    def _constant(self, node: ast.Constant) -> Number:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            return _no()
        written = (ast.get_source_segment(self._text, node) or "").replace("_", "")
        try:
            exact = Decimal(written)
        except InvalidOperation:
            return _no()
        return Fraction(exact) if abs(exact.adjusted()) <= 100 else _no()

    def _named(self, node: ast.Name | ast.Attribute) -> Number:
        found = self._names.get(ast.unparse(node))
        if isinstance(found, (Fraction, float)):
            return found
        return inf if isinstance(node, ast.Name) and node.id == "inf" else _no()

    def _holds(self, node: ast.expr) -> bool:
        """A comparison, or a name: of a number other than 0, of a set that is not empty."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            compare = _COMPARE.get(type(node.ops[0]))
            left, right = self.value(node.left), self.value(node.comparators[0])
            return bool(getattr(left, compare)(right)) if compare else bool(_no())
        if isinstance(node, ast.Name) and node.id in self._names:
            return bool(self._names[node.id])
        return bool(self.value(node))


def _binary(kind: type[ast.operator], left: Number, right: Number) -> Number:
    for number in (left, right):
        _bounded(number, number)
    if kind is ast.Pow:
        whole = isinstance(right, Fraction) and right.denominator == 1 and abs(right) <= _POWER
        return _bounded(left ** int(right), left) if whole else _no()
    ways: dict[type[ast.operator], Callable[[], Number]] = {
        ast.Add: lambda: left + right,
        ast.Sub: lambda: left - right,
        ast.Mult: lambda: left * right,
        ast.Div: lambda: left / right if right != inf else Fraction(0),
        ast.FloorDiv: lambda: Fraction(left // right),
        ast.Mod: lambda: Fraction(left % right),
    }
    return ways[kind]() if kind in ways else _no()


def _bounded(number: Number, found: object) -> Number:
    if isinstance(number, float):
        if number == inf:
            return number
        raise ConfigError(f"found {shown(found)}; allowed a finite number of 0 or more, or inf")
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _BITS:
        raise ConfigError(f"found {shown(found)}; allowed numbers of less than {_BITS} bits")
    return number


def _no() -> Number:
    raise ValueError
