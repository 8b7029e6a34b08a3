"""Bad weather on purpose: full disks, damaged and locked files, rows changed by hand; what the command line does then.

python -m tests.tools.weather          prints a row for each place and fault, then the matrix of places by weather

A cache is a place too: what is wrong with it costs one warning, and the command prints what it prints without a cache.

Nothing here needs rights: a full disk is ``os.write`` that says so after some bytes, a limit on the size of files
(RLIMIT_FSIZE, which the system enforces), SQLite's own limit of pages, or /dev/full.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import resource
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from archsim.base import caches, entries
from archsim.cli.app import main
from archsim.lab.sweep import clusters, store
from archsim.lab.sweep.worker import SweepRow, SweepTask, work

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
SPEC = """
name: small
chip: {chip}
models: [{model}]
axes: {{clock: [0.8 GHz, 1 GHz], dram.bandwidth: [4 GB/s, 8 GB/s]}}
objectives: [latency_s, energy_j]
"""
MODEL = "name, h, w, fh, fw, c, k, s,\nconv1, 10, 10, 3, 3, 4, 8, 1,\n"


@dataclass(frozen=True)
class Told:
    """How a command ended: exit code, what it said, and whether the folder of its results is as it was."""

    code: int
    out: str
    err: str
    untouched: bool


class Here:
    """A crew of this process, so that a sweep takes no others."""

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def rows(self, tasks: Iterable[SweepTask], seconds: float | None = None) -> Iterator[SweepRow]:
        """See ``archsim.lab.sweep.executor.Crew``."""
        return map(work, tasks)


def called(*arguments: str, out: Any = None) -> tuple[int, str, str]:
    """Exit code, standard output and errors of a command in this process."""
    said, err = out if out is not None else io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(err),
        mock.patch.object(clusters, "crew", lambda place: Here()),
    ):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    return int(code or 0), said.getvalue() if isinstance(said, io.StringIO) else "", err.getvalue()


@contextmanager
def cached(folder: Path | None) -> Iterator[None]:
    """A cache of its own, of which nothing was said yet, or none."""
    values = {caches.OFF_VARIABLE: "1"} if folder is None else {caches.FOLDER_VARIABLE: str(folder)}
    kept = {key: value for key, value in os.environ.items() if key not in (caches.OFF_VARIABLE, *values)}
    with mock.patch.dict(os.environ, {**kept, **values}, clear=True), mock.patch.dict(entries._told, clear=True):
        yield


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, the index by its rows: SQLite may tidy up its file."""
    found = {}
    for path in sorted(folder.rglob("*")) if folder.exists() else ():
        if path.is_file() and not path.name.startswith(store.FILE):
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


@contextmanager
def disk_full(after_bytes: int = 0) -> Iterator[None]:
    """Writes fail with ENOSPC once so many bytes were written; the last one may be cut short, as disks do."""
    left, real = after_bytes, os.write

    def write(number: int, data: Any) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = real(number, bytes(data[:left]))
        left -= size
        return size

    with mock.patch.object(os, "write", write):
        yield


@contextmanager
def no_rename() -> Iterator[None]:
    """The last step fails: a file system that was mounted anew for reading."""

    def replace(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with mock.patch.object(os, "replace", replace):
        yield


@contextmanager
def small_files(size_bytes: int = 1024) -> Iterator[None]:
    """No file of this process may be larger: enforced by the system, in every library."""
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))


@contextmanager
def index_full() -> Iterator[None]:
    """SQLite finds no room for another page, as where the disk is full."""
    real = store.RowStore._open

    def opened(self: store.RowStore) -> None:
        real(self)
        (pages,) = self._base.execute("pragma page_count").fetchone()
        self._base.execute(f"pragma max_page_count = {pages}")

    with mock.patch.object(store.RowStore, "_open", opened):
        yield


@contextmanager
def index_locked(path: Path) -> Iterator[None]:
    """Another program is in the middle of a transaction."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
        mock.patch.object(store, "OPENING_S", 0.05),
    ):
        other.execute("begin exclusive")
        yield


@dataclass(frozen=True)
class Case:
    """``arguments`` in a world that ``harm`` has changed, under ``fault``; ``code`` and ``words`` are expected."""

    place: str
    weather: str
    arguments: tuple[str, ...]
    words: str
    fault: Callable[[Path], AbstractContextManager[None]] = lambda world: nullcontext()
    harm: Callable[[Path], None] = lambda world: None
    code: int = 2
    results: str = "out"  # the folder that must be as it was

    @property
    def is_of_cache(self) -> bool:
        """Whether the place is a cache."""
        return self.place.startswith("cache")

    def calm(self, world: Path) -> str:
        """What the command prints where there is no cache."""
        arguments = [text.replace("@", f"{world}/") for text in self.arguments]
        with cached(None):
            return called(*arguments)[1]

    def run(self, world: Path) -> Told:
        """In a copy of the world."""
        self.harm(world)
        before = contents(world / self.results)
        arguments = [text.replace("@", f"{world}/") for text in self.arguments]
        with cached(world / CACHE) if self.is_of_cache else nullcontext(), self.fault(world):
            code, out, err = called(*arguments)
        return Told(code, out, err, contents(world / self.results) == before)

    def complaints(self, told: Told) -> list[str]:
        """What is not as it should be."""
        beside = _BESIDE if self.is_of_cache else (*_BESIDE, "warning: cache ")
        lines = [line for line in told.err.splitlines() if line and not line.startswith(beside)]
        found = {
            f"exit code {told.code}": told.code != self.code,
            "results were touched": not told.untouched and self.code != 0,
            f"said {told.err!r}": self.words not in told.err + told.out,
            f"{len(lines)} messages": (self.code != 0 or self.is_of_cache) and len(lines) != 1,
            "a traceback": "Traceback" in told.err or "internal error" in told.err,
        }
        return [text for text, wrong in found.items() if wrong]


def world(folder: Path) -> Path:
    """A folder with a chip, a model, a run, a comparison and a sweep, made once and copied for each case."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(GOLDEN / "chip.yaml", folder / "chip.yaml")
    (folder / "model.csv").write_text(MODEL)
    (folder / "sweep.yaml").write_text(SPEC.format(chip=folder / "chip.yaml", model=folder / "model.csv"))
    chip, model = str(folder / "chip.yaml"), str(folder / "model.csv")
    fast = ("run", model, *EDGE[2:])
    assert called(*fast)[0] == 0  # which loads compiled code from where it is
    with cached(folder / CACHE):
        assert called(*fast)[0] == 0
    for arguments in (
        ("run", model, "--on", chip, "--out", str(folder / "out")),
        ("run", model, "--on", chip, "--set", "clock=0.5 GHz", "--out", str(folder / "other")),
        ("compare", str(folder / "out"), str(folder / "other"), "--out", str(folder / "compared")),
        ("sweep", str(folder / "sweep.yaml"), "--out", str(folder / "swept")),
    ):
        code, _, err = called(*arguments)
        assert code == 0, err
    return folder


def damaged(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """A file of the world with other bytes."""

    def harm(place: Path) -> None:
        path = place / name
        path.write_bytes(change(path.read_bytes()))

    return harm


def spoiled(kind: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Every file of a kind of cache with other bytes."""

    def harm(place: Path) -> None:
        found = sorted((place / CACHE / kind).iterdir())
        assert found
        for path in found:
            path.write_bytes(change(path.read_bytes()))

    return harm


def _empty(place: Path) -> None:
    """No cache yet."""
    shutil.rmtree(place / CACHE)


def _a_file(place: Path) -> None:
    """A file where the cache should be."""
    _empty(place)
    (place / CACHE).write_text("none")


def _other_mapping(data: bytes) -> bytes:
    return data.replace(b'"unit": "mxu"', b'"unit": "vpu"')


def _other_rate(data: bytes) -> bytes:
    """Rates of one digit more."""
    return re.sub(rb"(\d)\]", rb"\g<1>1]", data)


def edited(statement: str) -> Callable[[Path], None]:
    """The index of the sweep after a statement of SQL."""

    def harm(place: Path) -> None:
        with contextlib.closing(sqlite3.connect(place / "swept" / store.FILE)) as base:
            base.execute(statement)
            base.commit()

    return harm


def _garbage(data: bytes) -> bytes:
    return b"\x00\xffno such thing" * (len(data) // 14 + 1)


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _hole(data: bytes) -> bytes:
    """The first page whole, the others not."""
    return data[:4096] + bytes(len(data) - 4096)


def _less(data: bytes) -> bytes:
    """JSON without keys that every summary and comparison has."""
    return data.replace(b'"layers"', b'"l"').replace(b'"runs"', b'"r"')


CACHE = "cache"
EDGE = ("run", "@model.csv", "--on", "edge_npu", "--fidelity", "fast", "--format", "json")
NOT_KEPT, DROPPED = "what is new is not kept", "dropped, and what it held is worked out again"
NOC = ("noc", "--topology", "ring", "--shape", "4", "--rates", "0.1", "--fidelity", "link")
RUN = ("run", "@model.csv", "--on", "@chip.yaml", "--set", "clock=0.7 GHz", "--out", "@out")
SWEEP = ("sweep", "@sweep.yaml", "--out", "@swept", "--resume")
FRESH = ("sweep", "@sweep.yaml", "--out", "@fresh")
_BESIDE = ("compiling functions", "warning: the model is ")  # what is said whatever the weather
NO_SPACE, LARGE, READ_ONLY = "No space left on device", "File too large", "Read-only file system"


def cases() -> tuple[Case, ...]:
    """Places by weather."""
    full = [
        Case("run --out", "disk full at once", RUN, NO_SPACE, lambda w: disk_full()),
        Case("run --out", "disk full in the middle", RUN, NO_SPACE, lambda w: disk_full(9000)),
        Case("run --out", "files limited by the system", RUN, LARGE, lambda w: small_files()),
        Case("run --out", "no rename", RUN, READ_ONLY, lambda w: no_rename()),
        Case("run --out NEW", "disk full", (*RUN[:-1], "@new"), NO_SPACE, lambda w: disk_full(9000), results="new"),
        Case("map --export", "disk full", ("map", *RUN[1:4], "--export", "@out/m.yaml"), NO_SPACE,
             lambda w: disk_full(9)),
        Case("compare --out", "disk full", ("compare", "@out", "@other", "--out", "@compared"), NO_SPACE,
             lambda w: disk_full(99), results="compared"),
        Case("report", "disk full", ("report", "@out"), NO_SPACE, lambda w: disk_full(99)),
        Case("report --export csv", "disk full", ("report", "@swept", "--export", "csv"), NO_SPACE,
             lambda w: disk_full(), results="swept"),
        Case("noc --plot", "disk full", (*NOC, "--plot", "@out/p.png"), NO_SPACE, lambda w: disk_full(99)),
        Case("noc --out", "disk full", (*NOC, "--out", "@net"), NO_SPACE, lambda w: disk_full(9000), results="net"),
        Case("sweep, index", "disk full", FRESH, "the disk is full; make room and go on with --resume",
             lambda w: index_full(), results="fresh"),
        Case("sweep, results", "disk full", SWEEP, NO_SPACE, lambda w: disk_full(99), results="swept"),
    ]  # fmt: skip
    broken = [
        Case("index", "locked", SWEEP, "another program is writing into it",
             lambda w: index_locked(w / "swept" / store.FILE), results="swept"),
        *(Case("index", text, SWEEP, "it is damaged; move it away", harm=damaged(f"swept/{store.FILE}", change),
               results="swept") for text, change in (("garbage", _garbage), ("cut", _half), ("a hole", _hole))),
        Case("index", "a row changed by hand", SWEEP, "was changed after it was written; it is worked out again",
             harm=edited("update rows set numbers = replace(numbers, '\"latency_s\": ', '\"latency_s\": 9')"), code=0),
        *(Case("results.parquet", text, ("report", "@swept"), "results.parquet: is damaged", results="swept",
               harm=damaged("swept/results.parquet", change))
          for text, change in (("garbage", _garbage), ("cut", _half))),
        *(Case("summary.json", text, ("report", "@out"), "out", harm=damaged("out/summary.json", change))
          for text, change in (("garbage", _garbage), ("cut", _half), ("keys lost", _less))),
        Case("comparison.json", "keys lost", ("report", "@compared"), "is damaged", results="compared",
             harm=damaged("compared/comparison.json", _less)),
    ]  # fmt: skip
    return (*full, *broken, *_of_caches())


def _of_caches() -> tuple[Case, ...]:
    """Caches: nothing is lost but what they would have spared."""
    mappings, rates = "cache, mappings", "cache, rates"
    written = (
        ("disk full at once", NO_SPACE, disk_full), ("files limited by the system", LARGE, lambda: small_files(99)),
        ("no rename", READ_ONLY, no_rename),
    )  # fmt: skip
    return (
        *(Case(mappings, text, EDGE, f"({said}); {NOT_KEPT}", lambda w, made=made: made(), _empty, 0)
          for text, said, made in written),
        Case(rates, "files limited by the system", EDGE, f"({LARGE}); {NOT_KEPT}", lambda w: small_files(99),
             _empty, 0),
        *(Case(mappings, text, EDGE, DROPPED, harm=spoiled("mappings", change), code=0)
          for text, change in (("garbage", _garbage), ("cut", _half), ("changed by hand", _other_mapping))),
        *(Case(rates, text, EDGE, DROPPED, harm=spoiled("dram", change), code=0)
          for text, change in (("garbage", _garbage), ("cut", _half), ("changed by hand", _other_rate))),
        Case("cache", "a file in its place", EDGE, NOT_KEPT, harm=_a_file, code=0),
    )  # fmt: skip


def stdout_full(*arguments: str) -> Told:
    """A command whose standard output is /dev/full."""
    with open("/dev/full", "w", encoding="utf-8") as out:
        code, _, err = called(*arguments, out=out)  # which leads nowhere from then on
    return Told(code, "", err, True)


def table() -> int:
    """Print the matrix; how many rows are not as they should be."""
    wrong = 0
    cells: dict[tuple[str, str], str] = {}
    with TemporaryDirectory() as folder:
        made = world(Path(folder) / "world")
        print(f"{'place':22}{'weather':30}{'exit':>5}  {'results':10}message")
        for number, case in enumerate(cases()):
            copy = Path(folder) / str(number)
            shutil.copytree(made, copy)
            told = case.run(copy)
            bad = case.complaints(told)
            bad += ["printed something else"] if case.is_of_cache and told.out != case.calm(copy) else []
            wrong += bool(bad)
            cells[case.weather, case.place] = "WRONG" if bad else "warns" if case.code == 0 else "refuses"
            first = (told.err.splitlines() or [""])[-1].replace(str(copy), ".")
            left = "as before" if told.untouched else "written"
            said = f"{first}  WRONG: {'; '.join(bad)}" if bad else first
            print(f"{case.place:22}{case.weather:30}{told.code:5}  {left:10}{said}")
        for arguments in (("show", "chips"), ("run", str(made / "model.csv"), "--on", str(made / "chip.yaml"))):
            told = stdout_full(*arguments)
            wrong += told.code != 2
            cells["disk full", "standard output"] = "refuses" if told.code == 2 else "WRONG"
            print(f"{'standard output':22}{'disk full, ' + arguments[0]:30}{told.code:5}  {'':10}{told.err.strip()}")
    print(matrix(cells))
    return wrong


def matrix(cells: Mapping[tuple[str, str], str]) -> str:
    """Rows by weather, columns by place: what the command does, a dot where that weather cannot be."""
    weathers, places = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    wide = max(map(len, weathers)) + 2
    lines = [f"{chr(ord('A') + at)}  {place}" for at, place in enumerate(places)]
    lines += ["", " " * wide + "".join(f"{chr(ord('A') + at):9}" for at in range(len(places)))]
    for weather in weathers:
        lines.append(f"{weather:{wide}}" + "".join(f"{cells.get((weather, place), '.'):9}" for place in places))
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    sys.exit(1 if table() else 0)
