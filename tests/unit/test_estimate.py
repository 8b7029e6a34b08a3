"""The analytic model alone against the machine: equal counts, DRAM and network near, time where nothing waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, MappingError
from archsim.lab.kit.options import scalars
from archsim.lab.run.estimate import estimated, simulated
from archsim.lab.run.job import Job, load_chip, prepare
from archsim.lab.run.run import execute
from archsim.lab.sweep.resolve import resolve
from mapper.analytic import shared_counts
from mapper.analytic.estimate import Estimate, estimate
from mapper.search import table_cache
from tests.tools.counts import OWN_ACCOUNT

CASES = (("edge_npu", "squeezenet"), ("tpu_v1", "alexnet"), ("simba_chiplet", "eye_tracking"))


@pytest.mark.parametrize(("chip", "model"), CASES)
def test_counts_are_those_of_the_machine(chip: str, model: str) -> None:
    """Law 38 without a Program: units and memories on chip count the same; bytes of DRAM too."""
    job = Job(model, chip)
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    mine = estimate(asked.workload, architecture, asked.options).counts
    run = execute(job).result.activity
    assert run is not None
    others = {part.name for part in (architecture.host, *(architecture.noc.levels if architecture.noc else ())) if part}

    def plain(counts: object) -> dict[object, int]:
        return {k: n for k, n in counts.items() if n and k[1] not in others and k[2] not in OWN_ACCOUNT}  # type: ignore[attr-defined]

    assert plain(mine) == plain(run.counts)


@pytest.mark.parametrize(("chip", "model"), CASES)
def test_numbers_are_near_those_of_a_run(chip: str, model: str) -> None:
    """All that it knows, under the names of a result; energy within a twentieth, pins and flits within a quarter."""
    job = Job(model, chip)
    mine, run = scalars(estimated(job)), execute(job)
    theirs = scalars(run.summary)
    unknown = {key for key in theirs if simulated(key)}
    assert {key for key, value in mine.items() if value is not None} == {
        key for key, value in theirs.items() if value is not None and key not in unknown
    }
    for key in ("macs", "area_mm2", "workload.weight_bytes", "architecture.peak_macs_per_s", "dram.peak_bytes_per_s"):
        assert mine[key] == theirs[key]
    assert mine["utilization"] * mine["cycles_total"] == pytest.approx(theirs["utilization"] * theirs["cycles_total"])
    assert mine["dram.useful_bytes"] == theirs["dram.useful_bytes"]
    assert mine["dram.read_bytes"] == pytest.approx(theirs["dram.read_bytes"], rel=0.25)
    assert mine["edp_js"] == mine["energy_j"] * mine["latency_s"]


def test_layers_of_a_compute_bound_model_add_up_to_its_run() -> None:
    """Where the arrays are busy all the time nothing is left to overlap: within 2 % of the simulated cycles."""
    job = Job("resnet50", "edge_npu")
    mine, run = scalars(estimated(job)), execute(job).summary
    assert mine["cycles_total"] == pytest.approx(run["cycles_total"], rel=0.02)
    assert mine["energy_j"] == pytest.approx(run["energy_j"], rel=0.01)


def test_energy_is_that_of_the_counts_and_static_power() -> None:
    """Law 37: parts add up; half the clock doubles what leaks and leaves the rest."""
    fast, slow = (estimated(Job("squeezenet", "tpu_v1", values={"clock": text})) for text in ("700 MHz", "350 MHz"))
    for found in (fast, slow):
        assert sum(found["energy_breakdown_j"].values()) == pytest.approx(found["energy_j"], rel=1e-12)
        assert found["power_avg_w"] == pytest.approx(found["energy_j"] / found["latency_s"], rel=1e-12)
    assert slow["area_mm2"] == fast["area_mm2"] and slow["macs"] == fast["macs"]
    assert slow["latency_s"] > fast["latency_s"] and slow["energy_j"] > fast["energy_j"]


def test_the_launch_costs_what_the_host_takes() -> None:
    """Once for a run."""
    job = Job("squeezenet", "edge_npu")
    architecture = load_chip(job)
    assert architecture.host is not None
    slow = estimated(Job("squeezenet", "edge_npu", values={"host.launch": "1 ms"}))
    plain = estimated(job)
    gained = slow["latency_s"] - plain["latency_s"]
    assert gained == pytest.approx(1e-3 - architecture.host.launch_ps * 1e-12, rel=1e-6)


def test_what_cannot_be_mapped_says_so() -> None:
    with pytest.raises(MappingError, match="l1"):
        estimated(Job("squeezenet", "edge_npu", values={"l1.size": "256 B"}))


@pytest.mark.parametrize("key", ["power_peak_w", "mac_breakdown.idle", "dram.row_hit_rate"])
def test_sweeps_refuse_goals_that_it_does_not_know(tmp_path: Path, key: str) -> None:
    spec = tmp_path / "s.yaml"
    spec.write_text(
        f"name: s\nchip: edge_npu\nmodels: [squeezenet]\naxes: {{dram.channels: [1, 2]}}\nobjectives: [{key}]\n"
        "fidelity: cost\n"
    )
    with pytest.raises(ConfigError, match=f"'{key}' is known by simulation alone"):
        resolve(spec)


def test_tables_of_layers_are_kept_within_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of other chips changes nothing, and gives way to what is new."""
    monkeypatch.setattr("archsim.lab.run.job.folder", lambda: None)  # no mappings on disk
    values = {"l1.size": "2 MiB", "mxu.shape": [16, 16]}
    table_cache.forget()
    alone, size = estimated(Job("squeezenet", "edge_npu", values=values)), table_cache.kept_bytes()
    table_cache.forget()
    for text in ("128 KiB", "4 MiB", "512 KiB"):
        estimated(Job("squeezenet", "edge_npu", values={"l1.size": text, "vpu.lanes": 32}))
    before = table_cache.kept_bytes()
    monkeypatch.setattr(table_cache._shelf, "most_bytes", 0)
    assert estimated(Job("squeezenet", "edge_npu", values=values)) == alone
    assert 0 < table_cache.kept_bytes() < min(size, before) / 4


def test_what_tables_take_is_counted_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """The count that is kept beside the tables is that of all arrays in them."""
    monkeypatch.setenv("ARCHSIM_NO_CACHE", "1")  # with mappings from the cache nothing is searched
    table_cache.forget()
    estimated(Job("eye_tracking", "edge_npu"))
    found = list(table_cache._shelf.tables.values())
    assert found and table_cache.kept_bytes() > 0
    for each in found:
        arrays = sum(map(len, each.sizes.values())) + table_cache.WORK_ARRAYS * len(each.done)
        assert each.size_bytes == 8 * each.grid.size * arrays


def test_the_oldest_work_of_a_layers_units_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """More variants of the units than are kept: the count is that of what is there, made again or not."""
    monkeypatch.setenv("ARCHSIM_NO_CACHE", "1")
    table_cache.forget()
    lanes = range(16, 16 + table_cache.UNITS + 1)
    for number in (*lanes, lanes[0]):
        estimated(Job("eye_tracking", "edge_npu", values={"vpu.lanes": number}))
    full = [each for each in table_cache._shelf.tables.values() if len(each.done) == table_cache.UNITS]
    assert full
    for each in full:
        arrays = sum(map(len, each.sizes.values())) + table_cache.WORK_ARRAYS * len(each.done)
        assert each.arrays.number == arrays


VARIANTS = (
    (
        "edge_npu",
        "squeezenet",
        ({}, {"clock": "600 MHz"}, {"dram.channels": 1}, {"mxu.shape": [16, 16]}, {"l1.word": "64 B"}),
    ),
    ("simba_chiplet", "eye_tracking", ({}, {"clock": "600 MHz"}, {"mesh.multicast": False})),
)


@pytest.mark.parametrize(("chip", "model", "variants"), VARIANTS)
def test_counts_kept_from_other_chips_are_those_counted_anew(
    chip: str, model: str, variants: tuple[dict[str, object], ...]
) -> None:
    """Layers that were counted on one chip of a sweep stand for those of another only where they count the same."""

    def of(values: dict[str, object]) -> Estimate:
        job = Job(model, chip, values=values)
        architecture = load_chip(job)
        asked = prepare(job, architecture)
        return estimate(asked.workload, architecture, asked.options)

    shared_counts.forget()
    kept_ones = [of(values) for values in variants]
    for values, found in zip(variants, kept_ones, strict=True):
        shared_counts.forget()
        assert list(of(values).counts.items()) == list(found.counts.items())
