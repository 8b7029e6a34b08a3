"""Requests per second of the DRAM controller, one core, beside the simulator that the reference was measured with.

python studies/benchmarks/dram_speed.py      prints a table; user CPU, best of three, compiled beforehand
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median

from archsim.lab.validate.dram_configs import read
from archsim.lab.validate.dram_streams import stream
from archsim.memory.dram.trace import replay

DATA = Path(__file__).resolve().parents[1] / "validation" / "dram"


def main() -> None:
    """Every reference run."""
    configs = json.loads((DATA / "configs.json").read_text())["configs"]
    runs = [run for run in json.loads((DATA / "runs.json").read_text())["results"] if run["config"] in configs]
    ratios = []
    for run in runs:
        device, mapping, policy, channels = read(run["config"], configs[run["config"]], run["req_bytes"])
        requests = stream(run["pattern"], run["n"], run["req_bytes"], run["num"], run["den"])
        seconds = []
        for _ in range(4):
            start = time.process_time()
            replay(device, mapping, policy, *requests, channels)
            seconds.append(time.process_time() - start)
        speed, anchor = run["n"] / min(seconds[1:]), run["anchor_speed"]["sim_req_per_cpu_s"]
        ratios.append(speed / anchor)
        case = f"{run['config']} {run['pattern']} load {run['load']}"
        print(f"{case:50} {speed / 1e6:6.2f} M requests/s, {speed / anchor:5.1f} x {anchor / 1e6:.2f} M requests/s")
    print(f"median {median(ratios):.2f} x, least {min(ratios):.2f} x (the anchors: another machine, one core)")


if __name__ == "__main__":
    main()
