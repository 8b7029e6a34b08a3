"""The compiled machine against the machine of processes on whole networks: equal Activities, to the last record.

python -m tests.tools.two_machines --cases 300 --seed 0
python -m tests.tools.two_machines --runs resnet50:mtia_v2i:fast gemm_4096:edge_npu

Random networks go on the chips in turn. What the compiled machine leaves to the other one is counted by its reason.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from archsim.sim.given_up import GivenUpError
from tests.laws.two_machines import differences
from tests.tools.same_machine import random_cases, run_cases


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every case that differs and a line of sums; 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", nargs="*", default=())
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for name, case in chain(random_cases(given.cases, given.seed), run_cases(given.runs)):
        try:
            found = differences(*case)
        except GivenUpError as error:
            counts[f"left to processes: {error}"] += 1
            continue
        counts["different" if found else "equal"] += 1
        for line in found:
            print(f"{name}: {line}")
    print(*[f"{count} {what}" for what, count in sorted(counts.items())], sep="\n")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
