"""One table of how fast the product is: commands as a user types them, whole processes, beside those of before.

python studies/benchmarks/bench.py [--full] [FOLDER]          (or: make bench [FULL=1] [BENCH=FOLDER])

Each row is a process of its own. Its time is user CPU seconds, those of its own processes too, divided by the yardstick
(``yardstick.py``), so that rows compare between machines and between moments of one; the yardstick is measured anew
before each group. ``was``: the row of the last whole table in FOLDER (default: the user's data folder), ``now/was``
their quotient. ``peer``: the recorded seconds of another simulator for the same work, on another machine and as they
are, ``times`` how many of ours they are. Cold: on an empty cache, so code is compiled and mappings are searched; warm:
the same command again, best of so many. ``growth`` is the exponent between the last two sizes of a group, the start of
a process taken off.

Rows are printed and kept as they come: the same command goes on where it was stopped, as long as the code is the same.
``--full`` has all sizes, repeats more, and runs the other scripts of this folder, of which it shows the last line.
Nothing here is asserted.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import bench_rows
from bench_rows import BenchGroup, BenchRow
from platformdirs import user_data_path

from archsim.base.caches import FOLDER_VARIABLE, code_sha256

HERE = Path(__file__).resolve().parent
HEAD = f"| {'what':44} | {'user s':>7} | {'was':>7} | {'now/was':>7} | {'MB':>5} | {'peer s':>7} | {'times':>6} |"
RULE = "|---|---:|---:|---:|---:|---:|---:|"


@dataclass(frozen=True)
class MeasuredRow:
    """User CPU seconds by the yardstick (None: it failed), what the peer took, largest resident memory, a remark."""

    user_s: float | None
    megabytes: float = 0.0
    peer_s: float | None = None
    said: str = ""


@dataclass
class BenchTable:
    """Rows by name in a file, which each new one is written to at once; ``before``: those of the last whole table."""

    path: Path
    code: str
    rows: dict[str, MeasuredRow]
    before: Mapping[str, MeasuredRow]

    def keep(self, name: str, row: MeasuredRow) -> None:
        """Add a row."""
        self.rows[name] = row
        write(self.path, self.code, self.rows)


def read(path: Path) -> tuple[str, dict[str, MeasuredRow]]:
    """Hash of the code, and rows, of a file; nothing where there is none."""
    if not path.exists():
        return "", {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["code"], {name: MeasuredRow(**row) for name, row in found["rows"].items()}


def write(path: Path, code: str, rows: Mapping[str, MeasuredRow]) -> None:
    """The file of a table, replaced at once."""
    text = json.dumps({"code": code, "rows": {name: asdict(row) for name, row in rows.items()}}, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def yardstick() -> float:
    """How many times slower this machine is at this moment than where the yardstick is 1."""
    script = [sys.executable, str(HERE / "yardstick.py")]
    return float(subprocess.run(script, check=True, capture_output=True, text=True).stdout.split()[0])


def process(command: Sequence[str], cache: Path, folder: Path) -> tuple[float, float, str]:
    """User CPU seconds and largest resident MB of a process, and the last line that it printed.

    Raises CalledProcessError where it failed.
    """
    environment = {**os.environ, FOLDER_VARIABLE: str(cache)}
    with tempfile.TemporaryFile("w+") as printed:
        child = subprocess.Popen(command, cwd=folder, env=environment, stdout=printed, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        lines = printed.read().strip().splitlines() or [""]
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command, lines[-1])
    return used.ru_utime, used.ru_maxrss * 1024 / 1e6, lines[-1].strip()


def measured(row: BenchRow, stick: float, work: Path) -> MeasuredRow:
    """A row: cold rows on a cache of their own, warm ones on that which all share, filled before."""
    missing = row.missing()
    if missing:
        return MeasuredRow(None, said=f"skipped: {missing} is not installed")
    taken: list[tuple[float, float, str]] = []
    try:
        with tempfile.TemporaryDirectory(dir=work) as folder:
            cache = Path(folder) / "cache" if row.cold else work / "cache"
            for number in range(row.times if row.cold else row.times + 1):
                place = Path(folder) / f"{number}"
                place.mkdir()
                row.prepare(place)
                taken.append(process(row.command, cache, place))
    except subprocess.CalledProcessError as error:
        return MeasuredRow(None, said=f"failed with exit code {error.returncode}: {error.output}")
    counted = taken if row.cold else taken[1:]
    user_s, megabytes, last = min(counted)
    return MeasuredRow(user_s / stick, megabytes, row.peer_s, row.says(user_s / stick, last))


def line(name: str, row: MeasuredRow, before: MeasuredRow | None) -> str:
    """A row of the printed table, its remark below it."""
    was = before.user_s if before is not None else None
    figures = (
        *(_figure(row.user_s), _figure(was), _quotient(row.user_s, was)),
        *(f"{row.megabytes:.0f}" if row.megabytes else "-", _figure(row.peer_s), _quotient(row.peer_s, row.user_s)),
    )
    widths = (7, 7, 7, 5, 7, 6)
    cells = " | ".join(f"{text:>{width}}" for text, width in zip(figures, widths, strict=True))
    return f"| {name:44} | {cells} |" + (f"\n|   {row.said} |" if row.said else "")


def _figure(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def _quotient(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one and other else "-"


def growth(group: BenchGroup, rows: Mapping[str, MeasuredRow], start_s: float) -> str:
    """The exponent between the last two sizes of a group, without the start of a process."""
    known = [(row.size, rows[row.name].user_s) for row in group.rows if row.size and rows[row.name].user_s]
    spent = [(size, seconds - start_s) for size, seconds in known if seconds is not None and seconds > start_s]
    if len(spent) < 2:
        return f"{group.name}: no growth, fewer than two sizes"
    (small, less), (large, more) = spent[-2:]
    return f"{group.name}: grows as n^{math.log(more / less) / math.log(large / small):.2f} from {small} to {large}"


def run(table: BenchTable, groups: Sequence[BenchGroup], work: Path) -> None:
    """Measure and print the rows that are not there yet, group by group, and the growth of groups with sizes."""
    print(f"{HEAD}\n{RULE}", flush=True)
    for group in groups:
        left = [row for row in group.rows if row.name not in table.rows]
        stick = yardstick() if left else 1.0
        for row in group.rows:
            if row in left:
                table.keep(row.name, measured(row, stick, work))
            print(line(row.name, table.rows[row.name], table.before.get(row.name)), flush=True)
        if any(row.size for row in group.rows):
            start = table.rows[bench_rows.START].user_s or 0.0
            print(f"| {growth(group, table.rows, start)} |", flush=True)


def main() -> None:
    """Measure, print, and put the whole table in the place of the last one."""
    full = "--full" in sys.argv[1:]
    named = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    folder = Path(named[0]) if named else user_data_path("archsim") / "bench"
    form = "full" if full else "quick"
    whole, part = folder / f"{form}.json", folder / f"{form}.part.json"
    code = code_sha256(("archsim", "mapper"))
    _, before = read(whole)
    known, rows = read(part)
    table = BenchTable(part, code, rows if known == code else {}, before)
    with tempfile.TemporaryDirectory() as work:
        run(table, bench_rows.groups(full), Path(work))
    part.replace(whole)
    print(whole)


if __name__ == "__main__":
    main()
