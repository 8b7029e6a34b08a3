"""The DRAM controller against measured runs: cycles, latencies and, in short runs, every command."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archsim.facts.dram.device import DramChannel
from archsim.lab.validate import dram
from archsim.lab.validate.dram_configs import read
from archsim.lab.validate.dram_streams import stream
from archsim.memory.dram.trace import ReplayedTrace, replay
from tests.tools.dram_commands import named

DATA = Path(__file__).parents[2] / "studies" / "validation" / "dram"
CONFIGS = json.loads((DATA / "configs.json").read_text())["configs"]
GOLDEN = json.loads((DATA / "golden.json").read_text())["traces"]
RUNS = json.loads((DATA / "runs.json").read_text())["results"]
MANY = json.loads((DATA / "multi_channel" / "runs.json").read_text())["results"]
MANY_CONFIGS = json.loads((DATA / "multi_channel" / "configs.json").read_text())["configs"]
EVERY = 7  # of the runs on several channels: 14 of 96, each configuration, twelve patterns, both loads
pytestmark = pytest.mark.slow  # compiles the controller


def test_every_run_is_exact() -> None:
    result = dram.run(DATA, lambda row: row in RUNS)
    assert result.met and result.incomplete == "" and result.cases == result.exact == 72
    assert sum(run["config"].startswith("ram_") for run in RUNS) == 72
    assert result.skipped == () and len(result.beside) == 42 * 14 + 21  # 21 with writes


def test_runs_on_several_channels_and_of_long_queues_are_exact() -> None:
    """`archsim validate dram` scores all 96; these are of every configuration, either load and each pattern."""
    chosen = MANY[::EVERY]
    for key in ("config", "pattern", "load", "ipc"):
        assert {row[key] for row in chosen} == {row[key] for row in MANY}, key
    result = dram.run(DATA, lambda row: row in chosen)
    assert result.met and result.cases == result.exact == len(chosen) == 14 and result.skipped == ()
    alone = dram.run(DATA / "multi_channel", lambda row: row == chosen[-1])
    assert (alone.cases, alone.exact) == (1, 1)


def run_of(row: dict[str, Any], requests_per_cycle: int | None) -> ReplayedTrace:
    device, mapping, policy, channels = read(row["config"], MANY_CONFIGS[row["config"]], row["req_bytes"])
    requests = stream(row["pattern"], row["n"], row["req_bytes"], row["num"], row["den"])
    return replay(device, mapping, policy, *requests, channels, requests_per_cycle=requests_per_cycle)


def test_what_a_run_offers_in_a_cycle_decides() -> None:
    """Two requests a cycle over four channels of HBM2, as recorded: rows too; eight for each end sooner."""
    named = ("ram_hbm2_2000_4ch_roco_ipc2", "seq_rd", "sat")
    row = next(row for row in MANY if (row["config"], row["pattern"], row["load"]) == named)
    recorded, unlimited = run_of(row, row["ipc"]), run_of(row, None)
    found = [int(rows.sum()) for rows in (recorded.hits, recorded.misses, recorded.conflicts)]
    assert recorded.cycles == row["cycles"] > unlimited.cycles == run_of(row, 8 * 4).cycles
    assert found == [row["stats"][f"row_{kind}"] for kind in ("hits", "misses", "conflicts")]


@pytest.mark.parametrize("name", GOLDEN)
def test_every_command_is_the_reference_s(name: str) -> None:
    golden = GOLDEN[name]
    size = 64 if CONFIGS[golden["config"]]["standard"] == "DDR4" else 32
    device, mapping, policy, channels = read(golden["config"], CONFIGS[golden["config"]], size)
    requests = stream(golden["pattern"], golden["requests"], size, golden["num"], golden["den"])
    result = replay(device, mapping, policy, *requests, channels, log=True)
    assert (result.cycles, len(commands(device, result))) == (golden["cycles"], golden["commands"])
    assert digest(commands(device, result)) == golden["commands_sha256"]
    _, addresses, writes = requests
    reads = np.flatnonzero(writes == 0)
    times = np.stack([addresses[reads], result.accepted[reads], result.ended[reads]], axis=1)
    assert digest([",".join(map(str, row)) for row in sorted(times.tolist())]) == golden["reads_sha256"]


def commands(device: DramChannel, result: ReplayedTrace) -> list[str]:
    """cycle, command, rank and, but for commands to a whole rank, bank group, bank, row, column."""
    assert result.commands is not None
    rows = result.commands[0]
    lines = []
    for (cycle, name, bank, row), column in zip(named(device, rows), rows[:, 4].tolist(), strict=True):
        rank, group = bank // device.size_of("rank"), bank // device.banks % device.groups
        place = [rank] if name in ("PREab", "REFab") else [rank, group, bank % device.banks, row, column]
        lines.append(",".join(map(str, [cycle, name, *place])))
    return lines


def digest(lines: list[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def test_row_hits_are_the_reference_s() -> None:
    for run in RUNS:
        if run["config"].startswith("ram_") and run["load"] == 0.5:
            device, mapping, policy, channels = read(run["config"], CONFIGS[run["config"]], run["req_bytes"])
            requests = stream(run["pattern"], run["n"], run["req_bytes"], run["num"], run["den"])
            result = replay(device, mapping, policy, *requests, channels)
            stats = run["stats"]
            expected = (stats["row_hits"], stats["row_misses"], stats["row_conflicts"])
            assert (int(result.hits[0]), int(result.misses[0]), int(result.conflicts[0])) == expected


def test_what_cannot_be_scored_is_said(tmp_path: Path) -> None:
    (tmp_path / "configs.json").write_text(json.dumps({"configs": CONFIGS}))
    odd = [dict(RUNS[-1], pattern="seq_red"), dict(RUNS[-1], config="ram_ddr6"), {"config": "ram_ddr4_2400_1r_roco"}]
    kept = next(run for run in RUNS if run["config"].startswith("ram_") and run["load"] == 0.2)
    (tmp_path / "runs.json").write_text(json.dumps({"results": [dict(kept, cycles=kept["cycles"] + 1), *odd]}))
    result = dram.run(tmp_path)
    assert result.incomplete == "incomplete: 2 of 3 not scored" and len(result.skipped) == 3  # the last run is of ds3
    assert not result.met and result.cases == 1 and result.failed[0].got == kept["cycles"]
    said = " ".join(row.reason for row in result.skipped)
    assert "did you mean 'seq_rd'" in said or "no configuration" in said
    assert "no configuration 'ram_ddr6'" in said and "KeyError" in said
