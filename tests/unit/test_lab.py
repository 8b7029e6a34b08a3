"""The lab around a run: what-if variants, whose fault a bad Program is, where mappings and suites come from."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from fixtures_result import make_result

from archsim.base.errors import ConfigError, MappingError, ProgramError
from archsim.ir.mapping import Keep, LayerMapping, Loop, ModelMapping
from archsim.ir.program import Program
from archsim.ir.result import Result
from archsim.ir.schedule import Group, Member, SharedKeep, SharedLoop, TensorWindow
from archsim.lab.run import map_only as mappings
from archsim.lab.run.job import BuiltJob, Job, build
from archsim.lab.run.offchip import outer_rates
from archsim.lab.run.run import execute, simulated
from archsim.lab.what_if.variants import variants
from archsim.lab.what_if.why import why
from archsim.report.run.loopnest import loop_nest
from archsim.spec.architecture import Architecture
from archsim.spec.load import load
from archsim.spec.load import replace as vary
from tests.tools.commands import GOLDEN
from tests.unit.fixtures_gather import CACHE
from tests.unit.fixtures_gather import chip as gathering


@pytest.fixture(scope="module")
def golden() -> Architecture:
    return load(GOLDEN / "chip.yaml")


def test_variants_double_each_resource_and_are_chips(golden: Architecture) -> None:
    for chip in (golden, load("edge_npu"), load("tpu_v1"), load("scalesim_32x32")):
        found = list(variants(chip))
        assert found[-1].name == "clock x1.2"
        for variant in found:
            changed = vary(chip, variant.keys)
            assert changed != chip
    keys = {variant.name: variant.keys for variant in variants(load("edge_npu"))}
    assert keys["dram channels x2"] == {"dram.channels": 8}
    assert keys["l1 size x2"] == {"l1.size": "4 MiB"}
    assert keys["l1 ports x2"] == {"l1.ports.read": 2, "l1.ports.write": 2}
    assert keys["mxu columns x2"] == {"mxu.shape": [32, 64]}


def test_variants_of_shared_ports_and_infinite_memory(golden: Architecture) -> None:
    shared = vary(golden, {"l1.ports": {"shared": 1}, "dram.bandwidth": "infinite"})
    keys = {variant.name: variant.keys for variant in variants(shared)}
    assert keys["l1 ports x2"] == {"l1.ports.shared": 2}
    assert not any(name.startswith("dram") for name in keys)
    named = vary(golden, {"l1.ports.dma": {"write": 1}})
    keys = {variant.name: variant.keys for variant in variants(named)}
    assert keys["l1 ports x2"] == {"l1.ports.read": 2, "l1.ports.write": 2, "l1.ports.dma.write": 2}
    assert vary(named, keys["l1 ports x2"]).memory("l1").private_ports["dma"].write == 2


def test_variants_of_what_gathers_use() -> None:
    chip = gathering(CACHE, "{outstanding: 8}")
    found = {variant.name: variant.keys for variant in variants(chip)}
    assert found["rows size x2"] == {"rows.size": "2 KiB"} and found["dma outstanding x2"] == {"dma.outstanding": 16}
    assert vary(chip, found["rows ports x2"]).caches[0].ports.read == 2


def test_gains_are_in_cycles_of_the_chip_as_it_is(golden: Architecture) -> None:
    base = make_result(3)

    def again(chip: Architecture, what: str) -> Result:
        faster = {**base.architecture, "clock_hz": int(base.architecture["clock_hz"] * Fraction(6, 5))}
        figures = {**base.figures, "area_mm2": 12.62, "power_avg_w": base.power_avg_w + 0.5}
        same_cycles = replace(base, architecture=faster, figures=figures)
        if what == "l1 size x2":
            raise MappingError("conv1 needs more than there is\nsecond line")
        return same_cycles

    rows = {row.variant.name: row for row in why(base, golden, again)}
    clock = rows["clock x1.2"]
    assert clock.cycles_total == -(-base.cycles_total * 5 // 6)
    assert clock.gain_cycles == base.cycles_total - clock.cycles_total
    assert clock.gain_percent == pytest.approx(100 / 6, abs=0.01)
    assert (clock.area_mm2, clock.power_mw) == (pytest.approx(1.0), pytest.approx(500))
    failed = rows["l1 size x2"]
    assert failed.cycles_total is None and failed.reason == "conv1 needs more than there is"
    assert failed.to_json()["keys"] == {"l1.size": "16 KiB"}


def test_a_bad_program_is_the_users_fault_or_ours(monkeypatch: pytest.MonkeyPatch, golden: Architecture) -> None:
    def refuse(*_: Any) -> None:
        raise ProgramError("slot overwritten")

    monkeypatch.setattr("archsim.ir.check.program.check", refuse)
    built = BuiltJob(golden, Program("p", "golden", (), (), (), (), ()))
    for model, code in (("p.asm", 2), ("resnet50", 1)):
        with pytest.raises(ProgramError) as caught:
            simulated(Job(model, golden), built)
        assert caught.value.exit_code == code


@pytest.mark.parametrize(
    ("values", "flag"),
    [
        ({"batch": 2}, "--batch"),
        ({"objective": "edp"}, "--objective"),
        ({"on_unsupported": "host"}, "--on-unsupported"),
    ],
)
def test_a_program_takes_no_compiler_options(golden: Architecture, values: dict[str, Any], flag: str) -> None:
    with pytest.raises(ConfigError, match=f"{flag}: the Program"):
        build(Job(GOLDEN / "program.asm", golden, **values))


def test_the_compiler_is_told_of_dram() -> None:
    edge = outer_rates(load("edge_npu"))["dram"]
    assert edge.peak_bytes_per_s == 51.2e9
    assert 0 < edge.write_latency_s < edge.read_latency_s < 50e-9
    constant = outer_rates(load(GOLDEN / "chip.yaml"))["dram"]
    assert (constant.peak_bytes_per_s, constant.read_latency_s) == (8e9, 0.0)


def test_loop_nests_read_outermost_first() -> None:
    nodes = (Keep("b", "l1", 1, 0), Loop("m", 8), Keep("a", "l1", 2, 3), Loop("k", 4, "rows"), Keep("out", "l1", 0, 4))
    layer = LayerMapping("conv1", "mxu", "matmul", nodes, ("out",), 1234, 99, 50, "optimal in the stated space")
    assert loop_nest(layer).splitlines() == [
        "conv1: matmul on mxu",
        "  keep b in l1, 1 slot",
        "  for m in tiles of 8, in time",
        "    keep a in l1, 2 slots, as a sliding window",
        "    for k in tiles of 4, spread over rows",
        "      out lies whole in l1",
        "  stays on chip: out",
        "  at least 1,234 cycles; optimal in the stated space; 50 of 99 mappings evaluated",
    ]
    whole = ModelMapping("net", "chip", "latency", (layer,), (), {})
    with pytest.raises(ConfigError, match="no layer 'conv2' in net .did you mean 'conv1'"):
        list(mappings.texts(whole, {}, "conv2"))
    (told,) = mappings.texts(whole, {"mxu": "weight_stationary"})
    assert told.splitlines()[0] == "conv1: matmul on mxu (weight_stationary)"


def test_loop_nests_of_a_group_stand_below_what_its_layers_share() -> None:
    make, alone, read = (
        LayerMapping(name, unit, "matmul", (Loop("n", 8), Keep(operand, "l1", 0, 1)), (), 1234, 9, 9, "optimal")
        for name, unit, operand in (("make", "vpu", "out"), ("alone", "vpu", "a"), ("read", "mxu", "a"))
    )
    shared = (SharedKeep("make", "b", "l1", 1), SharedLoop("read", "m", 8))
    window = TensorWindow("made", "l1", 2, "m", 10, 8)
    group = Group("both", (Member("make", 2), Member("read")), shared, (window, TensorWindow("other", "l1", 1)))
    whole = ModelMapping("net", "chip", "latency", (make, read, alone), (), {}, groups=(group,))
    dataflows = {"mxu": "weight_stationary"}
    together, apart = mappings.texts(whole, dataflows)
    assert together.splitlines() == [
        "group both: 2 layers run together, pass by pass",
        "  keep make.b in l1, 1 slot",
        "  for read.m in tiles of 8, in passes",
        "    made lies in a window in l1: 2 slots of 10 rows of m, 8 of them new, for a pass each",
        "    other lies in a window in l1: 1 slot for a pass each",
        "  make: matmul on vpu, 2 passes ahead of the last layer",
        "    for n in tiles of 8, in time",
        "      out lies in a window in l1",
        "    at least 1,234 cycles; optimal; 9 of 9 mappings evaluated",
        "  read: matmul on mxu (weight_stationary)",
        "    for n in tiles of 8, in time",
        "      a lies in a window in l1",
        "    at least 1,234 cycles; optimal; 9 of 9 mappings evaluated",
    ]
    assert apart.splitlines()[0] == "alone: matmul on vpu"
    (one,) = mappings.texts(whole, dataflows, "read")
    assert one.splitlines() == [*together.splitlines()[:5], *together.splitlines()[-4:]]


@pytest.mark.parametrize("is_mapped", [True, False])
def test_what_if_keeps_a_mapping_only_where_there_is_one(is_mapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Program text has none to keep."""
    from archsim.lab.what_if import why as asked

    kept: list[object] = []
    monkeypatch.setattr(asked, "why", lambda base, chip, again, keep, objective: kept.append(keep) or ())
    done = execute(Job(GOLDEN / ("workload.yaml" if is_mapped else "program.asm"), GOLDEN / "chip.yaml"))
    done.explained(Job(GOLDEN / "workload.yaml", GOLDEN / "chip.yaml"))
    assert len(kept) == 1 and (kept[0] is asked.no_mapping) == (not is_mapped)
