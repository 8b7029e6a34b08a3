"""Commands of one shape: alike but for name, layer, tokens, stores and where in these their operands begin.

Cores that run the same share the parts of their commands as objects, so that the ids of these tell a shape. What is
right of a command's shape is found out once.
"""

from __future__ import annotations

from archsim.ir.program import Command


class CommandShapes:
    """Numbers of the shapes of a Program's commands; the Program lives longer than they are asked for."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._of: dict[int, int] = {}  # by the id of the command

    def of(self, command: Command) -> int:
        """The number of the shape of a command."""
        found = self._of.get(id(command))
        if found is None:
            found = self._of[id(command)] = self._numbers.setdefault(_shape(command), len(self._numbers))
        return found


def _shape(command: Command) -> tuple[object, ...]:
    """Equal for commands of one shape."""
    found: list[object] = [
        command.op, id(command.when), id(command.extents), id(command.nest), id(command.fresh), id(command.dtypes),
        id(command.functions), id(command.guards), command.passes, id(command.slow), command.flops, command.nbytes,
        command.fill, command.combine, id(command.index), command.retains, len(command.reads),
    ]  # fmt: skip
    for region in command.reads + command.writes:
        found += (
            region.operand, id(region.strides), region.element_bytes, id(region.offset.terms), id(region.clips)
        )  # fmt: skip
    return tuple(found)
