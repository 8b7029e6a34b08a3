"""Energy of DRAM commands from currents: the tables' figures, and the measured runs of DRAMsim3."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ConfigError
from archsim.energy.dram import load_dram
from archsim.energy.dram_currents import DramCurrents, load_currents, per_command
from archsim.facts.dram.bit_order import mapped
from archsim.facts.dram.device import ControllerPolicy
from archsim.lab.validate.dram_energy import OTHERS, beside
from archsim.memory.dram.device_records import COMMANDS
from archsim.memory.dram.trace import replay

DATA = Path(__file__).parents[2] / "studies" / "validation" / "dram" / "runs.json"
RUNS = [run for run in json.loads(DATA.read_text())["results"] if run["config"] in OTHERS]
PERIOD_NS = 0.83  # of the DRAMsim3 runs from which the table was made


def test_the_table_is_its_currents() -> None:
    """DDR4: figures by command and standing power of the table are the formulas at tRAS 39, tRP 17, tRFC 420 cycles."""
    table, currents = load_dram("ddr4"), load_currents("ddr4")
    assert currents.width_bits == table.width_bits
    found = per_command(
        currents, ras_ns=39 * PERIOD_NS, rp_ns=17 * PERIOD_NS, burst_ns=4 * PERIOD_NS, rfc_ns=420 * PERIOD_NS
    )
    assert round(found.activate_pj) == table.activate_pj.value
    assert round(found.refresh_pj) == table.refresh_pj.value
    assert found.open_mw == pytest.approx(table.background_mw.value)
    assert found.closed_mw == pytest.approx(table.precharged_mw.value)
    io = 10  # pJ/bit, apart from the devices
    assert table.read_pj_per_bit.value == pytest.approx(found.read_pj / 512 + io, abs=0.005)
    assert table.write_pj_per_bit.value == pytest.approx(found.write_pj / 512 + io, abs=0.005)


def test_formulas() -> None:
    """Worked by hand: 2 devices at 2 V; 50 mA x 60 ns - 20 x 40 - 10 x 20 = 2000, times 4."""
    currents = DramCurrents(
        devices=2, vdd_v=2, idd0_ma=50, idd2n_ma=10, idd3n_ma=20, idd4r_ma=120, idd4w_ma=95, idd5_ma=220,
        width_bits=64, source="a test",
    )  # fmt: skip
    found = per_command(currents, ras_ns=40, rp_ns=20, burst_ns=4, rfc_ns=100)
    assert (found.activate_pj, found.read_pj, found.write_pj, found.refresh_pj) == (8000, 1600, 1200, 80_000)
    assert (found.open_mw, found.closed_mw) == (80, 40)
    with pytest.raises(ConfigError, match="currents: missing; allowed a mapping of the currents"):
        load_currents("lpddr5")


@pytest.mark.parametrize("config", OTHERS)
def test_standing_power_of_the_runs(config: str) -> None:
    """DRAMsim3's two standby energies divided by the powers of the formulas are whole cycles that add up to its run."""
    other = OTHERS[config]
    for run in RUNS:
        if run["config"] == config:
            found = per_command(load_currents(other.standard), ras_ns=1, rp_ns=1, burst_ns=1, rfc_ns=1)
            stats = run["stats"]
            opened, closed = stats["act_stb_energy"] / found.open_mw, stats["pre_stb_energy"] / found.closed_mw
            assert opened == pytest.approx(round(opened), abs=1e-3)
            assert round(opened) + round(closed) == run["cycles"]


def test_open_time() -> None:
    """Two rows of a bank: open from the first activate to the end but for a precharge; or from activates to reads."""
    found = {}
    for rows in ("open", "closed"):
        policy = ControllerPolicy(rows=rows, refresh="none")  # type: ignore[arg-type]
        memory = OTHERS["ds3_ddr4_2400_1r_bglow"].memory()
        mapping, _ = mapped("row bank column bankgroup", memory)
        reads = np.array([100, 5000]), np.array([0, 64 * 128 * 64]), np.zeros(2, np.int64)
        found[rows] = replay(memory.device, mapping, policy, *reads, log=True)
    for rows, result in found.items():
        assert result.commands is not None
        issued = {COMMANDS[name]: [] for name in ("ACT", "PREpb", "RD", "RDA")}  # type: ignore[var-annotated]
        for cycle, command, *_ in result.commands[0].tolist():
            issued.setdefault(command, []).append(cycle)
        acts, columns = issued[COMMANDS["ACT"]], issued[COMMANDS["RD"]] + issued[COMMANDS["RDA"]]
        if rows == "open":
            assert result.opened.tolist() == [result.cycles - acts[0] - (acts[1] - issued[COMMANDS["PREpb"]][0])]
        else:
            assert result.opened.tolist() == [sum(columns) - sum(acts)]


@pytest.mark.slow
@pytest.mark.parametrize("config", OTHERS)
def test_runs_of_another_simulator(config: str) -> None:
    """Energy a command is equal; where no streams compete for a bank, counts, standing time and total within 1 %."""
    for run in RUNS:
        if run["config"] != config or (run["pattern"], run["load"]) not in (("rand_rd", 0.5), ("seq_rd", 0.5)):
            continue
        rows = {row.case.partition(" ")[2]: row for row in beside("a run", run)}
        for name in ("activate", "read", "refresh"):
            assert rows[f"run pJ a {name}"].error_pct < 1e-4
        for name in ("activates", "reads", "refreshes", "act_stb_energy pJ", "pre_stb_energy pJ", "total_energy pJ"):
            assert rows[f"run {name}"].error_pct < 1, name
