"""The stored summary: public keys first, details beside them, equal bytes, and clear refusals."""

from __future__ import annotations

import csv
import io
import json

import pytest
from fixtures_result import make_result

from archsim.base.errors import ConfigError
from archsim.report.run import run_files
from archsim.report.run.summary import load, summarise, to_text
from archsim.report.run.tables import layers_csv

PUBLIC = [
    "schema", "workload", "architecture", "cycles_total", "latency_s", "throughput_per_s", "macs", "macs_array",
    "macs_vector", "macs_host", "macs_dense", "macs_executed", "utilization",
    "utilization_dtype", "network_bound_cycles", "gap", "compulsory_bytes", "energy_j", "energy_chip_j", "power_avg_w",
    "power_peak_w", "power_window_s", "edp_js", "area_mm2", "die_cost_usd", "bounds", "per_sample",
    "dram", "mac_breakdown", "energy_breakdown_j", "time_breakdown", "layers", "provenance", "details",
]  # fmt: skip


def test_keys_are_the_public_ones_in_order_and_details() -> None:
    assert list(json.loads(to_text(summarise(make_result())))) == PUBLIC


def test_text_is_json_and_equal_for_equal_results() -> None:
    one, two = summarise(make_result()), summarise(make_result())
    assert to_text(one) == to_text(two)
    assert json.loads(to_text(one)) == json.loads(json.dumps(one))


def test_infinity_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_text({**summarise(make_result(2)), "latency_s": float("inf")})


def test_timeline_stretches_lie_inside_their_window_and_do_not_overlap() -> None:
    windows = summarise(make_result())["details"]["timeline"]
    assert len(windows) == 4
    for window in windows:
        for stretches in window["units"].values():
            edges = [edge for start, end, _, _ in stretches for edge in (start, end)]
            assert edges == sorted(edges)
            assert window["cycles_start"] <= edges[0] and edges[-1] <= window["cycles_end"]


def test_timeline_keeps_the_work_of_a_unit_where_nothing_is_merged() -> None:
    result = make_result(2)
    assert result.activity is not None
    window = summarise(result)["details"]["timeline"][0]
    worked = sum(end - start for start, end, _, state in window["units"]["core[0].array"] if state == "work")
    hz = result.activity.clock_hz
    records = [r for r in result.activity.records["core[0].array"] if r.layer == window["layer"]]
    exact = sum(-(-r.end_ps * hz // 10**12) + (-r.start_ps * hz // 10**12) for r in records)
    assert abs(worked - exact) <= (window["cycles_end"] - window["cycles_start"]) // 50


def test_layers_csv_has_every_layer_and_flat_cells() -> None:
    summary = summarise(make_result(5))
    rows = list(csv.DictReader(io.StringIO(layers_csv(summary))))
    assert [row["name"] for row in rows] == [layer["name"] for layer in summary["layers"]]
    assert rows[1]["fused_with"] == "relu;bn"
    assert rows[0]["stalls"].startswith("stall_dram.weights=")
    assert rows[0]["view_of"] == ""


def test_rebuilt_pages_equal_the_first_ones(tmp_path) -> None:  # type: ignore[no-untyped-def]
    paths = run_files.write(tmp_path, summarise(make_result(8)), "layers: []\n", "{}\n")
    names = ["summary.json", "layers.csv", "mappings.yaml", "report.html", "report.md", "trace.json"]
    assert [path.name for path in paths] == names
    first = {name: (tmp_path / name).read_bytes() for name in ("report.html", "report.md")}
    for name in first:
        (tmp_path / name).unlink()
    run_files.rebuild(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in first} == first


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[]", "found schema 'list'"), ('{"schema": "other/9"}', "found schema 'other/9'")],
)
def test_bad_summary_is_refused_by_name(tmp_path, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path)
    assert "summary.json" in str(caught.value)


def test_missing_directory_says_what_writes_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match="archsim run MODEL --on CHIP --out DIR"):
        load(tmp_path / "nowhere")
