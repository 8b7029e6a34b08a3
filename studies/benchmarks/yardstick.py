"""How fast this machine is at this moment, in what simulations do: user CPU of a compiled loop and of SimPy events.

python studies/benchmarks/yardstick.py          (or: make yardstick)

Prints one number: 1.0 where one million timeouts of ten SimPy processes take 0.83 s of user CPU on CPython 3.11 and the
compiled loop as long; 2.0 on a machine that is half as fast. User CPU seconds divided by it compare between machines,
and between moments of a machine that is shared. Best of three.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator

import numba
import simpy

HALF_S = 0.83  # user CPU of each half where the yardstick is 1.0
TIMEOUTS, PROCESSES = 1_000_000, 10
STEPS = 440_000_000


@numba.njit
def _loop(steps: int) -> int:
    """A generator of random numbers (xorshift64): a chain in which each step waits for the one before."""
    x = numba.uint64(88172645463325252)
    for _ in range(steps):
        x ^= x << numba.uint64(13)
        x ^= x >> numba.uint64(7)
        x ^= x << numba.uint64(17)
    return x


def _events() -> None:
    env = simpy.Environment()

    def ticks() -> Iterator[simpy.Event]:
        for _ in range(TIMEOUTS // PROCESSES):
            yield env.timeout(1)

    for _ in range(PROCESSES):
        env.process(ticks())
    env.run()


def user_s(work: Callable[[], object]) -> float:
    """User CPU seconds of a piece of work in this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before


def main() -> None:
    _loop(1)  # compiled before it is timed
    halves = [min(user_s(half) for _ in range(3)) for half in (lambda: _loop(STEPS), _events)]
    print(f"{sum(halves) / (2 * HALF_S):.2f}  (compiled loop {halves[0]:.2f} s, SimPy events {halves[1]:.2f} s)")


if __name__ == "__main__":
    main()
