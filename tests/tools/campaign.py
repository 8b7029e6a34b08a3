"""Mutants of files of every kind, each judged as ``archsim check`` or the loading of a run does, in this process.

python -m tests.tools.campaign --mutants 5000 --seed 0

Counts what is accepted and refused, internal errors (anything that is no ArchsimError), refusals of YAML without
file:line, and the most CPU time and memory that a mutant takes. Equal seeds give equal mutants.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from archsim.base.errors import ArchsimError
from tests.tools.mutation_seeds import FOREIGN, GOLDEN, KINDS, SUFFIX, YAML, beside, seeds
from tests.tools.mutations import mutated

LIMIT_S = 60
LIMIT_BYTES = 5 << 29  # of addresses: beyond what a mutant may take; the libraries have half a GiB of their own
MOST_MACS = 10**6  # of a model that is run; others are mapped
_PLACE = re.compile(r"\.yaml:[0-9]+:[0-9]+: |\.yaml:[0-9]+: ")
_KIB = 1024


class SlowError(Exception):
    """A mutant took longer than it may."""


@dataclass
class Tally:
    """What became of the mutants of a kind."""

    counts: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    grown_mib: float = 0.0
    examples: list[str] = field(default_factory=list)


def judge(kind: str, path: Path) -> None:
    """Load and check a file as the command line would; raises what that raises."""
    if kind == "trace":
        from archsim.lab.dram.requests import load

        load(path, 1_200_000_000, 64, 8 << 30)
    elif kind in FOREIGN:
        _import(kind, path)
    elif kind in ("topology", "onnx", "pt2"):
        from archsim.frontend.load import import_model
        from archsim.ir.check.workload import check_workload

        check_workload(import_model(path).workload)
    else:
        from archsim.lab.files.check_files import check_file

        check_file(path)


def use(kind: str, path: Path) -> None:
    """Run a good file on the golden chip where it is small, else map it; raises what that raises."""
    chip = path.parent / "chip.yaml"
    if kind in ("topology", "onnx", "pt2", "workload", "einsums"):
        from archsim.frontend.load import import_model
        from archsim.lab.run.job import Job
        from archsim.lab.run.map_only import mapped
        from archsim.lab.run.run import execute

        small = sum(layer.macs for layer in import_model(path).workload.layers) <= MOST_MACS
        (execute if small else mapped)(Job(path, chip))
    elif kind in ("mapping", "mapping_txt"):
        from archsim.lab.run.job import Job
        from archsim.lab.run.run import execute

        execute(Job(GOLDEN / "workload.yaml", chip, mapping=path))
    elif kind == "asm" and " on golden" in path.read_text(encoding="utf-8"):
        from archsim.lab.run.job import Job
        from archsim.lab.run.run import execute

        execute(Job(path, chip))


def _import(kind: str, path: Path) -> None:
    """Import a file of another tool; what is written is good, or the mutant counts as an internal error."""
    from archsim.frontend.foreign.load import bring
    from archsim.lab.files.check_files import check_file

    for name, text in bring([path], kind).files.items():
        written = path.with_name(f"written_{name}")
        written.write_text(text, encoding="utf-8")
        try:
            check_file(written)
        except ArchsimError as error:
            raise AssertionError(f"what is written is refused: {error}") from error


def one(kind: str, number: int, seed: int, folder: Path, tally: Tally, run: bool = False) -> None:
    """Make, judge and count a mutant."""
    pick = random.Random(f"{seed} {kind} {number}")
    files = seeds(kind)
    name = pick.choice(sorted(files))
    path = folder / f"mutant{SUFFIX.get(kind, '.yaml')}"
    path.write_bytes(mutated(kind, files[name], pick))
    before, start = _peak_kib(), time.process_time()
    with _limited():
        outcome = _outcome(kind, path, run)
    spent, grown = time.process_time() - start, (_peak_kib() - before) / _KIB
    tally.slowest_s, tally.grown_mib = max(tally.slowest_s, spent), max(tally.grown_mib, grown)
    what, _, said = outcome.partition(": ")
    tally.counts[what] += 1
    if what not in ("accepted", "refused"):
        tally.examples.append(f"{kind} {number} ({name}): {outcome[:400]}")


def _outcome(kind: str, path: Path, run: bool) -> str:
    good = False
    try:
        judge(kind, path)
        good = True
        if run:
            use(kind, path)
    except ArchsimError as error:
        free = kind not in YAML or (good and kind != "mapping")  # of a good model that its chip cannot do
        placed = free or all(_PLACE.search(line) for line in _problems(str(error)))
        return "refused" if placed else f"no place: {error}"
    except SlowError:
        return f"slow: more than {LIMIT_S} s"
    except MemoryError:
        return f"large: more than {LIMIT_BYTES >> 20} MiB"
    except Exception as error:
        return f"internal: {type(error).__name__}: {error}"
    return "accepted"


def _problems(said: str) -> list[str]:
    """The lines of a message that tell a problem each."""
    head, *lines = said.split("\n")
    return [line for line in lines if line.startswith("  ")] if re.match(r"[0-9]+ problems:", head) else [head]


@contextmanager
def _limited() -> Iterator[None]:
    """Raise SlowError in what takes longer than LIMIT_S of CPU."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise SlowError

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def campaign(mutants: int, seed: int, kinds: tuple[str, ...] = KINDS, run: bool = False) -> dict[str, Tally]:
    """So many mutants, in turns of all kinds."""
    found = {kind: Tally() for kind in kinds}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, data in beside().items():
            (folder / name).write_bytes(data)
        for number in range(mutants):
            kind = kinds[number % len(kinds)]
            one(kind, number // len(kinds), seed, folder, found[kind], run)
    return found


def main() -> int:
    """Run the campaign and print its table; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--run", action="store_true", help="also run what is accepted; models of many MACs are mapped")
    parser.add_argument("--examples", type=int, default=40)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    found = campaign(asked.mutants, asked.seed, tuple(asked.kinds), asked.run)
    columns = ("accepted", "refused", "no place", "internal", "slow", "large")
    print(f"{'kind':12}" + "".join(f"{name:>10}" for name in columns) + f"{'most CPU s':>12}{'most MiB':>10}")
    for kind, tally in found.items():
        numbers = "".join(f"{tally.counts[name]:10}" for name in columns)
        print(f"{kind:12}{numbers}{tally.slowest_s:12.2f}{tally.grown_mib:10.0f}")
    whole = sum((tally.counts for tally in found.values()), Counter[str]())
    print(f"{'all':12}" + "".join(f"{whole[name]:10}" for name in columns) + f"; peak {_peak_kib() // _KIB} MiB")
    examples = [example for tally in found.values() for example in tally.examples]
    print("\n".join(examples[: asked.examples]))
    return 1 if examples else 0


if __name__ == "__main__":
    sys.exit(main())
