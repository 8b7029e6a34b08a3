"""The groups that were chosen for a network, on disk: a small file for each network as it is mapped layer by layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from archsim.base.caches import code_sha256
from archsim.base.registry import plugins_sha256
from archsim.base.sealed_file import SealedFile
from mapper.fusion.candidates import chains
from mapper.fusion.chances import FusingMapper
from mapper.fusion.members import Fusion
from mapper.lower.model import Mapped
from mapper.problem.problem import content
from mapper.search.mapping_cache import SOURCES, digest

KIND = "groups"


class ChoiceFile:
    """That of one mapped network; ``folder`` None keeps nothing."""

    def __init__(self, folder: Path | None, layers: FusingMapper, mapped: Mapped) -> None:
        if folder is None:
            self._file = SealedFile(None, KIND, "", "")
            return
        self._count = len(layers.workload.layers)
        self._file = SealedFile(folder, KIND, _key(layers, mapped), "which layers run together")

    def read(self) -> tuple[Fusion, ...] | None:
        """The choice, None where it is not known."""
        found = self._file.read(self._is_choice)
        if found is None:
            return None
        return tuple(
            Fusion(range(*each["members"]), tuple(each["engines"]), tuple((dim, tile) for dim, tile in each["loops"]))
            for each in found["groups"]
        )

    def write(self, choice: tuple[Fusion, ...]) -> None:
        """Remember it."""
        groups = [
            {"members": [each.members.start, each.members.stop], "engines": each.engines, "loops": each.loops}
            for each in choice
        ]
        self._file.write({"groups": groups})

    def _is_choice(self, found: dict[str, Any]) -> bool:
        """Whether it names groups of layers that there are, in order; if they can run is seen where they are made."""
        behind = 0
        for each in found["groups"]:
            first, stop = each["members"]
            if not behind <= first < stop - 1 < self._count or len(each["engines"]) != stop - first:
                return False
            if not set(each["engines"]) <= {"array", "vector"} or not all(_is_loop(loop) for loop in each["loops"]):
                return False
            behind = stop
        return True


def _is_loop(loop: Any) -> bool:
    dim, tile = loop
    return isinstance(dim, str) and type(tile) is int


def _key(layers: FusingMapper, mapped: Mapped) -> str:
    """Of all that the choice depends on: the layers as they are mapped, what they read, and what stays on chip."""
    numbers: dict[str, int] = {}
    free = [layers.is_free(index) for index in range(len(mapped.mappings))]
    may = [(members.start, members.stop) for members in chains(layers.workload)]
    parts: list[object] = [
        layers.architecture.sha256, code_sha256(SOURCES), plugins_sha256(), layers.asked, free, may,
    ]  # fmt: skip
    for layer, problem, mapping in zip(layers.workload.layers, mapped.problems, mapped.mappings, strict=True):
        reads = [numbers.setdefault(op.tensor, len(numbers)) for op in (*layer.inputs, layer.output)]
        of = content(problem) if problem is not None else ()
        parts.append((of, reads, mapping.unit, mapping.nodes, mapping.expected_cycles))
    for name, held in sorted(mapped.residency.tensors.items()):
        parts.append((numbers.get(name, -1), held.memory, held.address, held.layout, held.life))
    parts.append(sorted(mapped.residency.capacity.items()))
    return digest(parts)[:32]
