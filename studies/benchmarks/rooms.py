"""Where the user CPU of a command goes, by room: shares of archsim's rooms, the mapper, Numba and imports.

python studies/benchmarks/rooms.py ["run resnet50 --on edge_npu" ...]

Each command runs in a process of its own, in which a timer of user CPU asks every 2 ms where it is; a moment is charged
with the CPU since the one before, so that compiled code, which is not interrupted, counts in full. It belongs to the
innermost room on the stack: what libraries do counts for the room that called them, ``numba`` is loading and compiling
of code, ``imports`` all that is done while a module is imported, ``rest`` what no room has called. Commands are run
twice, and the second run counts.
"""

from __future__ import annotations

import json
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType

COMMANDS = (
    "run resnet50 --on edge_npu",
    "run resnet50 --on edge_npu --fidelity fast",
    "run bert_base --on mtia_v2i --fidelity fast --parameter layers=2",
    "noc --topology mesh --shape 8x8 --rates 0.2",
)
ROOMS = ("base", "spec", "mapper", "ir", "sim", "pe", "memory", "noc", "lab", "report", "numba", "imports")
STEP_S = 0.002


def room(frame: FrameType | None) -> str:
    """The room of a moment by its stack, the innermost that is one."""
    found = ""
    while frame is not None:
        parts = Path(frame.f_code.co_filename).parts
        if "importlib" in frame.f_code.co_filename:
            return "imports"
        found = found or _named(parts)
        frame = frame.f_back
    return found or "rest"


def _named(parts: tuple[str, ...]) -> str:
    """The room of a file, '' for one of a library."""
    for package in ("numba", "llvmlite"):
        if package in parts:
            return "numba"
    if "mapper" in parts:
        return "mapper"
    if "archsim" in parts[:-1]:
        below = parts[len(parts) - 1 - parts[::-1].index("archsim") + 1 :]
        return below[0].removesuffix(".py")
    return ""


def _user_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def sample(out: Path, arguments: list[str]) -> None:
    """Run a command in this process and write the seconds of each room."""
    spent: Counter[str] = Counter()
    last = 0.0

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now = _user_s()
        spent[room(frame)] += now - last
        last = now

    signal.signal(signal.SIGVTALRM, look)
    signal.setitimer(signal.ITIMER_VIRTUAL, STEP_S, STEP_S)
    try:
        from archsim.cli.app import main as command

        command(arguments)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        out.write_text(json.dumps(spent))


def rooms_of(command: str) -> dict[str, float]:
    """Seconds of a command by room, of its second run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rooms.json"
        asked = [sys.executable, __file__, "--sample", str(out), *shlex.split(command)]
        for _ in range(2):
            subprocess.run(asked, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found: dict[str, float] = json.loads(out.read_text())
    return found


def main() -> None:
    """Print the shares of each command, the rooms that are not in ``ROOMS`` behind them."""
    for command in sys.argv[1:] or COMMANDS:
        found = rooms_of(command)
        whole = sum(found.values())
        print(f"archsim {command}: {whole:.2f} s user CPU", flush=True)
        for name in (*ROOMS, *sorted(set(found) - set(ROOMS))):
            print(f"  {name:10} {100 * found.get(name, 0.0) / whole:5.1f} %  {found.get(name, 0.0):6.2f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--sample"]:
        sample(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
