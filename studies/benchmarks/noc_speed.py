"""Cycles per second of a network under load, one core, beside the simulator that the reference was measured with.

python studies/benchmarks/noc_speed.py       prints a table; user CPU, best of three, compiled beforehand

Uniform traffic on meshes, at the recorded rates on both sides of half of the network's throughput; the whole of a
measurement is timed: tables, traffic, cycles and statistics.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from archsim.lab.validate.noc_configs import NocSetup, read
from archsim.noc import traffic
from archsim.noc.offered import OfferedLoad, offer

DATA = Path(__file__).resolve().parents[1] / "validation" / "noc" / "curves.json"


def main() -> None:
    """4x4 and 8x8, packets of 1 and 8 flits."""
    config = json.loads(DATA.read_text())
    ratios = []
    for row in config["runs"]:
        chosen = row["group"] == "main" and row["topo"].startswith("mesh") and row["vc"] == "vc4b8"
        if not chosen or row["traffic"] != "uniform":
            continue
        setup = read(config, row)
        for point in _near_half(row):
            found, seconds = _timed(setup, row, point)
            links, links_seconds = _timed(setup, row, point, "link")
            speed, anchor = found.cycles / seconds, point["cycles"] / point["user_cpu_s"]
            ratios.append(speed / anchor)
            case = f"{row['topo']} {row['packet_size']} flits, {point['injection_rate']:4.2f} flits per node and cycle"
            print(
                f"{case:50} {speed / 1e3:6.1f} k cycles/s, {found.flit_hops / seconds / 1e6:5.2f} M flit-hops/s,"
                f" {speed / anchor:5.1f} x {anchor / 1e3:.1f} k cycles/s;"
                f" links reserved by packets: {links.flit_hops / links_seconds / 1e6:5.1f} M flit-hops/s"
            )
    print(f"least {min(ratios):.1f} x (the anchors: another machine, one core)")


def _near_half(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    half = row["sat_throughput_inj1"] / 2
    rates = sorted(point["injection_rate"] for point in row["curve"])
    near = {max(rate for rate in rates if rate <= half), min(rate for rate in rates if rate > half)}
    yield from (point for point in row["curve"] if point["injection_rate"] in near)


def _timed(
    setup: NocSetup, row: Mapping[str, Any], point: Mapping[str, Any], fidelity: str = "flit"
) -> tuple[OfferedLoad, float]:
    pattern = traffic.by_name(row["traffic"], len(setup.topology.nodes), setup.topology.shape)
    seconds = []
    for _ in range(4):
        start = time.process_time()
        found = offer(
            setup.topology, setup.routes, setup.parameters, pattern,
            rate=point["injection_rate"], flits=row["packet_size"], seed=row["seed"], procedure=setup.procedure,
            fidelity=fidelity,
        )  # fmt: skip
        seconds.append(time.process_time() - start)
    return found, min(seconds[1:])


if __name__ == "__main__":
    main()
