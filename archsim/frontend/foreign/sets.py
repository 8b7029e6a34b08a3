"""Set expressions of AccelForge (``~Intermediates``, ``input | output``, ``All``) as roles of an einsum's tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from archsim.base.errors import ConfigError, nearest
from archsim.base.units import shown
from archsim.frontend.foreign.design import ROLES
from archsim.frontend.foreign.expression import parsed

Roles = frozenset[str]
EVERY: Roles = frozenset(ROLES)
_LONGEST = 200
_KNOWN: Mapping[str, Roles] = {
    "All": EVERY,
    "Tensors": EVERY,
    "Nothing": frozenset(),
    "Inputs": frozenset(("inputs", "weights")),
    "Outputs": frozenset(("outputs",)),
    "Intermediates": frozenset(),
    "Shared": frozenset(),
    "Persistent": frozenset(),
    "input": frozenset(("inputs",)),
    "weight": frozenset(("weights",)),
    "output": frozenset(("outputs",)),
    "inputs": frozenset(("inputs",)),
    "weights": frozenset(("weights",)),
    "outputs": frozenset(("outputs",)),
}


def roles_of(text: str, names: Mapping[str, Roles]) -> Roles:
    """The roles of an expression; ``names``: tensors and memories by name. Raises ConfigError for what is not known."""
    try:
        if len(text) > _LONGEST:
            raise ValueError
        return _roles(parsed(text), {**_KNOWN, **names})
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        allowed = "All, Nothing, Inputs, Outputs, input, weight, output, tensors, memories, joined by | & - ~"
        raise ConfigError(f"found {shown(text)}; allowed {allowed}") from None


def holds(text: str, names: Mapping[str, Roles]) -> bool:
    """Whether a condition such as ``len(All) == 3`` holds for an einsum of three tensors."""
    if text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    try:
        if len(text) > _LONGEST:
            raise ValueError
        return _holds(parsed(text), {**_KNOWN, **names})
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise ConfigError(f"found {shown(text)}; allowed true, false, or a comparison of len(SET)") from None


def _roles(node: ast.expr, names: Mapping[str, Roles]) -> Roles:
    if isinstance(node, ast.BinOp):
        left, right = _roles(node.left, names), _roles(node.right, names)
        ways = {ast.BitOr: left | right, ast.BitAnd: left & right, ast.Sub: left - right}
        if type(node.op) in ways:
            return ways[type(node.op)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return EVERY - _roles(node.operand, names)
    if isinstance(node, ast.IfExp):
        return _roles(node.body if _holds(node.test, names) else node.orelse, names)
    if isinstance(node, ast.Attribute) and node.attr.lower() == "tensors":
        return _roles(node.value, names)
    if isinstance(node, ast.Name):
        if node.id in names:
            return names[node.id]
        raise ConfigError(f"no tensor or memory '{node.id}'{nearest(node.id, names)}")
    raise ValueError


def _holds(node: ast.expr, names: Mapping[str, Roles]) -> bool:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _number(node.left, names), _number(node.comparators[0], names)
        ways = {
            ast.Eq: left == right,
            ast.NotEq: left != right,
            ast.Lt: left < right,
            ast.LtE: left <= right,
            ast.Gt: left > right,
            ast.GtE: left >= right,
        }
        if type(node.ops[0]) in ways:
            return ways[type(node.ops[0])]
    if isinstance(node, ast.Name):
        return bool(_roles(node, names))
    raise ValueError


def _number(node: ast.expr, names: Mapping[str, Roles]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        return len(_roles(node.args[0], names))
    raise ValueError
