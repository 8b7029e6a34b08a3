"""The network's routers against measured curves of latency, and lone packets by the number of links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archsim.facts.noc.catalogue import network
from archsim.lab.validate import noc
from archsim.noc import traffic
from archsim.noc.offered import OfferedLoad, offer
from archsim.noc.parameters import RouterParameters

DATA = Path(__file__).parents[2] / "studies" / "validation" / "noc"
CONFIG = json.loads((DATA / "curves.json").read_text())
LONE = json.loads((DATA / "zero_load_by_hops.json").read_text())
LARGE_PCT = 0.7  # of the four curves with ties between routes
pytestmark = pytest.mark.slow  # compiles the routers


@pytest.mark.parametrize("number", range(len(CONFIG["runs"])))
def test_every_curve(number: int) -> None:
    """Exact where no two routes are equally short; within the reference's own noise where some are."""
    row = CONFIG["runs"][number]
    ties = row["topo"] == "torus8x8" and row["traffic"] == "uniform"
    worst = noc.score("curve", row, noc.points(CONFIG, row, [], []))
    assert worst.error_pct <= (LARGE_PCT if ties else 0.0), worst


def test_lone_packets_are_exact() -> None:
    found = [point for row in LONE for point in noc.zero_load(CONFIG, row)]
    assert len(found) == sum(len(row["min_by_link_hops"]) for row in LONE) == 118
    assert [point for point in found if point.error_pct] == []


def test_loading_the_kernel_is_not_in_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that only the measurements move, the first of which takes as long as a kernel takes to load."""
    now, calls = [0.0], iter([1000.0])

    def measured(*arguments: object, **options: object) -> OfferedLoad:
        found = offer(*arguments, **options)  # type: ignore[arg-type]
        now[0] += next(calls, found.cycles / 1e6)
        return found

    monkeypatch.setattr(noc, "offer", measured)
    monkeypatch.setattr(noc.time, "process_time", lambda: now[0])
    row = CONFIG["runs"][0]
    speeds: list[float] = []
    ratios: list[float] = []
    points = [point for point, _ in noc.points(CONFIG, row, speeds, ratios)]
    assert len(speeds) == len(points) > 2 and speeds == pytest.approx([1e6] * len(points))
    recorded = [point for point in points if point["user_cpu_s"] and point["cycles"]]
    assert ratios == pytest.approx([1e6 * point["user_cpu_s"] / point["cycles"] for point in recorded])


def test_what_is_not_modelled_is_skipped_with_its_reason(tmp_path: Path) -> None:
    runs = [dict(CONFIG["runs"][0]) for _ in range(3)]
    runs[0]["extra"] = {"injection_process": "on_off"}
    runs[1]["extra"] = {"new_parameter": 1}
    runs[2] |= {"curve": runs[2]["curve"][:2], "last_stable_rate": 0.1}
    (tmp_path / "curves.json").write_text(json.dumps({**CONFIG, "runs": runs}))
    result = noc.run(tmp_path)
    reasons = [skipped.reason for skipped in result.skipped]
    assert "injection_process: found on_off; allowed bernoulli" in reasons[0]
    assert "unknown parameter 'new_parameter'" in reasons[1]
    assert (result.cases, result.passed, result.exact) == (1, 1, 1) and result.speed["times_reference_median"] > 0


def test_a_knee_at_another_rate_fails() -> None:
    row = dict(CONFIG["runs"][0])
    row |= {"last_stable_rate": 0.8, "curve": [point for point in row["curve"] if point["injection_rate"] > 0.6]}
    worst = noc.score("curve", row, noc.points(CONFIG, row, [], []))
    assert worst.case == "curve at 0.8: stable" and (worst.expected, worst.got) == (1.0, 0.0)


@pytest.mark.parametrize(("flits", "rate", "most_pct"), [(1, 0.1, 0.5), (1, 0.35, 2.5), (8, 0.1, 1.0), (8, 0.35, 2.5)])
def test_reserved_links_are_as_far_off_as_the_docs_say(flits: int, rate: float, most_pct: float) -> None:
    """Against the recorded curve of the 4x4 mesh: up to half load by no more than docs/noc.md states."""
    row = next(row for row in CONFIG["runs"] if row["packet_size"] == flits and row["traffic"] == "uniform")
    point = next(point for point in row["curve"] if point["injection_rate"] == rate)
    topology, routes = network("mesh", (4, 4))
    pattern = traffic.by_name("uniform", 16, (4, 4))
    found = offer(topology, routes, RouterParameters(), pattern, rate=rate, flits=flits, fidelity="link")
    error_pct = 100 * (found.latency_mean / point["pkt_lat"] - 1)
    assert abs(error_pct) <= most_pct
