"""Another tree's machine against this one: equal Activities, to the last record, on the same Programs.

python -m tests.tools.same_machine OLD --cases 60 --seed 0
python -m tests.tools.same_machine OLD --runs resnet50:mtia_v2i:fast gemm_4096:edge_npu

OLD is the root of the other tree. Random networks go on the chips in turn; every Program is made once, by this tree.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from archsim.base.errors import ArchsimError
from archsim.ir.program import Program
from archsim.lab.run.job import Job, build
from archsim.spec.architecture import Architecture
from archsim.spec.load import load
from mapper.compile import compile_model
from tests.tools.layers import random_net

ROOT = Path(__file__).parents[2]
CHIPS = ("edge_npu", "gemmini_16x16", "ar_soc", "mtia_v2i_pe", "simba", "tpu_v4i", "mtia_v2i")
ONE = (
    "import pickle, sys; from archsim.system import simulate; "
    "cases = pickle.load(open(sys.argv[1], 'rb')); "
    "pickle.dump([simulate(*case) for case in cases], open(sys.argv[2], 'wb'))"
)
Case = tuple[Program, Architecture]


def random_cases(count: int, seed: int) -> Iterator[tuple[str, Case]]:
    """Random networks that can be mapped, each with its name."""
    for number in range(seed, seed + count):
        chip = CHIPS[number % len(CHIPS)]
        architecture = load(chip)
        try:
            yield (
                f"network {number} on {chip}",
                (
                    compile_model(random_net(number)[1], architecture).program,
                    architecture,
                ),
            )
        except ArchsimError as error:
            print(f"network {number} on {chip}: refused: {str(error)[:80]}")


def run_cases(runs: Sequence[str]) -> Iterator[tuple[str, Case]]:
    """MODEL:CHIP or MODEL:CHIP:FIDELITY each."""
    for run in runs:
        model, chip, *fidelity = run.split(":")
        built = build(Job(model, chip, fidelity=fidelity[0] if fidelity else None))
        yield run, (built.program, built.architecture)


def activities(root: Path, cases: Path, own: dict[str, str]) -> list[Any]:
    """What the machine of the tree at ``root`` does with the pickled ``cases``; ``own``: its own environment."""
    found = cases.with_suffix(".found")
    environment = {**os.environ, "PYTHONPATH": str(root), **own}
    subprocess.run([sys.executable, "-c", ONE, str(cases), str(found)], cwd=root, env=environment, check=True)
    return list(pickle.loads(found.read_bytes()))


def digest(value: Any) -> str:
    """Of all that a value holds: equal values have equal ones, whatever tree's classes they are of."""
    return hashlib.sha256(repr(plain(value)).encode()).hexdigest()


def plain(value: Any) -> Any:
    """A value in plain containers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return [(field.name, plain(getattr(value, field.name))) for field in fields(value)]
    if isinstance(value, dict):
        return [(key, plain(value[key])) for key in sorted(value)]
    return [plain(item) for item in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every case that differs and a line of sums; 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("--cache", type=Path, help="ARCHSIM_CACHE of the other tree, kept; else a temporary one")
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", nargs="*", default=())
    given = parser.parse_args(arguments)
    named = [*random_cases(given.cases, given.seed), *run_cases(given.runs)]
    with TemporaryDirectory() as folder:
        cases = Path(folder, "cases")
        cases.write_bytes(pickle.dumps([case for _, case in named]))
        cache = given.cache or Path(folder, "cache")  # two trees never share one
        one = activities(given.old.resolve(), cases, {"ARCHSIM_CACHE": str(cache.resolve())})
        other = activities(ROOT, cases, {})
    different = [name for (name, _), a, b in zip(named, one, other, strict=True) if digest(a) != digest(b)]
    print(*[f"{name}: differs" for name in different], f"{len(named)} Programs, {len(different)} differ", sep="\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
