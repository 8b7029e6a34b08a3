"""Sizes in workload files: whole numbers, or arithmetic on the file's parameters (``hidden // heads``)."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

MAX_CHARACTERS = 200
MAX_VALUE = 2**48
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def evaluate(text: str, names: Mapping[str, int]) -> int:
    """Value of ``text``: numbers and ``names`` joined by + - * // and brackets. ValueError says what is not allowed."""
    value = _value(_parsed(text), names)
    if abs(value) > MAX_VALUE:
        raise ValueError(f"{text} is larger than 2^48")
    return value


def names_in(text: str) -> list[str]:
    """The names in an expression, in order, each once. ValueError says what is no arithmetic."""
    return list(dict.fromkeys(node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)))


def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"an expression of more than {MAX_CHARACTERS} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"'{text}' is not arithmetic") from None


def _value(node: ast.expr, names: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise ValueError(f"'{node.id}' is no parameter (known: {', '.join(sorted(names)) or 'none'})")
        return names[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, names), _value(node.right, names)
        if right == 0 and isinstance(node.op, ast.FloorDiv):
            raise ValueError("a division by 0")
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError("only whole numbers, parameters and + - * // are allowed")
