"""The schedule of a workload: groups of layers that run together, pass by pass, and the windows between them.

A **pass** is one iteration of all shared loops of a group. These run over dims of the group's last member; what the
others do in a pass follows backwards, from what its readers need of each tensor. A tensor that is made and read inside
a group lies in a **window**: a ring of slots, of which each holds what one pass reads.
"""

from __future__ import annotations

from dataclasses import dataclass


def group_name(first: str, last: str) -> str:
    """What a group is called that nobody gave a name, by its ``first`` and ``last`` layers."""
    return f"{first}..{last}"


@dataclass(frozen=True, slots=True)
class SharedLoop:
    """A loop over passes: ``dim`` of the last member, ``layer``, in tiles of ``tile``."""

    layer: str
    dim: str
    tile: int


@dataclass(frozen=True, slots=True)
class SharedKeep:
    """A tile of an operand of a member that is held over the shared loops below it."""

    layer: str
    operand: str
    level: str
    slots: int


@dataclass(frozen=True, slots=True)
class TensorWindow:
    """Storage of a tensor inside a group, in memory ``level``: ``rows`` of ``dim`` (of the layer that makes it) that
    can be read at once, of which ``step`` are new in a pass; room for ``slots`` passes."""

    tensor: str
    level: str
    slots: int
    dim: str = ""
    rows: int = 0
    step: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """A layer of a group, and by how many passes it is ``ahead`` of the last one."""

    layer: str
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that run together; ``shared``: loops over passes and what is held over them, outermost first."""

    name: str
    members: tuple[Member, ...]
    shared: tuple[SharedLoop | SharedKeep, ...] = ()
    windows: tuple[TensorWindow, ...] = ()

    @property
    def loops(self) -> tuple[SharedLoop, ...]:
        """The loops over passes, outermost first."""
        return tuple(each for each in self.shared if isinstance(each, SharedLoop))

    @property
    def keeps(self) -> tuple[SharedKeep, ...]:
        """What is held over passes."""
        return tuple(each for each in self.shared if isinstance(each, SharedKeep))

    def own(self, layer: str) -> tuple[SharedLoop | SharedKeep, ...]:
        """What of the shared entries concerns a member: all loops, and what it holds over them."""
        return tuple(each for each in self.shared if isinstance(each, SharedLoop) or each.layer == layer)
