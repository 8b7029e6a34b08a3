"""``archsim dram``: a request trace on the memory model alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from archsim.base.errors import ConfigError
from archsim.cli.app import main
from archsim.facts.dram import catalogue
from archsim.facts.dram.address import by_name
from archsim.facts.dram.device import ControllerPolicy
from archsim.lab.dram.measure import DramReplay, measure
from archsim.lab.validate.dram_streams import stream
from archsim.memory.dram.trace import replay

Archsim = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = pytest.mark.slow  # compiles the controller
GOLDEN = json.loads((Path(__file__).parents[2] / "studies/validation/dram/golden.json").read_text())["traces"]
MEMORIES = {"ram_lpddr5_6400_mop4": ("lpddr5", 6400, 32), "ram_hbm2_2000_1ch_mop4": ("hbm2", 2000, 32)}


def written(folder: Path, pattern: str, requests: int, size: int, num: int, den: int) -> Path:
    """A stream as a CSV file, addresses in hexadecimal."""
    arrivals, addresses, writes = stream(pattern, requests, size, num, den)
    rows = zip(arrivals, addresses, writes, strict=True)
    lines = [f"{cycle},{address:#x},{'RW'[write]}" for cycle, address, write in rows]
    path = folder / "t.csv"
    path.write_text("\n".join(["cycle,address,write", *lines, ""]))
    return path


@pytest.mark.parametrize("config", MEMORIES)
def test_a_standard_by_name_is_the_reference(config: str, tmp_path: Path) -> None:
    golden = GOLDEN[f"{config}_rand_mix_L500"]
    standard, speed, size = MEMORIES[config]
    path = written(tmp_path, golden["pattern"], golden["requests"], size, golden["num"], golden["den"])
    asked = DramReplay(trace=path, standard=standard, speed_mts=speed, mapping="MOP4CLXOR")
    with pytest.raises(ConfigError, match="address: found .*; allowed 0 to"):
        measure(asked)  # the stream covers 4 GiB
    arrivals, addresses, writes = stream(golden["pattern"], golden["requests"], size, golden["num"], golden["den"])
    width_bits, capacity_bytes = catalogue.usual(standard)
    device = catalogue.dram(standard, speed, width_bits, 1, capacity_bytes).device
    found = replay(device, by_name("MOP4CLXOR", device), ControllerPolicy(), arrivals, addresses, writes)
    assert found.cycles == golden["cycles"]


def test_figures(archsim: Archsim, tmp_path: Path) -> None:
    path = written(tmp_path, "dma_tile", 2000, 64, 0, 1)
    done = archsim("dram", str(path), "--standard", "ddr4", "--speed", "2400", "--format", "json")
    assert done.returncode == 0 and done.stderr in ("", "compiling functions (kept in the cache for later runs)\n")
    found = json.loads(done.stdout)
    assert found["requests"] == found["reads"] + found["writes"] == 2000
    assert found["row_hits"] + found["row_misses"] + found["row_conflicts"] == 2000
    assert found["peak_bytes_per_s"] == 19_200_000_000 and 0.5 < found["utilization"] < 1
    assert sum(row["reads"] for row in found["read_latency"]["histogram"]) == found["reads"]
    assert found["commands"]["RD"] == found["reads"] and found["commands"]["WR"] == found["writes"]
    energy = found["energy_j"]
    assert energy["total"] == pytest.approx(sum(value for name, value in energy.items() if name != "total"))
    table = archsim("dram", str(path), "--standard", "ddr4", "--speed", "2400", "--channels", "2")
    assert table.stderr == ""
    assert "2 x 64 b" in table.stdout and "of 38.4 GB/s" in table.stdout and "pJ/bit" in table.stdout
    idle = archsim("dram", str(path), "--standard", "ddr4", "--speed", "2400", "--rows", "timeout")
    assert "rows timeout (100 ns), refresh all_bank" in idle.stdout
    closed = archsim("dram", str(path), "--standard", "ddr4", "--speed", "2400", "--rows", "closed")
    assert "RDA" in closed.stdout


def test_policies_maps_and_wide_channels(archsim: Archsim, tmp_path: Path) -> None:
    """Rows closed when idle, refresh bank by bank, an order of bits, and a wide channel as the native ones it is."""
    path = written(tmp_path, "seq_rd", 2000, 32, 40, 1)

    def found(*options: str) -> dict[str, Any]:
        done = archsim("dram", str(path), "--standard", "lpddr5x", "--speed", "8533", "--format", "json", *options)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    usual = found()
    idle = found("--rows", "timeout", "--row-timeout", "20 ns")
    assert idle["row_hits"] < usual["row_hits"] and idle["memory"]["row_timeout_ns"] == 20
    assert "row_timeout_ns" not in usual["memory"] and usual["memory"]["source"].startswith("estimated")
    bank = found("--refresh", "per_bank")
    assert bank["commands"]["REFpb"] > 7 * usual["commands"]["REFab"] and "REFab" not in bank["commands"]
    assert bank["energy_j"]["refresh"] == pytest.approx(usual["energy_j"]["refresh"], rel=0.2)
    wide, four = found("--width", "64"), found("--channels", "4")
    assert wide["memory"]["native_channels"] == four["memory"]["native_channels"] == 4
    assert [wide[key] for key in ("cycles", "energy_j", "peak_bytes_per_s")] == [
        four[key] for key in ("cycles", "energy_j", "peak_bytes_per_s")
    ]
    assert found("--map", "row bank bankgroup column")["cycles"] == usual["cycles"]
    assert found("--map", "row column bank bankgroup")["row_hits"] < usual["row_hits"]


def test_requests_a_cycle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--ipc is over all channels; without it, 8 for each native channel are offered, and printed."""
    path = written(tmp_path, "seq_rd", 4000, 32, 0, 1)
    memory = ("dram", str(path), "--standard", "hbm3", "--speed", "6400", "--channels", "16", "--map", "RoBaRaCoCh")

    def found(*options: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main([*memory, "--format", "json", *options])
        assert not ended.value.code
        return dict(json.loads(capsys.readouterr().out))

    usual, eight, four = found(), found("--ipc", "8"), found("--ipc", "4")
    assert [run["memory"]["requests_per_cycle"] for run in (usual, eight, four)] == [128, 8, 4]
    assert found("--ipc", "128") == usual and usual["cycles"] < eight["cycles"] < four["cycles"]
    assert four["cycles"] >= 4000 // 4
    with pytest.raises(SystemExit):
        main([*memory, "--ipc", "2"])
    assert "16 x 64 b, RoBaRaCoCh, rows open, refresh all_bank, 2 requests a cycle offered" in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        main([*memory, "--ipc", "0"])
    assert refused.value.code == 2 and "--ipc" in capsys.readouterr().err


def test_parquet_and_time(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"time_ns": [0.0, 0.9, 100.0], "address": [0, 64, 128], "write": [0, 0, 1]}).to_parquet(path)
    found = measure(DramReplay(trace=path, standard="ddr4", speed_mts=2400))
    assert found["reads"] == 2 and found["cycles"] > 120


BAD = [
    ("cycle,address,write\n5,0,R\n4,0,R\n", "t.csv:3: cycle: found 4; allowed times that do not fall"),
    ("cycle,address,write\n-5,0,R\n", "t.csv:2: cycle: found -5; allowed 0 or more"),
    ("cycle,address,write\n5,63,R\n", "t.csv:2: address: found 63; allowed multiples of 64 B"),
    ("cycle,address,write\n5,0x800000000,R\n", "allowed 0 to 8589934528 (--capacity)"),
    ("cycle,address,write\n5,-64,R\n", "t.csv:2: address: found -64"),
    ("cycle,address,write\n5,abc,R\n", "t.csv:2: address: found abc; allowed integers"),
    ("cycle,address,write\n5,0,X\n", "t.csv:2: write: found X; allowed 0, 1, R, W"),
    ("cycle,adress,write\n5,0,R\n", "t.csv:1: unknown column 'adress' (did you mean 'address'?)"),
    ("time_n,address,write\n5,0,R\n", "t.csv:1: unknown column 'time_n' (did you mean 'time_ns'?)"),
    ("cycle,where,write\n5,0,R\n", "t.csv:1: no column 'address'; the first line names the columns"),
    ("address,write\n0,R\n", "t.csv:1: no column 'cycle' or 'time_ns'; the first line names the columns"),
    ("cycle,time_ns,address,write\n0,0,0,R\n", "found columns 'cycle' and 'time_ns'; needed is one of them"),
    ("cycle, cycle,address,write\n0,0,0,R\n", "t.csv:1: column 'cycle' twice"),
    ("cycle,address,write\n5,0,R\n6,0\n", "t.csv:3: no value for write; needed in each row are cycle, address, write"),
    ("cycle,address,write\n5,0,R\n\n6,0,R\n", "t.csv:3: no value for cycle; needed in each row are"),
    (f"cycle,address,write\n5,0,R\n{2**40},0,R\n", f"t.csv:3: cycle: found {2**40}; allowed 0 to {2**40 - 1}"),
    ("time_ns,address,write\n5,0,R\n1e30,0,R\n", f"t.csv:3: time_ns: found 1e30; allowed times before cycle {2**40}"),
    ("time_ns,address,write\nx,0,R\n", "t.csv:2: time_ns: found x; allowed numbers"),
    ("cycle,address,write\n", "no requests"),
    ("", "cannot be read"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_bad_traces(archsim: Archsim, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    done = archsim("dram", str(path), "--standard", "ddr4", "--speed", "2400")
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr.replace("\n", "")


TOO_MANY = "found 4 values; needed are 3, as the first line has names: cycle, address, write"
MESSAGES = [
    ((), "cycle,address,write\n0,0,R,1\n", "{path}:2: " + TOO_MANY),
    ((), "cycle,address,write\n0,0,R\n\n1,0,R\n2,0,R,1\n", "{path}:5: " + TOO_MANY),
    ((), "cycle;address;write\n0;0;R\n", "{path}:1: found columns separated by ';'; needed are commas"),
    ((), "time_ns;address;write\n0,5;0;R\n", "{path}:1: found columns separated by ';'; needed are commas"),
    ((), "cycle\taddress\twrite\n0\t0\tR\n", "{path}:1: found columns separated by tabs; needed are commas"),
    *(
        (
            (),
            f"cycle,address,write\n5,{written},R\n",
            f"{{path}}:2: address: found {written}; allowed integers below 2^63, decimal or 0x...",
        )
        for written in ("0b100", "0o100", "1_024", "0x_40", "64.0", "9223372036854775808", "0x8000000000000000")
    ),
    (
        ("--channels", "1000000"),
        "cycle,address,write\n5,0,R\n",
        "ddr4: channels: found 1000000; allowed 1 to 1024 of 64 b",
    ),
    (
        ("--width", "8", "--channels", "1025"),
        "cycle,address,write\n5,0,R\n",
        "ddr4: channels: found 1025; allowed 1 to 1024 of 8 b",
    ),
    ((), "cycle,adress,write\n5,0,R\n", "{path}:1: unknown column 'adress' (did you mean 'address'?)"),
    ((), "cycle,address,write\n5,0\n", "{path}:2: no value for write; needed in each row are cycle, address, write"),
    (
        (),
        "cycle,address,write\n1,0,R\n1099511627776,0,R\n",
        "{path}:3: cycle: found 1099511627776; allowed 0 to 1099511627775",
    ),
    (
        ("--capacity", "200 B"),
        "cycle,address,write\n5,192,R\n",
        "{path}:2: address: found 192; allowed 0 to 128 (--capacity)",
    ),
    (("--capacity", "1 B"), "cycle,address,write\n5,0,R\n", "--capacity: found '1 B'; allowed 64 B, a burst, or more"),
    (
        ("--capacity", "8"),
        "cycle,address,write\n5,0,R\n",
        "--capacity: found '8', a bare number where a unit is due; allowed a size with one of the units "
        "B, KiB, MiB, GiB, TiB, kB, KB, MB, GB, TB, b, Kib, Mib, Gib, kb, Mb, Gb",
    ),
]


@pytest.mark.parametrize(("options", "text", "message"), MESSAGES)
def test_whole_messages(archsim: Archsim, tmp_path: Path, options: tuple[str, ...], text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    done = archsim("dram", str(path), "--standard", "ddr4", "--speed", "2400", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == f"error: {message.format(path=path)}"


TYPED = [
    (
        {"cycle": [0, 5], "address": np.array([0, 2**64 - 64], np.uint64), "write": [0, 1]},
        "{path}:3: address: found 18446744073709551552; allowed integers below 2^63, decimal or 0x...",
    ),
    (
        {"cycle": pd.to_timedelta([0, 5], unit="ns"), "address": [0, 64], "write": [0, 1]},
        "{path}: column 'cycle': found timedelta64[ns]; allowed numbers",
    ),
    (
        {"time_ns": pd.to_timedelta([0, 5], unit="ns"), "address": [0, 64], "write": [0, 1]},
        "{path}: column 'time_ns': found timedelta64[ns]; allowed numbers",
    ),
]


@pytest.mark.parametrize(("columns", "message"), TYPED)
def test_whole_messages_of_typed_columns(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame(columns).to_parquet(path)
    with pytest.raises(ConfigError) as raised:
        measure(DramReplay(trace=path, standard="ddr4", speed_mts=2400))
    assert str(raised.value) == message.format(path=path)


def test_padded_integers(tmp_path: Path) -> None:
    """Zeros before a number, and the largest typed ones, are what they are in decimal."""
    found = []
    for text in ("cycle,address,write\n0005,0064,R\n+9,0X0080,W\n", "cycle,address,write\n5,64,R\n9,128,W\n"):
        path = tmp_path / "t.csv"
        path.write_text(text)
        found.append(measure(DramReplay(trace=path, standard="ddr4", speed_mts=2400)))
    assert found[0] == found[1] and found[0]["requests"] == 2


def test_blanks_around_names_and_values(tmp_path: Path) -> None:
    """Spaces beside commas, and empty lines at the end, change nothing."""
    found = []
    for text in ("cycle,address,write\n5,0x40,R\n9,64,W\n", " cycle , address, write \n 5, 0x40, R\n9 ,64 , W \n\n\n"):
        path = tmp_path / "t.csv"
        path.write_text(text)
        found.append(measure(DramReplay(trace=path, standard="ddr4", speed_mts=2400)))
    assert found[0] == found[1]


def test_bad_memories(archsim: Archsim, tmp_path: Path) -> None:
    path = written(tmp_path, "seq_rd", 4, 64, 0, 1)
    for options, said in (
        (("--standard", "ddr4", "--speed", "2401"), "found 2401 MT/s"),
        (("--standard", "ddr9", "--speed", "2400"), "ddr9"),
        (("--standard", "ddr3", "--speed", "1600", "--refresh", "per_bank"), "allowed all_bank, none"),
        (("--standard", "ddr4", "--speed", "2400", "--map", "x"), "no address map 'x'"),
        (("--standard", "ddr4", "--speed", "2400", "--map", "row bank column"), "no bankgroup; this memory has 2 bits"),
        (("--standard", "ddr4", "--speed", "2400", "--row-timeout", "100ns"), "no meaning with --rows open"),
        (("--standard", "ddr4", "--speed", "2400", "--rows", "timeout", "--row-timeout", "9"), "bare number"),
        (("--standard", "ddr4", "--speed", "2400", "--rows", "timeout", "--row-timeout", "0 ns"), "more than 0 ns"),
        (("--standard", "ddr4", "--speed", "2400", "--capacity", "8"), "8"),
        (("--standard", "lpddr5", "--speed", "6400", "--width", "24"), "16, 32, 64, 128 b"),
        (("--standard", "hbm2", "--speed", "2000", "--width", "64"), "whole pairs of pseudo-channels, 128 b"),
    ):
        done = archsim("dram", str(path), *options)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    assert np.all(
        [name in archsim("dram", "--help").stdout for name in ("--standard", "--map", "--rows", "--row-timeout")]
    )
