"""Laws of repeated runs: 44, and what the steady interval is."""

from __future__ import annotations

import pytest

import archsim as ax
from archsim.base.errors import ConfigError
from archsim.lab.run.job import BuiltJob, Job, build
from archsim.repetition import Repetition, repeat
from archsim.repetition import _run as run
from archsim.sim.given_up import GivenUpError
from archsim.sim.machine_choice import MachineChoice
from archsim.system import Machine, simulate
from tests.laws.two_machines import differences

RUNS = 7
CHIPS = [
    ("edge_npu", {}),
    ("edge_npu", {"dram.standard": "ddr4", "dram.speed": "2400 MT/s", "dram.width": "64 b", "dram.channels": 1}),
    ("edge_npu", {"dram.rows": "timeout", "dram.row_timeout": "200 ns"}),
    ("edge_npu", {"dram.rows": "closed", "dram.address_map": "MOP4CLXOR"}),
    ("edge_npu", {"dram.fidelity": "fast"}),
    ("edge_npu", {"clock": "777 MHz"}),
    ("gemmini_16x16", {}),
]


def built(chip: str, values: dict[str, object], model: str = "eye_tracking") -> BuiltJob:
    return build(Job(model, chip, values=values))


def both(found: BuiltJob, runs: int = RUNS) -> tuple[Repetition, Repetition]:
    return repeat(found.program, found.architecture, runs), repeat(found.program, found.architecture, runs, "steady")


@pytest.mark.parametrize(("chip", "values"), CHIPS)
def test_steady_is_exact_without_refresh(chip: str, values: dict[str, object]) -> None:
    """Law 44: `--repeat exact` = `--repeat steady` with refresh off, to the picosecond, at every number of runs."""
    quiet = {"dram.refresh": "none"} if chip == "edge_npu" else {}
    found = built(chip, values | quiet)
    for runs in (2, 3, RUNS):
        exact, steady = both(found, runs)
        assert steady.interval_ps == exact.interval_ps
        assert steady.difference == 0
        assert steady.simulated <= exact.simulated == runs


@pytest.mark.parametrize(("chip", "values"), CHIPS)
def test_steady_is_near_with_refresh(chip: str, values: dict[str, object]) -> None:
    """With refresh the difference is what it says it is on the second run, and small on the last."""
    found = built(chip, values)
    exact, steady = both(found)
    second = repeat(found.program, found.architecture, 2).interval_ps
    again = repeat(found.program, found.architecture, 2, "steady")
    assert steady.difference == again.difference == again.interval_ps / second - 1
    assert abs(steady.interval_ps / exact.interval_ps - 1) < 0.02


def test_the_first_run_is_the_simulated_one() -> None:
    """The runs begin where simulate() does: the first takes as long as a run alone."""
    found = built("edge_npu", {})
    starts: list[int] = []

    def begins(now_ps: int, _: object) -> bool:
        starts.append(now_ps)
        return len(starts) < 3

    Machine(found.program, found.architecture, trace=False).repeat(begins)
    assert starts[:2] == [0, simulate(found.program, found.architecture).total_ps]
    assert starts == sorted(starts) and len(starts) == 3


MACHINES = [
    ("eye_tracking", "edge_npu", {}, {}),
    ("eye_tracking", "edge_npu", {"dma.clock": "777 MHz"}, {}),
    ("eye_tracking", "gemmini_16x16", {}, {}),
    ("gelu", "a100", {"platform": "llmcompass"}, {"elements": 65536}),
    ("gelu", "a100", {}, {"elements": 65536}),
    ("bert_base_block", "tpu_v6e", {"platform": "xla"}, {}),
]


@pytest.mark.parametrize(("model", "chip", "values", "parameters"), MACHINES)
@pytest.mark.parametrize("mode", ["exact", "steady"])
def test_both_machines_repeat_alike(
    model: str, chip: str, values: dict[str, object], parameters: dict[str, int], mode: str
) -> None:
    """Every run begins and ends at the same picosecond in the compiled machine, whatever clock the host is on."""
    found = build(Job(model, chip, values=values, parameters=parameters))
    starts = []
    for compiled in (True, False):
        machine = Machine(found.program, found.architecture, trace=False, compiled=compiled)
        starts.append(run(machine, 3, mode == "steady").starts)
    assert starts[0] == starts[1]


def test_a_compiled_machine_that_gives_up_leaves_all_runs_to_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the second run, too: the machine of processes begins anew."""
    found = build(Job("eye_tracking", "edge_npu"))
    exact = repeat(found.program, found.architecture, 3)
    monkeypatch.setattr(MachineChoice, "is_compiled", lambda *_: True)
    assert repeat(found.program, found.architecture, 3) == exact
    loads, loaded = [], Machine._load

    def gives_up(machine: Machine, *columns: object) -> None:
        loads.append(machine)
        if len(loads) == 2:
            raise GivenUpError("in the second run")
        loaded(machine, *columns)

    monkeypatch.setattr(Machine, "_load", gives_up)
    assert repeat(found.program, found.architecture, 3) == exact
    assert len({id(machine) for machine in loads}) == 2


@pytest.mark.parametrize(("model", "chip", "values", "parameters"), MACHINES)
def test_both_machines_run_shipped_chips_alike(
    model: str, chip: str, values: dict[str, object], parameters: dict[str, int]
) -> None:
    """The Activity is one, to the last record: tokens for a host on a clock of its own are seen as late."""
    found = build(Job(model, chip, values=values, parameters=parameters))
    assert differences(found.program, found.architecture) == []


def test_the_front_door() -> None:
    """``warm`` changes the throughput and the provenance, and nothing else."""
    once = ax.run("eye_tracking", "edge_npu").summary
    warm = ax.run("eye_tracking", "edge_npu", warm=5, repeat="steady").summary
    told = warm["provenance"].pop("repeat")
    assert once["provenance"].pop("repeat") == "exact"
    assert (told["mode"], told["warm"]) == ("steady", 5) and told["simulated"] <= 6
    assert warm["throughput_per_s"] == 1 / told["interval_s"]
    assert abs(told["difference"]) < 0.02
    for summary in (once, warm):
        summary.pop("throughput_per_s")
    assert warm == once


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"warm": 0}, "1 or more"),
        ({"repeat": "often"}, "exact, steady"),
        ({"warm": 3, "repeat": "often"}, "exact, steady"),
        ({"fidelity": "exakt"}, "exact, fast"),
    ],
)
def test_refused(options: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        ax.run("eye_tracking", "edge_npu", **options)
