"""What an operand brings is said in one place: a wrong value there is wrong alike in all that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from archsim.lab.run.job import Job, load_chip, prepare
from archsim.system import simulate
from mapper.analytic.expected_actions import expected_counts
from mapper.cost.grid import Flow
from mapper.given.priced import price
from mapper.layers import Layers
from mapper.lower.model import Lowering, Mapped
from mapper.options import resolve_dtypes
from mapper.problem import geometry
from mapper.problem.geometry import Terms, positions
from mapper.problem.problem import Problem
from mapper.search import table_cache
from mapper.search.space import tree
from mapper.search.templates import open_space
from tests.tools.commands import GOLDEN
from tests.tools.counts import machine_counts

MODELS = {
    "gemm": "layers: [{gemm: {name: gemm, m: 500, n: 300, k: 700}}]",
    "conv": "inputs: {x: [1, 24, 61, 61]}\nlayers: [{conv: {name: conv, out_channels: 40, kernel: 3, pad: 1}}]",
}


class OneLayer:
    """A model of one layer, mapped once; what comes in from DRAM by each of the four that say so."""

    def __init__(self, folder: Path, layers: str) -> None:
        path = folder / "one.yaml"
        path.write_text(f"schema: archsim.workload/1\nname: one\nsource: test\n{layers}\n")
        job = Job(str(path), str(GOLDEN / "chip.yaml"))
        self.chip = load_chip(job)
        asked = prepare(job, self.chip)
        self.dtypes = resolve_dtypes(self.chip, asked.options.dtypes or {})
        self.layers = Layers(asked.workload, self.chip, self.dtypes, asked.options)
        self.lowering = Lowering(asked.workload, self.chip, self.dtypes, asked.options)
        self.mapped: Mapped = self.layers.map()

    def read_bytes(self) -> dict[str, int]:
        """From DRAM, as the search, a stated mapping, the compiler's counts and the machine have it."""
        problem, mapping = self.layers.problem(0, self.mapped.residency, "array"), self.mapped.mappings[0]
        stated = price(problem, mapping, self.layers.chip, self.dtypes).flows
        compiled = self.lowering.lower(self.mapped)
        (frame,) = compiled.frames
        assert frame is not None
        counted = expected_counts(frame, self.chip, self.dtypes)
        done = machine_counts(simulate(compiled.program, self.chip), self.chip)
        (dram,) = (memory.name for memory in self.chip.memories if memory.kind == "dram")
        return {
            "cost": _total(problem, self._searched(problem)),
            "explain": _total(problem, stated),
            "counts": counted[dram, "read_bytes"],
            "lower": sum(count for (_, part, action), count in done.items() if (part, action) == (dram, "read_bytes")),
        }

    def _searched(self, problem: Problem) -> Mapping[str, Flow]:
        """Of the cell of the search's grid that is the mapping."""
        space = open_space(problem, self.layers.chip, self.dtypes)
        for template in space.templates():
            for cell in range(template.grid.size):
                index = tuple(int(at) for at in np.unravel_index(cell, template.grid.shape))
                if tree(template.grid, index, template.order, template.kept) == self.mapped.mappings[0].nodes:
                    return space.costs(template, np.array([cell])).flows
        raise AssertionError("the mapping is no cell of its space")


def _total(problem: Problem, flows: Mapping[str, Flow]) -> int:
    return round(sum(float(flows[plan.name].touched.item()) * plan.element_bytes for plan in problem.loads))


@pytest.mark.parametrize("model", MODELS)
def test_law_38_a_wrong_byte_is_wrong_alike_everywhere(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = OneLayer(tmp_path, MODELS[model])
    right = found.read_bytes()
    assert len(set(right.values())) == 1, right

    def wrong(terms: Terms, tile: Mapping[str, int]) -> int:
        return positions(terms, tile) - (terms == (("k", 1),))

    table_cache.forget()
    monkeypatch.setattr(geometry, "positions", wrong)
    planted = found.read_bytes()
    table_cache.forget()
    assert len(set(planted.values())) == 1, planted
    assert planted["cost"] < right["cost"]
