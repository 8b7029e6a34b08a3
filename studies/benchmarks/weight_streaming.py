"""1 GB of weights, as a decoding language model reads them: 4 channels, tiles of 64 KiB, exact and fast.

Run: python studies/benchmarks/weight_streaming.py
"""

from __future__ import annotations

import time

from archsim.facts.dram import catalogue
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy
from archsim.memory.dram.controller import DramController, warm_up
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import DramModel, Transfer

TOTAL_BYTES = 10**9
TILE_BYTES = 64 << 10
UNDER_WAY = 2  # double buffering
PARTS = (("lpddr5", 6400), ("ddr4", 3200), ("hbm2", 2000))


def stream(model: DramModel) -> int:
    """Move the weights; the end in ps."""
    waiting = [Transfer(n, False, n * TILE_BYTES, TILE_BYTES) for n in reversed(range(TOTAL_BYTES // TILE_BYTES))]
    model.submit(0, [waiting.pop() for _ in range(UNDER_WAY)])
    end = 0
    while model.next_event_ps() is not None:
        ended = model.advance(1 << 60)
        end = ended[0].time_ps
        model.submit(end, [waiting.pop() for _ in ended[: len(waiting)]])
    return end


def main() -> None:
    """Print bandwidth, user CPU seconds and the difference of the two models."""
    print(f"{'memory':18} {'model':6} {'GB/s':>8} {'of peak':>8} {'CPU s':>8} {'M requests/s':>13}")
    for standard, speed in PARTS:
        width, capacity = catalogue.usual(standard)
        part = catalogue.dram(standard, speed, width, 4, 4 * capacity)
        warm_up(part)
        mapping, burst = by_name(DEFAULT, part.device), part.device.burst_bytes
        for name in ("exact", "fast"):
            started = time.process_time()
            model: DramModel = DramController(part)
            if name == "fast":
                model = FastDram(part, ControllerPolicy(), mapping, interleave_bytes=burst)
            end_ps = stream(model)
            spent = time.process_time() - started
            rate = TOTAL_BYTES / end_ps * 1000
            share = rate * 10**9 / part.peak_bytes_per_s
            requests = TOTAL_BYTES / burst / spent / 1e6
            print(f"{standard}-{speed} x 4{'':5} {name:6} {rate:8.2f} {share:8.3f} {spent:8.2f} {requests:13.2f}")


if __name__ == "__main__":
    main()
