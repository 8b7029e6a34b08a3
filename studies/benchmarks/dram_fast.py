"""Error and speed of the fast DRAM model against the exact one, by what the transfers are like.

Run: python studies/benchmarks/dram_fast.py
"""

from __future__ import annotations

import time
from random import Random

from archsim.facts.dram import catalogue
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy
from archsim.memory.dram.controller import DramController, warm_up
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import DramModel, Transfer

PARTS = (("ddr4", 2400), ("lpddr5", 6400), ("hbm2", 2000))
CHANNELS = 4
ENGINES = (1, 2, 8)
TRANSFERS = 150
MIB = 1 << 20


def kinds(rng: Random) -> dict[str, list[Transfer]]:
    """Tiles of a stream, rows of images, narrow columns, and all of them mixed, a third of each written."""

    def tiles(run_bytes: int, runs: int, pitch: int) -> list[Transfer]:
        return [
            Transfer(n, rng.random() < 1 / 3, rng.randrange(1 << 20) * 64, run_bytes, (runs,), (pitch,))
            for n in range(TRANSFERS)
        ]

    found = {
        "streams of 32 KiB": tiles(32768, 1, 0),
        "rows of 896 B": tiles(896, 28, 3584),
        "rows of 56 x 8 B": tiles(448, 56, 7168),
        "runs of 64 B, 4 KiB apart": tiles(64, 256, 4096),
        "runs of 64 B, 4160 B apart": tiles(64, 256, 4160),
    }
    everything = [rng.choice(tiles_of) for tiles_of in found.values() for _ in range(TRANSFERS // len(found))]
    rng.shuffle(everything)
    found["all mixed"] = [
        Transfer(n, t.write, t.address, t.run_bytes, t.extents, t.strides) for n, t in enumerate(everything)
    ]
    return found


def drive(model: DramModel, transfers: list[Transfer], engines: int) -> tuple[int, float]:
    """End of all in ps with ``engines`` under way at any time, and the mean duration of one."""
    todo, begun, took = list(reversed(transfers)), {}, []
    first = [todo.pop() for _ in range(engines)]
    begun = dict.fromkeys((t.id for t in first), 0)
    model.submit(0, first)
    now = 0
    while model.next_event_ps() is not None:
        ended = model.advance(10**15)
        now = ended[0].time_ps
        took += [now - begun.pop(done.id) for done in ended]
        following = [todo.pop() for _ in ended[: len(todo)]]
        begun |= dict.fromkeys((t.id for t in following), now)
        model.submit(now, following)
    return now, sum(took) / len(took)


def main() -> None:
    """Print the tables."""
    print(
        f"{'memory':16} {'transfers':28} {'engines':>7} {'end':>8} {'mean duration':>14} {'exact s':>8} {'fast s':>8}"
    )
    errors: dict[int, list[float]] = {engines: [] for engines in ENGINES}
    for standard, speed in PARTS:
        width, capacity = catalogue.usual(standard)
        part = catalogue.dram(standard, speed, width, CHANNELS, CHANNELS * capacity)
        warm_up(part)
        mapping = by_name(DEFAULT, part.device)
        for name, transfers in kinds(Random(1)).items():
            for engines in ENGINES:
                started = time.process_time()
                end, mean = drive(DramController(part), transfers, engines)
                between = time.process_time()
                fast = FastDram(part, ControllerPolicy(), mapping, interleave_bytes=part.device.burst_bytes)
                fast_end, fast_mean = drive(fast, transfers, engines)
                spent = time.process_time() - between
                errors[engines].append(fast_end / end - 1)
                print(
                    f"{standard}-{speed} x {CHANNELS:2} {name:28} {engines:7} {100 * (fast_end / end - 1):+7.1f}% "
                    f"{100 * (fast_mean / mean - 1):+13.1f}% {between - started:8.3f} {spent:8.3f}"
                )
    for engines, found in errors.items():
        sizes = sorted(abs(error) for error in found)
        print(f"{engines} under way: mean {100 * sum(sizes) / len(sizes):.1f} %, worst {100 * sizes[-1]:.1f} %")


if __name__ == "__main__":
    main()
