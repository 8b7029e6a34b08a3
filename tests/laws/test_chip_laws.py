"""Laws on every chip found by name: a new chip file inherits them without a new test."""

from __future__ import annotations

from functools import cache
from math import ceil

import pytest

from archsim.energy.account import account
from archsim.energy.chip import tables_for
from archsim.ir.activity import Activity, to_cycles
from archsim.ir.check.program import check
from archsim.ir.workload import Workload
from archsim.lab.run.account import macs_by_engine
from archsim.lab.run.offchip import outer_rates
from archsim.sim.attribution import attribute
from archsim.sim.mac_breakdown import mac_breakdown, peak_macs_per_cycle
from archsim.spec.architecture import Architecture
from archsim.spec.load import load, names
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.layers import random_net

SEEDS = (3, 11, 24)


@cache
def run(name: str, seed: int) -> tuple[Architecture, Workload, Compiled, Activity]:
    chip = load(name)
    _, workload = random_net(seed)
    compiled = compile_model(workload, chip, Options(outer=outer_rates(chip)))
    check(compiled.program, chip)
    return chip, workload, compiled, simulate(compiled.program, chip)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", names())
def test_law_35_rows_and_mac_slots_sum(name: str, seed: int) -> None:
    """Law 35: every row sums to the run's cycles, the MAC slots to cycles x peak, in whole slots where a platform
    sustains a share of the clock."""
    chip, _, _, activity = run(name, seed)
    cycles = to_cycles(activity.total_ps, activity.clock_hz)
    cube = attribute(activity)
    assert all(sum(row.values()) == cycles for row in cube.time_breakdown().values())
    assert sum(mac_breakdown(activity, chip, cube).values()) == ceil(cycles * peak_macs_per_cycle(chip))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", names())
def test_law_37_energy_parts_and_layers_sum(name: str, seed: int) -> None:
    """Law 37: parts sum to the total, layers and _static too."""
    chip, _, _, activity = run(name, seed)
    energy = account(activity, chip, tables_for(chip))
    assert sum(energy.by_part_zj().values()) == energy.total_zj == sum(energy.by_layer_zj().values())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", names())
def test_law_38_counts_agree_as_integers(name: str, seed: int) -> None:
    """Law 38: the mapper's counts are the machine's counts."""
    chip, workload, compiled, activity = run(name, seed)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", names())
def test_laws_39_and_45_peak_and_nothing_free(name: str, seed: int) -> None:
    """Laws 39, 45: cycles x peak >= MACs on arrays; every layer takes time and moves bytes."""
    chip, workload, _, activity = run(name, seed)
    cycles = to_cycles(activity.total_ps, activity.clock_hz)
    macs = sum(n for (_, part, action), n in activity.counts.items() if action == "mac" and part == chip.arrays[0].name)
    assert cycles * peak_macs_per_cycle(chip) >= macs
    for layer in workload.layers:
        records = [r for unit in activity.records.values() for r in unit if r.layer == layer.name]
        assert sum(r.end_ps - r.start_ps for r in records) > 0
        assert sum(n for (row, _, action), n in activity.counts.items() if row == layer.name and "bytes" in action) > 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", names())
def test_law_61_macs_by_engine(name: str, seed: int) -> None:
    """Law 61: MACs of arrays and vector units are those of the layers that the mapper put there, and sum to all."""
    chip, workload, compiled, activity = run(name, seed)
    found = macs_by_engine(workload, activity)
    units = {vector.name for vector in chip.vectors}
    on_vector = {layer.layer for layer in compiled.mapping.layers if layer.unit in units}
    assert found.vector == sum(layer.macs for layer in workload.layers if layer.name in on_vector)
    arrays = [array.name for array in chip.arrays]
    counted = sum(n for (_, part, action), n in activity.counts.items() if action == "mac" and part in arrays)
    assert (found.array, found.total) == (counted, workload.macs)
