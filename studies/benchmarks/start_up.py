"""User CPU seconds of what a user waits for first: `import archsim` and `archsim --help`. Best of five.

python studies/benchmarks/start_up.py
"""

from __future__ import annotations

import resource
import subprocess
import sys

COMMANDS = {
    "import archsim": (0.3, [sys.executable, "-c", "import archsim"]),
    "archsim --help": (0.5, [sys.executable, "-c", "from archsim.cli.app import main; main(['--help'])"]),
}


def user_s(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    for name, (bar_s, command) in COMMANDS.items():
        best = min(user_s(command) for _ in range(5))
        print(f"{name:16} {best:.2f} s user CPU (bar {bar_s} s)")


if __name__ == "__main__":
    main()
