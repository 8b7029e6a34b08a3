"""The mutation campaign over functions: small mistakes in the product's source, each to be caught by some test.

python -m tests.tools.function_mutants WORK              200 mutants, two at a time; WORK keeps everything, so that the
                                                         same command goes on where it was stopped
python -m tests.tools.function_mutants WORK --number 20 --tests tests/unit --seed 2

Every room of archsim takes part; mapper/ does not (``tests.tools.mutants`` and ``tests.tools.campaign`` score what its
Programs are checked by). First the tests run once in a copy of the tree in which each chosen function says that it is
called (``tests.tools.function_hits``); a compiled function cannot, so those that call it do. Then each mutant is put
into a copy of the tree, and the tests that reach its function run until one fails: those whose files are named like the
function's file first, then the cheapest of each file, in turns, and those that take long last. A mutant that none of
the first tests catches runs against all others that reach it, as many as its time allows (``--budget``, CPU seconds of
tests). It is caught, it survives, or it times out, which somebody would notice. The last lines tell of each survivor
the file and the line, and the text before and after. The files of WORK are a copy of the tree at the time of the first
call: another tree, another WORK.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from queue import Queue
from typing import IO

from archsim.base import caches
from tests.tools.commands import ROOT
from tests.tools.function_calls import Calls
from tests.tools.function_hits import VARIABLE
from tests.tools.function_mutations import Function, Mutant, chosen, functions

WORKERS = 2
FIRST_TESTS = 60  # that a mutant meets in one process, before the others are collected in a second
CHEAP_S = 0.5  # tests that take longer come behind all others
MOST_TESTS = 400  # of a mutant in all
START_S = 60.0  # CPU of a process beside its tests
COMPILE_S = 150.0  # the same where callers of a compiled function are compiled anew
PATIENCE = 4.0  # times what its tests took
FAILED = (1, 2, 3, 4)  # pytest's: a test failed, collecting did, pytest did, there is no such test any more
LIMITS = (signal.SIGXCPU, signal.SIGKILL)  # ends of a process that took too long
DIGEST = "_sources_digest"  # the function that names the folder of compiled code by the text of all of it
HIT = '__import__("tests.tools.function_hits", fromlist=["hit"]).hit'
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: 'caught', 'survived', 'timed out' or 'reached by no test'; ``by``: the failing test."""

    key: str
    outcome: str
    by: str = ""
    tests: int = 0
    cpu_s: float = 0.0


@dataclass(frozen=True)
class Test:
    """A test that passes, and the CPU seconds it takes."""

    __test__ = False  # pytest's
    name: str
    cpu_s: float

    @property
    def file(self) -> str:
        """Where it is written."""
        return self.name.partition("::")[0]


# the trees ----------------------------------------------------------------------------------------------------


def copied(target: Path) -> Path:
    """A copy of the files of the project as they are now, compiled so that bytecode is checked by content."""
    if target.exists():
        return target
    partly = target.with_name(target.name + ".partly")
    shutil.rmtree(partly, ignore_errors=True)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in names:
        if name and (ROOT / name).is_file():
            (partly / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, partly / name)
    _fix_digest(partly)
    compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
    subprocess.run([*compiling, "archsim", "mapper", "tests"], cwd=partly, check=True)
    return partly.rename(target)


def _fix_digest(tree: Path) -> None:
    """A mistake in a function of Python leaves compiled code as it is, though its folder is named by all sources."""
    made = re.compile(rf"^def {DIGEST}\(\).*?:\n", re.MULTILINE)
    for path in sorted((tree / "archsim").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if made.search(text):
            module = ".".join(path.relative_to(tree).with_suffix("").parts)
            asking = [sys.executable, "-c", f"import {module} as found; print(found.{DIGEST}())"]
            digest = subprocess.run(asking, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
            path.write_text(made.sub(rf'\g<0>    return "{digest}"\n', text), encoding="utf-8")
            return
    raise SystemExit(f"no function {DIGEST} in archsim: this tool must learn how compiled code is found now")


def environment(tree: Path, cache: Path) -> dict[str, str]:
    """Of a process that finds this tree first and leaves no bytecode of a mutant behind."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", VARIABLE)}
    return {**kept, "PYTHONPATH": str(tree), "ARCHSIM_CACHE": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}


def fresh_cache(place: Path) -> Path:
    """A copy of this user's compiled code alone: what a mutant writes is nobody else's."""
    shared = caches.folder()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if shared is not None and (shared / "numba").is_dir():
        shutil.copytree(shared / "numba", place / "numba")
    return place


# which test reaches which function ----------------------------------------------------------------------------


def reaching(work: Path, mutants: list[Mutant], calls: Calls, places: list[str]) -> dict[str, list[Test]]:
    """Tests that pass and reach each mutant's function, by the mutant's key; asked once and kept in ``work``."""
    told, done = work / "hits.txt", work / "hits.json"
    if not done.exists():
        told.unlink(missing_ok=True)
        shutil.rmtree(work / "hits", ignore_errors=True)
        tree = copied(work / "hits")
        _mark(tree, mutants, calls)
        given = environment(tree, fresh_cache(work / "hits-cache")) | {VARIABLE: str(told)}
        asking = [*PYTEST, "-p", "tests.tools.function_hits", "-n", str(WORKERS), *places]
        with (work / "hits.log").open("wb") as log:
            subprocess.run(asking, cwd=tree, env=given, stdout=log, stderr=log, check=False)
        found = _read_hits(told.read_text(encoding="utf-8"), mutants)
        done.write_text(json.dumps({key: [asdict(test) for test in tests] for key, tests in found.items()}))
    stored = json.loads(done.read_text())
    return {key: [Test(**test) for test in tests] for key, tests in stored.items()}


def _mark(tree: Path, mutants: list[Mutant], calls: Calls) -> None:
    """Let each function that has a mistake, or that calls one where that is compiled, say that it is called."""
    marks: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for number, mutant in enumerate(mutants):
        for function in calls.entries(mutant.function):
            marks[function.path][function.first_line].add(number)
    for path, at in marks.items():
        lines = (tree / path).read_text(encoding="utf-8").splitlines(keepends=True)
        for line in sorted(at, reverse=True):
            indent = re.match(r"\s*", lines[line - 1])
            assert indent is not None
            lines[line - 1 : line - 1] = [f"{indent[0]}{HIT}({number})\n" for number in sorted(at[line])]
        (tree / path).write_text("".join(lines), encoding="utf-8")


def _read_hits(text: str, mutants: list[Mutant]) -> dict[str, list[Test]]:
    """A file that reaches a function while it is collected reaches it in each of its tests. A line that a test of full
    disks has cut is left out."""
    costs = {name: float(cpu_s) for cpu_s, name in re.findall(r"^took (\S+) passed (.+)$", text, re.MULTILINE)}
    files: dict[str, set[str]] = defaultdict(set)
    for name in costs:
        files[name.partition("::")[0]].add(name)
    reached: dict[str, set[str]] = {mutant.key: set() for mutant in mutants}
    for number, name in re.findall(r"^hit (\d+) (.+)$", text, re.MULTILINE):
        reached[mutants[int(number)].key] |= {name} & costs.keys() if "::" in name else files[name]
    return {key: [Test(name, costs[name]) for name in sorted(names)] for key, names in reached.items()}


def in_order(function: Function, tests: list[Test]) -> list[Test]:
    """Files named like the function's first; of each file the cheapest, then of each the next, and so on. What takes
    long comes last."""
    words = {word for word in re.split(r"[/_.]", function.path) if len(word) > 2} - {"archsim"}
    files: dict[str, list[Test]] = defaultdict(list)
    for test in sorted(tests, key=lambda each: (each.cpu_s, each.name)):
        files[test.file].append(test)

    def strangeness(file: str) -> tuple[int, float, str]:
        return -len(words & {*re.split(r"[/_.]", file)}), files[file][0].cpu_s, file

    turns = zip_longest(*(files[file] for file in sorted(files, key=strangeness)))
    found = [test for test in chain.from_iterable(turns) if test is not None]
    return sorted(found, key=lambda test: test.cpu_s > CHEAP_S)


def affordable(tests: list[Test], budget_s: float) -> Iterator[Test]:
    """Tests in turn, as long as there is time for them; one that is too long is left out for those behind it."""
    left_s = budget_s
    for test in tests:
        if test.cpu_s <= left_s:
            left_s -= test.cpu_s
            yield test


# judging ------------------------------------------------------------------------------------------------------


def judge(tree: Path, mutant: Mutant, tests: list[Test], calls: Calls, budget_s: float) -> Verdict:
    """Put the mutant into a tree, run its tests, and put the tree back."""
    if not tests:
        return Verdict(mutant.key, "reached by no test")
    ordered = list(islice(affordable(in_order(mutant.function, tests), budget_s), MOST_TESTS))
    changed = {mutant.function.path: mutant.source}
    if mutant.function.is_compiled:
        others = set(calls.compiled_files(mutant.function)) - {*changed}
        changed |= {path: (tree / path).read_bytes() + f"# calls {mutant.key}\n".encode() for path in others}
    before = {path: (tree / path).read_bytes() for path in changed}
    cache = fresh_cache(tree.with_name(f"{tree.name}-cache"))
    spare_s = COMPILE_S if mutant.function.is_compiled else START_S
    cpu_s, number = 0.0, 0
    try:
        for path, text in changed.items():
            (tree / path).write_bytes(text)
        for part in filter(None, (ordered[:FIRST_TESTS], ordered[FIRST_TESTS:])):
            outcome, by, spent_s = _run(tree, cache, part, spare_s)
            cpu_s, number = cpu_s + spent_s, number + len(part)
            if outcome != "survived":
                return Verdict(mutant.key, outcome, by, number, round(cpu_s, 1))
        return Verdict(mutant.key, "survived", "", number, round(cpu_s, 1))
    finally:
        for path, text in before.items():
            (tree / path).write_bytes(text)


def _run(tree: Path, cache: Path, tests: list[Test], spare_s: float) -> tuple[str, str, float]:
    """Outcome, the first test that failed, CPU seconds. The process and those it starts end with the limit."""
    limit_s = int(spare_s + PATIENCE * sum(test.cpu_s for test in tests))
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*PYTEST, "-x", "--tb=no", "-W", "ignore", *(test.name for test in tests)],
            cwd=tree, env=environment(tree, cache), stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit_s, limit_s + 5))
        outcome = "timed out"
        timer = threading.Timer(2.0 * limit_s, _end, (process.pid,))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        _end(process.pid)  # what it started and left behind
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode in FAILED:
            outcome = "caught"
        elif process.returncode == 0:
            outcome = "survived"
        elif process.returncode > 0:
            raise SystemExit(f"pytest ended with {process.returncode}: {_text(said)[-2000:]}")
        elif -process.returncode not in LIMITS:  # compiled code that writes where it may not
            return "caught", signal.Signals(-process.returncode).name, usage.ru_utime + usage.ru_stime
        failed = _failed(_text(said))
        return outcome, failed[0] if failed else "", usage.ru_utime + usage.ru_stime


def _failed(said: str) -> list[str]:
    """Tests that pytest's summary says have failed, and files that could not be collected."""
    return re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)


def _end(group: int) -> None:
    """End a process of ours with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


# the campaign -------------------------------------------------------------------------------------------------


class Campaign:
    """All mutants of one choice, what is known of them so far, and where that is kept."""

    def __init__(self, work: Path, number: int, seed: int, places: list[str], budget_s: float) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.work, self.budget_s, self.places = work, budget_s, places
        self.base = copied(work / "base")
        every = functions(self.base)
        self.calls, self.mutants = Calls(every), chosen(every, number, seed)
        self._asked({"number": number, "seed": seed, "tests": places})
        self.kept = work / "verdicts.jsonl"
        lines = self.kept.read_text().splitlines() if self.kept.exists() else []
        self.verdicts = {found.key: found for found in (Verdict(**json.loads(line)) for line in lines)}

    def _asked(self, asked: dict[str, object]) -> None:
        path = self.work / "asked.json"
        if path.exists() and json.loads(path.read_text()) != asked:
            raise SystemExit(f"{self.work} holds a campaign of {path.read_text()}; take another folder for {asked}")
        path.write_text(json.dumps(asked))

    def run(self) -> None:
        """Judge those that are not judged yet, ``WORKERS`` at a time, and keep each verdict at once."""
        reached = reaching(self.work, self.mutants, self.calls, self.places)
        trees: Queue[Path] = Queue()
        for worker in range(WORKERS):
            trees.put(copied(self.work / f"tree{worker}"))

        def one(mutant: Mutant) -> Verdict:
            tree = trees.get()
            try:
                return judge(tree, mutant, reached[mutant.key], self.calls, self.budget_s)
            finally:
                trees.put(tree)

        waiting = [mutant for mutant in self.mutants if mutant.key not in self.verdicts]
        with ThreadPoolExecutor(WORKERS) as pool, self.kept.open("a") as kept:
            asked = {pool.submit(one, mutant): mutant for mutant in waiting}
            try:
                for done in as_completed(asked):
                    mutant = asked[done]
                    self.verdicts[mutant.key] = done.result()
                    kept.write(json.dumps(asdict(self.verdicts[mutant.key])) + "\n")
                    kept.flush()
                    print(self.line(mutant), flush=True)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def unsound(self) -> list[Mutant]:
        """Mutants that were caught by tests which, run together, fail without them too."""
        tree, by = self.work / "tree0", {verdict.by for verdict in self.verdicts.values() if "::" in verdict.by}
        if not by:
            return []
        given = environment(tree, fresh_cache(self.work / "sound-cache"))
        asking = [*PYTEST, "--tb=no", "-W", "ignore", *sorted(by)]
        said = subprocess.run(asking, cwd=tree, env=given, capture_output=True, text=True, check=False).stdout
        failed = {*_failed(said)}
        return [mutant for mutant in self.mutants if self.verdicts[mutant.key].by in failed]

    def line(self, mutant: Mutant) -> str:
        """Verdict and mutant in a line."""
        verdict, change = self.verdicts[mutant.key], mutation_text(mutant)
        told = f"{verdict.outcome} ({verdict.tests} tests, {verdict.cpu_s:.1f} s)"
        return f"{told}: {mutant.function.path}:{mutant.mutation.line}: {change} {verdict.by}".rstrip()

    def report(self) -> int:
        """Print the score by room and every mutant that was not caught; 1 when there is one."""
        rooms: dict[str, Counter[str]] = defaultdict(Counter)
        for mutant in self.mutants:
            rooms[mutant.function.room][self.verdicts[mutant.key].outcome] += 1
        total = sum(rooms.values(), Counter[str]())
        print(f"{'room':16}{'mutants':>8}{'caught':>8}{'timed out':>11}{'survived':>10}{'unreached':>11}")
        for room, found in [*sorted(rooms.items()), ("all", total)]:
            row = [found[kind] for kind in ("caught", "timed out", "survived", "reached by no test")]
            print(f"{room:16}{sum(row):8}{row[0]:8}{row[1]:11}{row[2]:10}{row[3]:11}")
        for mutant in self.mutants:
            if self.verdicts[mutant.key].outcome in ("survived", "reached by no test"):
                print(self.line(mutant))
        for mutant in self.unsound():
            print(f"not proven, as that test fails without the mutant too: {self.line(mutant)}")
        caught = total["caught"] + total["timed out"]
        spent_s = sum(verdict.cpu_s for verdict in self.verdicts.values())
        print(f"caught: {caught} of {len(self.mutants)} ({caught / len(self.mutants):.1%}); {spent_s:.0f} CPU seconds")
        return 0 if caught == len(self.mutants) else 1


def mutation_text(mutant: Mutant) -> str:
    """What changed, on one line."""
    before, after = (" ".join(text.split()) for text in (mutant.mutation.before, mutant.mutation.after))
    return f"{mutant.function.name}: {before} -> {after}"


def main() -> int:
    """Run or go on with a campaign, then print its score."""
    parser = argparse.ArgumentParser(description="mutation campaign over functions")
    parser.add_argument("work", type=Path, help="folder that keeps copies of the tree and the verdicts")
    parser.add_argument("--number", type=int, default=200, help="mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", default=["tests"], help="where tests are taken from")
    parser.add_argument("--budget", type=float, default=60.0, help="CPU seconds of tests for each mutant at most")
    asked = parser.parse_args()
    campaign = Campaign(asked.work.resolve(), asked.number, asked.seed, asked.tests, asked.budget)
    campaign.run()
    return campaign.report()


if __name__ == "__main__":
    sys.exit(main())
