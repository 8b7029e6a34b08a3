"""Which of several mappings is best, where figures of a model need not differ to the last digit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from archsim.lab.run.job import Job, build, load_chip, prepare
from archsim.lab.what_if.explain import explained, resolve_dtypes
from archsim.report.run import explanation
from mapper.cost.dram_contention import brought_before
from mapper.cost.grid import Flow, Reals
from mapper.layers import Layers
from mapper.search.exhaustive import _whole
from mapper.search.templates import open_space
from mapper.search.ties import Alike, first

SPREAD = Alike(spread=True, work=900.0)


def given(**figures: list[float]) -> dict[str, Callable[[], Reals]]:
    """Columns of figures, under their names."""
    return {name: lambda values=values: np.array(values) for name, values in figures.items()}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("figure", "other"), [("cycles", "energy"), ("energy", "cycles"), ("cycles x energy", "cycles")]
)
def test_half_a_per_cent_of_a_forecast_is_alike(figure: str, other: str) -> None:
    for second, best in ((1004.0, 1), (1006.0, 0)):
        assert first(given(**{figure: [1000.0, second], other: [9.0, 1.0]}), Alike(spread=False)) == best


def test_on_one_core_every_command_counts() -> None:
    assert first(given(cycles=[9.0, 9.0], commands=[1001.0, 1000.0]), Alike(spread=False)) == 1


def test_a_twentieth_of_the_waiting_is_alike() -> None:
    """Of 1,000 cycles 900 are work: up to 1,005 are alike, and energy decides."""
    assert first(given(cycles=[1000.0, 1005.0], energy=[9.0, 1.0]), SPREAD) == 1
    assert first(given(cycles=[1000.0, 1006.0], energy=[9.0, 1.0]), SPREAD) == 0


def test_nothing_but_work_is_told_apart_by_more_than_the_band() -> None:
    assert first(given(cycles=[900.0, 904.0], energy=[9.0, 1.0]), SPREAD) == 1
    assert first(given(cycles=[900.0, 905.0], energy=[9.0, 1.0]), SPREAD) == 0


def test_a_twentieth_of_the_energy_is_alike_and_a_command_is_not() -> None:
    figures = {"cycles": [1000.0] * 3, "energy": [100.0, 105.0, 106.0], "commands": [8.0, 7.0, 1.0]}
    assert first(given(**figures), SPREAD) == 1


@pytest.mark.parametrize("figure", ["energy", "cycles x energy"])
def test_the_first_figure_may_be_energy_or_its_product(figure: str) -> None:
    assert first(given(**{figure: [100.0, 104.0], "commands": [8.0, 7.0]}), SPREAD) == 1


def test_of_equals_the_first_is_taken() -> None:
    assert first(given(cycles=[5.0, 5.0], commands=[1.0, 1.0]), SPREAD) == 0


@pytest.mark.slow
def test_a_spread_layer_is_explained_by_what_counts() -> None:
    """The runner-up may have fewer cycles where these are alike; what it lost by is worse."""
    found = explained(Job("eye_tracking", "mtia_v2i"), "stage2")
    assert found.second is not None and found.lost_by is not None
    name, value, best = found.lost_by
    assert value > best
    second, chosen = dict(found.second.ranked("latency")), dict(found.chosen.ranked("latency"))
    for figure in found.alike:
        assert second[figure] <= found.chosen.alike.most(figure, chosen[figure])
    table = explanation.to_table(found.to_json())
    assert f"The runner-up lost by {name}" in table
    assert ("alike" in table) == bool(found.alike)


@pytest.mark.parametrize("bandwidth", ["0.1 GB/s", "1000 GB/s"])
def test_what_dram_takes_at_its_peak_is_certain_too(bandwidth: str) -> None:
    """Where DRAM is slow the floor is what it takes, elsewhere what the units work; no bound is below."""
    job = Job("eye_tracking", "nvdla_large", values={"dram.bandwidth": bandwidth})
    chip = load_chip(job)
    asked = prepare(job, chip, lambda _: None)
    layers = Layers(asked.workload, chip, resolve_dtypes(chip, {}), asked.options)
    problem = next(problem for problem in layers.map().problems if problem is not None and problem.engine == "array")
    space = open_space(problem, layers.chip, layers.dtypes)
    found = [(template, cells) for template in space.templates() if (cells := space.legal(template)).size]
    costs = _whole(space, found).costs(found)
    moved = (*problem.loads, *problem.stores)
    least = sum(float(costs.flows[plan.name].touched.min()) * plan.element_bytes for plan in moved)
    at_peak = least / layers.chip.port_rate("dram", write=False)
    worked = float(np.maximum(costs.done.array_total, costs.done.vector_total).min())
    assert costs.floor == pytest.approx(max(at_peak, worked), abs=1)
    assert (at_peak > worked) == (bandwidth == "0.1 GB/s")
    assert costs.floor <= float(costs.bound.min())


def test_cores_do_not_cut_a_reduction_for_nothing() -> None:
    """Below all tiles that are kept no loop is left: it would make commands and nothing else."""
    mapping = build(Job("eye_tracking", "mtia_v2i")).mapping
    assert mapping is not None
    spread = [layer for layer in mapping.layers if layer.kind == "matmul"]
    assert spread and all(type(layer.nodes[-1]).__name__ == "Keep" for layer in spread)


def test_weights_of_later_layers_can_be_there_before() -> None:
    """What DRAM brings of weights into a memory that all share keeps no layer but the first waiting for its tile,
    unless it leaves no room there for that of others."""
    chip = load_chip(Job("eye_tracking", "mtia_v2i"))
    asked = prepare(Job("eye_tracking", "mtia_v2i"), chip, lambda _: None)
    layers = Layers(asked.workload, chip, resolve_dtypes(chip, {}), asked.options)
    names = [layer.name for layer in asked.workload.layers]
    residency = layers.residency(frozenset())
    for layer, ahead in ((names[0], False), ("stage2", True)):
        problem = next(part for part, _ in layers.searched(names.index(layer), residency))
        staged = {plan.operand: problem.ahead(plan) for plan in problem.loads if not plan.beyond}
        assert staged["b"] is ahead and not staged.get("a", False)
        flows = {plan.name: Flow(*(np.ones(1) for _ in Flow._fields)) for plan in problem.operands}
        found = brought_before(layers.chip, problem, flows)
        assert all(bool(found[plan.name].first[0] == 0) == problem.ahead(plan) for plan in problem.loads)
        large = {name: flow._replace(first=np.full(1, 1e12)) for name, flow in flows.items()}
        assert all(flow.first[0] > 0 for flow in brought_before(layers.chip, problem, large).values())
