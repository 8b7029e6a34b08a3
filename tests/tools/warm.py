"""Compile every kernel once, side by side, before workers that share the cache would each do so.

python -m tests.tools.warm
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

WORKERS = 2


def _trace() -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from typer.testing import CliRunner

    from archsim.cli.app import app

    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.csv"
        path.write_text("cycle,address,write\n0,0,R\n5,64,W\n", encoding="utf-8")
        CliRunner().invoke(app, ["dram", str(path), "--standard", "ddr4", "--speed", "2400"], catch_exceptions=False)


def _machine() -> None:
    from archsim.lab.run.job import Job
    from archsim.lab.run.run import execute

    execute(Job("squeezenet", "edge_npu"))


def _optimal() -> None:
    from mapper.looptree.search import optimal
    from mapper.looptree.search.objective import EDP
    from tests.tools.looptree_cases import cases

    optimal.search(next(cases(0, 1))[0], EDP)


def _exhaustive() -> None:
    from mapper.looptree.search.objective import EDP
    from tests.oracles.brute_force import exhaustive
    from tests.tools.looptree_cases import cases

    exhaustive.search(next(cases(0, 1))[0], EDP)


def _network() -> None:
    from archsim.lab.noc.measure import NocOptions, measure

    measure(NocOptions("mesh", (2, 2), rates=(0.1,)))
    measure(NocOptions("mesh", (2, 2), rates=(0.1,), fidelity="link"))


PARTS: tuple[Callable[[], None], ...] = (_optimal, _machine, _network, _exhaustive, _trace)


def main() -> None:
    """All parts, two at a time."""
    with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        for done in [pool.submit(part) for part in PARTS]:
            done.result()


if __name__ == "__main__":
    main()
