"""Requests per second of the DRAM controller inside the machine: 1, 16 and 64 DMA engines at once.

Run: python studies/benchmarks/dram_machine.py
"""

from __future__ import annotations

import time

from archsim.facts.dram import catalogue
from archsim.memory.dram.controller import DramController, warm_up
from archsim.memory.dram.interface import Transfer

ENGINES = (1, 16, 64)
PARTS = (("ddr4", 2400, 64, 4, 32 << 30), ("lpddr5", 6400, 16, 4, 8 << 30), ("hbm2", 2000, 128, 4, 4 << 30))
TILE_BYTES = 32 << 10
TOTAL_BYTES = 64 << 20
FAR_PS = 10**15


def main() -> None:
    """Print the table: each engine moves tiles one after another, every third of them to the memory."""
    print(f"{'memory':22} {'engines':>7} {'requests':>9} {'M requests/s':>13} {'us a completion':>16}")
    for standard, speed, width, channels, capacity in PARTS:
        part = catalogue.dram(standard, speed, width, channels, capacity)
        warm_up(part)
        for engines in ENGINES:
            controller = DramController(part)
            start = time.process_time()
            tiles = drive(controller, engines)
            seconds = time.process_time() - start
            requests = controller.stats.reads + controller.stats.writes
            name = f"{standard}-{speed} x {channels}"
            print(f"{name:22} {engines:7} {requests:9,} {requests / seconds / 1e6:13.2f} {seconds / tiles * 1e6:16.1f}")


def drive(controller: DramController, engines: int) -> int:
    """Keep ``engines`` transfers under way until all tiles are moved; how many there were."""
    tiles = TOTAL_BYTES // TILE_BYTES
    waiting = [
        Transfer(n, n % 3 == 0, n * TILE_BYTES % controller.dram.capacity_bytes, TILE_BYTES)
        if n % 2
        else Transfer(n, n % 3 == 0, n * TILE_BYTES * 4, 256, (TILE_BYTES // 256,), (1024,))
        for n in reversed(range(tiles))
    ]
    controller.submit(0, [waiting.pop() for _ in range(engines)])
    done = 0
    while done < tiles:
        ended = controller.advance(FAR_PS)
        done += len(ended)
        controller.submit(ended[0].time_ps, [waiting.pop() for _ in ended[: len(waiting)]])
    return tiles


if __name__ == "__main__":
    main()
