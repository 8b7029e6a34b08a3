"""Which layer of one run is which of another: by name, then by order among those of equal operator and MACs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ComparedLayer = Mapping[str, Any]  # a row of the summary's ``layers``


@dataclass(frozen=True, slots=True)
class LayerPair:
    """A layer in the base and in the other run, None where it has no row; ``remark``: what is not plain about that."""

    base: ComparedLayer | None
    other: ComparedLayer | None
    remark: str

    @property
    def name(self) -> str:
        """As the base calls it, where it has it."""
        return str((self.base or self.other or {}).get("name", ""))


def match(base: Sequence[ComparedLayer], other: Sequence[ComparedLayer]) -> list[LayerPair]:
    """Every layer of either run once, in the order of the base; what only the other has stands last, in its order."""
    found: dict[int, ComparedLayer] = {}
    _pair(base, other, found, lambda layer: layer["name"])
    _pair(base, other, found, lambda layer: (layer["op"], layer["macs"]))
    taken = {id(layer) for layer in found.values()}
    pairs = [(layer, found.get(at)) for at, layer in enumerate(base)]
    alone = [(None, layer) for layer in other if id(layer) not in taken]
    return [LayerPair(left, right, _remark(left, right, base, other)) for left, right in (*pairs, *alone)]


def _pair(
    base: Sequence[ComparedLayer],
    other: Sequence[ComparedLayer],
    found: dict[int, ComparedLayer],
    key: Callable[[ComparedLayer], Hashable],
) -> None:
    """Give layers of the base that have none the next one of the other run with the same key."""
    taken = {id(layer) for layer in found.values()}
    free: dict[Hashable, list[ComparedLayer]] = {}
    for layer in other:
        if id(layer) not in taken:
            free.setdefault(key(layer), []).append(layer)
    for at, layer in enumerate(base):
        if at not in found and free.get(key(layer)):
            found[at] = free[key(layer)].pop(0)


def _remark(
    left: ComparedLayer | None,
    right: ComparedLayer | None,
    base: Sequence[ComparedLayer],
    other: Sequence[ComparedLayer],
) -> str:
    if left is None and right is not None:
        return _absent(right, base, "base")
    if right is None and left is not None:
        return _absent(left, other, "other")
    assert left is not None and right is not None
    said = [f"called {right['name']} in the other"] if left["name"] != right["name"] else []
    for mine, theirs, run in ((left, right, "base"), (right, left, "other")):
        more = [name for name in mine["fused_with"] if name not in theirs["fused_with"]]
        said += [f"with {', '.join(more)} in the {run} alone"] if more else []
        said += [f"on the host in the {run} alone"] if mine["on_host"] and not theirs["on_host"] else []
        said += [f"a view of {mine['view_of']} in the {run} alone"] if mine["view_of"] and not theirs["view_of"] else []
    return "; ".join(said)


def _absent(layer: ComparedLayer, there: Sequence[ComparedLayer], run: str) -> str:
    """How the run that has no row for the layer has it."""
    owner = next((row["name"] for row in there if layer["name"] in row["fused_with"]), "")
    return f"fused with {owner} in the {run}" if owner else f"not in the {run}"
