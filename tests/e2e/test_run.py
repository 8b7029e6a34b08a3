"""`archsim run` from a user's seat: what is printed, what is written, what is exited with."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.tools.commands import GOLDEN, Archsim

pytestmark = pytest.mark.slow  # a process for each command

FILES = ["layers.csv", "mappings.yaml", "report.html", "report.md", "summary.json"]


def test_table_for_people(archsim: Archsim, model: str, chip: str) -> None:
    done = archsim("run", model, "--on", chip)
    assert done.returncode == 0 and done.stderr == ""
    for words in ("tiny on golden", "latency", "useful MACs", "conv2", "bound by"):
        assert words in done.stdout
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


def test_json_alone_on_stdout_with_exact_sums(archsim: Archsim, model: str, chip: str) -> None:
    done = archsim("run", model, "--on", chip, "--format", "json")
    assert done.returncode == 0 and done.stderr == ""
    summary = json.loads(done.stdout)
    cycles, peak = summary["cycles_total"], 16
    assert sum(summary["mac_breakdown"].values()) == cycles * peak
    assert all(sum(row.values()) == cycles for row in summary["time_breakdown"].values())
    assert sum(layer["cycles_critical"] for layer in summary["layers"]) == cycles
    assert summary["macs"] == summary["workload"]["macs"] == 8 * 8 * 8 * 4 * 9 + 6 * 6 * 8 * 8 * 9
    assert summary["schema"] == "archsim.result/2"
    assert summary["macs"] == summary["macs_array"] + summary["macs_vector"] + summary["macs_host"]
    assert summary["utilization"] == pytest.approx(summary["macs_array"] / (cycles * peak))
    assert None not in [summary[key] for key in ("utilization_dtype", "bounds", "per_sample")]
    for total in (summary["energy_breakdown_j"].values(), [layer["energy_j"] for layer in summary["layers"]]):
        assert sum(total) == pytest.approx(summary["energy_j"], rel=1e-12)
    assert sum(layer["dram_read_bytes"] for layer in summary["layers"]) == summary["dram"]["read_bytes"]


def test_out_holds_the_listed_files_and_nothing_else_is_written(
    archsim: Archsim, model: str, chip: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = archsim("run", model, "--on", chip, "--out", str(out), "--trace")
    assert done.returncode == 0
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, "trace.json"])
    assert list((tmp_path / "work").iterdir()) == []
    summary = json.loads((out / "summary.json").read_text())
    with (out / "layers.csv").open() as file:
        assert [row["name"] for row in csv.DictReader(file)] == [layer["name"] for layer in summary["layers"]]
    trace = json.loads((out / "trace.json").read_text())
    tracks = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert tracks == set(summary["time_breakdown"])
    assert any("bytes held" in event["name"] for event in trace["traceEvents"])
    page = (out / "report.html").read_text()
    assert "<svg" in page and not re.search(r'(src|href)="(?!#|data:)|https?://|url\(', page)


def test_stdout_json_is_the_stored_summary(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = archsim("run", model, "--on", chip, "--format", "json", "--out", str(out))
    assert done.stdout == (out / "summary.json").read_text()


def test_report_is_rebuilt_from_stored_results(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    archsim("run", model, "--on", chip, "--out", str(out))
    first = (out / "report.html").read_bytes(), (out / "report.md").read_bytes()
    (out / "report.html").unlink()
    done = archsim("report", str(out))
    assert done.returncode == 0 and "report.html" in done.stdout
    assert ((out / "report.html").read_bytes(), (out / "report.md").read_bytes()) == first


def test_exported_mapping_and_program_are_read_back(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    exported = tmp_path / "m.yaml"
    done = archsim("map", model, "--on", chip, "--layer", "conv2", "--export", str(exported))
    assert done.returncode == 0 and "conv2: matmul" in done.stdout and "conv1" not in done.stdout
    assert "mappings evaluated" in done.stdout
    assert "2 layers" in archsim("check", str(exported)).stdout
    listing = tmp_path / "p.asm"
    listing.write_text(archsim("asm", model, "--on", chip).stdout)
    by_text = json.loads(archsim("run", str(listing), "--on", chip, "--format", "json").stdout)
    by_model = json.loads(archsim("run", model, "--on", chip, "--format", "json").stdout)
    for key in ("cycles_total", "macs", "mac_breakdown", "time_breakdown", "energy_j", "dram"):
        assert by_text[key] == by_model[key]


def test_golden_program_runs(archsim: Archsim, chip: str) -> None:
    done = archsim("run", str(GOLDEN / "program.asm"), "--on", chip)
    assert done.returncode == 0, done.stderr


def test_chip_keys_batch_and_dtype_act(archsim: Archsim, model: str, chip: str) -> None:
    def cycles(*options: str) -> int:
        done = archsim("run", model, "--on", chip, "--format", "json", *options)
        assert done.returncode == 0, done.stderr
        return int(json.loads(done.stdout)["cycles_total"])

    base = cycles()
    assert cycles("--set", "mxu.shape=[4, 8]") < base
    assert cycles("--set", "dram.bandwidth=100 MB/s") > base
    assert cycles("--batch", "2") > base
    assert cycles("--dtype", "bf16") > base


def test_why_simulates_each_change_again(archsim: Archsim, model: str, chip: str) -> None:
    done = archsim("run", model, "--on", chip, "--why", "--format", "json")
    summary = json.loads(done.stdout)
    rows = {row["name"]: row for row in summary["details"]["why"]}
    assert list(rows) == [
        "dram bandwidth x2", "l1 size x2", "l1 ports x2", "l1 banks x2", "l1 word x2", "l1 slots x2", "acc size x2",
        "acc ports x2", "acc banks x2", "acc word x2", "acc slots x2", "dma channels x2", "mxu columns x2",
        "mxu double buffer", "mxu fold overlap", "vpu lanes x2", "clock x1.2",
    ]  # fmt: skip
    assert all(row["reason"] == "" for row in rows.values())
    assert "voltage is not counted" in rows["clock x1.2"]["remark"]
    wider = archsim("run", model, "--on", chip, "--set", "mxu.shape=[4, 8]", "--no-net", "--format", "json")
    found = rows["mxu columns x2"]
    assert found["cycles_total"] == json.loads(wider.stdout)["cycles_total"]
    assert found["gain_cycles"] == summary["cycles_total"] - found["cycles_total"]
    assert found["area_mm2"] > 0 and rows["clock x1.2"]["area_mm2"] == 0


def test_requirements_decide_the_exit_code(archsim: Archsim, model: str, chip: str) -> None:
    met = archsim("run", model, "--on", chip, "--require", "cycles_total>0", "--require", "latency_s<1")
    assert met.returncode == 0 and met.stderr == ""
    missed = archsim("run", model, "--on", chip, "--require", "latency_s<=1e-9", "--format", "json")
    assert missed.returncode == 1
    assert "requirement missed: latency_s <= 1e-09; found" in missed.stderr
    assert json.loads(missed.stdout)["latency_s"] > 1e-9
    unknown = archsim("run", model, "--on", chip, "--require", "energy_breakdown_j.l9<1")
    assert unknown.returncode == 2 and unknown.stdout == ""
    assert "energy_breakdown_j.l1" in unknown.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clock: 1 GHz", "bad.yaml:1:1: hierarchy: missing"),
        ("hierarchy: 3", "hierarchy"),
        ("a: [1", "bad.yaml:"),
        ("\thierarchy: []", "tab"),
        ("!!python/object/apply:os.system ['true']", "bad.yaml:1"),
    ],
)
def test_a_bad_chip_is_refused_with_file_and_line(
    archsim: Archsim, model: str, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text + "\n")
    done = archsim("run", model, "--on", str(path))
    assert done.returncode == 2 and done.stdout == "" and words in done.stderr


def test_a_model_that_does_not_fit_says_what_does_not(archsim: Archsim, model: str, chip: str) -> None:
    done = archsim("run", model, "--on", chip, "--set", "l1.size=32 B")
    assert done.returncode == 2 and done.stdout == ""
    assert "l1" in done.stderr and "needs" in done.stderr


@pytest.mark.parametrize("name", ["m.mlirbc", "m.mlir"])
def test_formats_of_later_versions_say_so(archsim: Archsim, chip: str, name: str) -> None:
    done = archsim("run", name, "--on", chip)
    assert done.returncode == 2 and "not built yet" in done.stderr


def test_out_that_is_a_file_is_refused(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    done = archsim("run", model, "--on", chip, "--out", str(tmp_path / "taken"))
    assert done.returncode == 2 and "taken: cannot be written (Not a directory)" in done.stderr
    assert "mapping" not in done.stderr


def test_same_bytes_under_any_hash_seed_and_cache(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    """Law 48 for the cache and hash seed, on a chip without compiled code."""
    outputs = set()
    for seed in ("0", "1", "4242"):
        for extra in ((), ("--no-cache",)):
            done = archsim("run", model, "--on", chip, "--format", "json", *extra, PYTHONHASHSEED=seed)
            assert done.returncode == 0
            outputs.add(done.stdout)
    assert len(outputs) == 1


def test_no_cache_leaves_no_cache(archsim: Archsim, model: str, chip: str, tmp_path: Path) -> None:
    absent = {"ARCHSIM_CACHE": str(tmp_path / "absent")}
    archsim("run", model, "--on", chip, "--no-cache", **absent)
    assert not (tmp_path / "absent").exists()
    archsim("run", model, "--on", chip, **absent)
    assert (tmp_path / "absent").exists()


def test_same_bytes_with_compiled_kernels_cold_warm_and_uncached(archsim: Archsim, model: str, tmp_path: Path) -> None:
    """Law 48 with the DRAM kernels: cold cache, warm cache, no cache."""
    cold = {"ARCHSIM_CACHE": str(tmp_path / "cold")}
    runs = [
        archsim("run", model, "--on", "edge_npu", "--format", "json", *extra, **cold)
        for extra in ((), (), ("--no-cache",))
    ]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert len({run.stdout for run in runs}) == 1
    told = ["compiling functions" in run.stderr for run in runs]
    assert told == [True, False, True]
