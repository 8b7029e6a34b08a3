"""The network model from the command line: curves, traces, plots, and what each mistake says."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.tools.commands import Archsim

pytestmark = pytest.mark.slow  # a process for each command

MESH = ("noc", "--topology", "mesh", "--shape", "4x4")


def test_a_curve_up_to_saturation(archsim: Archsim, tmp_path: Path) -> None:
    plot = tmp_path / "curve.png"
    done = archsim(*MESH, "--vcs", "1", "--plot", str(plot), "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rates = [point["rate"] for point in found["points"]]
    stable = [point["stable"] for point in found["points"]]
    assert rates == sorted(rates) and stable == [True] * (len(rates) - 1) + [False]
    assert 0.2 <= found["last_stable_rate"] < 0.3 and rates[-1] - rates[-2] < 0.02
    latencies = [point["latency_cycles"]["mean"] for point in found["points"][:-1]]
    assert latencies == sorted(latencies) and found["zero_load_cycles"] == pytest.approx(7 + 5 * 2.5)
    assert found["ideal_rate"] == 1.0 and len(found["links"]) == found["link_count"] == 48
    assert plot.read_bytes()[:4] == b"\x89PNG"


def test_what_a_person_reads(archsim: Archsim) -> None:
    done = archsim(*MESH, "--traffic", "hotspot_5", "--rates", "0.02,0.9", "--fidelity", "link", "--packet", "8")
    assert done.returncode == 0, done.stderr
    assert "16 nodes, 16 routers, 48 links of 1 cycle" in done.stdout and "fidelity link" in done.stdout
    assert "stable up to 0.02" in done.stdout and "not stable: latency grows without end" in done.stdout
    assert "Busiest links at 0.02" in done.stdout


def test_a_trace(archsim: Archsim, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame(
        {"cycle": [0, 0, 9], "source": [0, 1, 5], "target": ["15", "15", "2+7+9"], "flits": [8, 8, 4]}
    ).to_parquet(path)
    done = archsim(*MESH, "--trace", str(path), "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["packets"], found["multicasts"], found["flits"]) == (3, 1, 20)
    assert found["latency_cycles"]["max"] >= 7 + 6 * 5 + 7 and found["cycles"] >= 44
    carried = sum(link["flits_per_cycle"] for link in found["links"]) * found["cycles"]
    assert carried == pytest.approx(8 * 6 + 8 * 5 + 4 * 4)


BAD = [
    (("--shape", "4x"), "--shape: found '4x'; allowed numbers joined by 'x'"),
    (("--shape", "4x4", "--traffic", "unifrm"), "did you mean 'uniform'"),
    (("--shape", "4x4", "--traffic", "hotspot_3_16"), "allowed hotspot_A_B... of nodes 0 to 15"),
    (("--shape", "3x4", "--traffic", "transpose"), "traffic transpose: found 12 nodes; allowed powers of four"),
    (("--shape", "4x4", "--rates", "0.1,2"), "--rates: found 2; allowed more than 0 and up to 1"),
    (("--shape", "4x4", "--rates", "a"), "--rates: found 'a'"),
    (("--shape", "4x4", "--vcs", "33"), "router vcs: found 33; allowed 1 to 32"),
    (("--shape", "4x4", "--link-delay", "0"), "link delay: found 0 cycles; allowed 1 to 1024"),
    (("--shape", "4x4", "--links", "0-1"), "links: found a list; allowed with point_to_point"),
    (("--shape", "4x4", "--plot", "x.gif"), "--plot: found 'x.gif'; allowed without --trace"),
    (("--shape", "4x4", "--trace", "no.csv"), "no.csv: cannot be read"),
    (("--shape", "4x4", "--trace", "no.csv", "--rates", "0.1"), "--rates: found 0.1 with --trace"),
    (("--shape", "4x4", "--trace", "no.csv", "--packet", "3"), "--packet: found 3 with --trace"),
    (("--shape", "4x4", "--trace", "no.csv", "--traffic", "tornado"), "--traffic: found tornado with --trace"),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=[words for _, words in BAD])
def test_mistakes(options: tuple[str, ...], words: str, archsim: Archsim) -> None:
    done = archsim("noc", "--topology", "mesh", *options)
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""
    assert "Traceback" not in done.stderr


TRACES = [
    ("cycle,source,target,flits\n5,0,1,1\n4,0,1,1\n", "t.csv:3: cycle: found 4; allowed times that do not fall"),
    ("cycle,source,target,flits\n0,16,1,1\n", "t.csv:2: source: found 16; allowed nodes 0 to 15"),
    ("cycle,source,target,flits\n0,0,1+1,1\n", "t.csv:2: target: found 1+1; allowed nodes 0 to 15, or different"),
    ("cycle,source,target,flits\n0,0,1,0\n", "t.csv:2: flits: found 0; allowed 1 to"),
    ("cycle,source,target,flits\n0,0,1+2,9\n", "packet 0: flits: found 9 to several nodes; allowed at most 8"),
    ("cycle,source,goal,flits\n0,0,1,1\n", "t.csv:1: no column 'target'"),
]


@pytest.mark.parametrize(("text", "words"), TRACES, ids=[words for _, words in TRACES])
def test_bad_traces(text: str, words: str, archsim: Archsim, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    done = archsim(*MESH, "--trace", str(tmp_path / "t.csv"))
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""


def test_a_topology_is_one_file(archsim: Archsim, tmp_path: Path) -> None:
    """A star: a hub router without a node, and one router for each node around it."""
    (tmp_path / "plugins" / "topologies").mkdir(parents=True)
    (tmp_path / "plugins" / "topologies" / "star.py").write_text(
        '"""Star."""\n\n'
        "from archsim.facts.noc.topology import Link, NetworkNode, Topology\n\n\n"
        "def build(shape, link_delay_cycles=1):\n"
        "    count = shape[0]\n"
        "    arms = [Link(0, arm, 1 + arm, 0, link_delay_cycles, arm) for arm in range(count)]\n"
        "    arms += [Link(1 + arm, 0, 0, arm, link_delay_cycles, arm) for arm in range(count)]\n"
        "    nodes = tuple(NetworkNode(1 + arm, 1) for arm in range(count))\n"
        '    return Topology("star", count + 1, max(2, count), tuple(arms), nodes, (count,))\n'
    )
    environment = {"ARCHSIM_PLUGINS": str(tmp_path / "plugins")}
    done = archsim("noc", "--topology", "star", "--shape", "4", "--rates", "0.1", "--format", "json", **environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["zero_load_cycles"] == pytest.approx((4 * 7 + 12 * 17) / 16)
    assert "star" in archsim("show", "topologies", **environment).stdout
