"""Explicit traffic from a file: CSV or parquet with the columns cycle, source, target and flits.

``target`` is a node, or several joined by '+': one packet that all of them receive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from archsim.facts.noc.catalogue import network
from archsim.lab.kit.trace_table import Numbers, check, integers, read
from archsim.lab.noc.measure import NocOptions, Progress, described, link_rows, quiet
from archsim.noc.replay import replay
from archsim.report.noc.terminal import SCHEMA

LAST_CYCLE = 1 << 40
MOST_FLITS = 1 << 20  # of a packet
_TARGETS = re.compile(r"\s*\d{1,9}(\s*\+\s*\d{1,9})*\s*")


@dataclass(frozen=True)
class PacketTrace:
    """Cycle, source, target and flits of each packet; targets from the number of nodes on are ``groups``."""

    times: Numbers
    sources: Numbers
    targets: Numbers
    flits: Numbers
    groups: tuple[tuple[int, ...], ...]


def load(path: Path, nodes: int) -> PacketTrace:
    """The packets of a file; raises ConfigError (file:line) for the first one that cannot be."""
    table = read(path, ("cycle",), ("source", "target", "flits"), "packets")
    times, sources, flits = (integers(path, table, name) for name in ("cycle", "source", "flits"))
    check(path, (times < 0) | (times >= LAST_CYCLE), times, "cycle", f"0 to {LAST_CYCLE - 1}")
    falls = np.concatenate(([False], times[1:] < times[:-1]))
    check(path, falls, times, "cycle", "times that do not fall; sort the trace")
    check(path, (sources < 0) | (sources >= nodes), sources, "source", f"nodes 0 to {nodes - 1}")
    check(path, (flits < 1) | (flits > MOST_FLITS), flits, "flits", f"1 to {MOST_FLITS}")
    targets, groups = _targets(path, table["target"].to_numpy(), nodes)
    return PacketTrace(times, sources, targets, flits, groups)


def _targets(path: Path, values: Any, nodes: int) -> tuple[Numbers, tuple[tuple[int, ...], ...]]:
    known: dict[tuple[int, ...], int] = {}
    found = np.zeros(values.size, np.int64)
    wrong = np.zeros(values.size, bool)
    for place, value in enumerate(values.tolist()):
        text = str(value)
        several = tuple(int(part) for part in text.split("+")) if _TARGETS.fullmatch(text) else ()
        wrong[place] = not several or max(several) >= nodes or len(set(several)) < len(several)
        if len(several) == 1:
            found[place] = several[0]
        else:
            found[place] = nodes + known.setdefault(several, len(known))
    check(path, wrong, values, "target", f"nodes 0 to {nodes - 1}, or different ones joined by '+'")
    return found, tuple(known)


def deliver(asked: NocOptions, path: Path, say: Progress = quiet) -> dict[str, Any]:
    """Everything that ``archsim noc --trace FILE --format json`` prints; raises ConfigError for what cannot be."""
    say("building the network")
    topology, routes = network(
        asked.topology, asked.shape, link_delay_cycles=asked.link_delay_cycles, order=asked.order, links=asked.links
    )
    packets = load(path, len(topology.nodes))
    say("sending the packets")
    found = replay(
        topology, routes, asked.router, packets.times, packets.sources, packets.targets, packets.flits,
        groups=packets.groups, fidelity=asked.fidelity, seed=asked.seed,
    )  # fmt: skip
    latencies = np.sort(found.ended - packets.times)
    loads = [float(flits) / max(1, found.cycles) for flits in found.link_flits]
    return {
        "schema": SCHEMA,
        **described(asked, topology),
        "trace": path.name,
        "packets": int(packets.times.size),
        "multicasts": int((packets.targets >= len(topology.nodes)).sum()),
        "flits": int(packets.flits.sum()),
        "cycles": found.cycles,
        "flit_hops": found.router_flits,
        "latency_cycles": {
            "mean": float(latencies.mean()),
            "p50": int(latencies[(latencies.size - 1) // 2]),
            "p99": int(latencies[max(0, -(-latencies.size * 99 // 100) - 1)]),
            "max": int(latencies[-1]),
        },
        "queued_cycles_mean": float((found.started - packets.times).mean()),
        "links": link_rows(topology, loads),
    }
