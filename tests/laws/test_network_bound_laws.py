"""Laws between what no schedule of a network undercuts and what mapped networks do on the machine."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import archsim as ax
from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.ir.activity import to_cycles
from archsim.ir.workload import Workload
from archsim.lab.run.offchip import outer_rates
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.bound.engine_time import EngineTime, least_of_both
from mapper.bound.network import NetworkBound, network_bound
from mapper.compile import Options, compile_model, resolve_dtypes
from mapper.cost.chip_rates import ChipCosts
from tests.tools.layers import random_net, small_chip

NAMES = catalogue.names()
TIMES = st.builds(EngineTime, *[st.floats(0, 1000, allow_subnormal=False)] * 2)


def bound(workload: Workload, chip: Architecture) -> NetworkBound:
    """What no schedule of it undercuts there."""
    return network_bound(workload, ChipCosts(chip, outer_rates(chip), {}), resolve_dtypes(chip, {}))


@pytest.mark.parametrize("seed", range(300))
def test_law_52_and_law_55_no_mapping_is_below_the_bounds(seed: int) -> None:
    """Laws 52 and 55: networks of a few layers take at least their bound and move at least the compulsory bytes, by the
    best mapping of all and by a random one."""
    _, workload = random_net(seed)
    chip = small_chip(1 << (10 + seed % 6), 1 << (9 + seed % 5), dataflow=NAMES[seed % len(NAMES)])
    least = bound(workload, chip)
    for drawn in ("", str(seed)):
        objective = ("latency", "energy", "edp")[seed % 3]
        try:
            compiled = compile_model(workload, chip, Options(objective=objective, random=drawn, schedule="best"))
        except MappingError:
            continue
        done = simulate(compiled.program, chip)
        assert least.cycles <= to_cycles(done.total_ps, chip.clock_hz)
        assert least.bytes <= sum(stats.read_bytes + stats.write_bytes for stats in done.dram.values())


@pytest.mark.slow
@pytest.mark.parametrize("size", ["64KiB", "256KiB", "2MiB"])
@pytest.mark.parametrize("model", ["eye_tracking", "hand_tracking", "squeezenet", "bert_base_block"])
def test_law_55_groups_are_not_below_the_bound(model: str, size: str) -> None:
    """Laws 52 and 55: nor is a network whose layers run in groups, whatever the memory."""
    for schedule in ("best", "layers"):
        found = ax.run(model, "edge_npu", schedule=schedule, set={"l1.size": size}, net=False).summary
        assert 0 <= found["gap"] < 20
        assert found["compulsory_bytes"] <= found["dram"]["read_bytes"] + found["dram"]["write_bytes"]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["eye_tracking", "bert_base_block"])
@pytest.mark.parametrize("chip", ["a100", "mtia_v2i", "tpu_v4i", "tpu_v1", "nvdla_large", "gemmini_16x16", "simba"])
def test_law_55_no_chip_is_below_the_bound(model: str, chip: str) -> None:
    """Laws 52 and 55: on one core or many, with caches or without."""
    found = ax.run(model, chip, net=False).summary
    assert found["gap"] >= 0
    assert found["compulsory_bytes"] <= found["dram"]["read_bytes"] + found["dram"]["write_bytes"]


@given(st.lists(st.lists(TIMES, min_size=1, max_size=2), max_size=4))
def test_the_least_of_both_engines_is_the_programs(layers: list[list[EngineTime]]) -> None:
    """Law 55: of a linear program with two engines, in whose best solution one layer at the most is split."""
    found = least_of_both((ways, 1) for ways in layers)
    assert found == pytest.approx(_by_trying(layers), rel=1e-9, abs=1e-9)


def _by_trying(layers: list[list[EngineTime]]) -> float:
    least = np.inf
    for ways in product(*layers):
        whole = np.array(ways).reshape(-1, 2).sum(axis=0)
        least = min(least, float(whole.max()))
        for own, chosen in zip(layers, ways, strict=True):
            for other in own:
                step = np.array(other) - np.array(chosen)
                least = min(least, _split(whole, step))
    return float(least)


def _split(whole: np.ndarray, step: np.ndarray) -> float:
    """The least maximum on the way from one choice of a layer to another."""
    shares = [0.0, 1.0]
    if step[0] != step[1]:
        shares.append(float(np.clip((whole[1] - whole[0]) / (step[0] - step[1]), 0, 1)))
    return min(float((whole + share * step).max()) for share in shares)


def test_equal_layers_count_as_often_as_there_are() -> None:
    ways = [EngineTime(10.0, 1.0), EngineTime(0.0, 40.0)]
    assert least_of_both([(ways, 3)]) == pytest.approx(least_of_both([(ways, 1)] * 3))
    assert least_of_both([]) == 0.0
