"""The project on every Python that it says it runs on, as far as this machine has them.

python -m tests.tools.pythons [VERSION ...]

For each version: a virtual environment in a folder for temporary files, the project with its development extra as pip
resolves them, then a fixed small set of tests in a cache of their own: files, grammar and checkers, one golden Program
run to its figures, and a few commands as a user types them. One line each; exit code 1 where any fails. A Python that
is not found is skipped by name.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.tools.commands import ROOT

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
UNIT = (
    *("test_spec_*.py", "test_check_*.py", "test_asm.py", "test_text_forms.py", "test_records.py", "test_units.py"),
    *("test_unroll.py", "test_outputs.py", "test_plain.py", "test_registry.py"),
)
OTHERS = (
    "tests/golden/test_goldens.py",
    "tests/e2e/test_run.py::test_table_for_people",
    "tests/e2e/test_run.py::test_json_alone_on_stdout_with_exact_sums",
    "tests/e2e/test_run.py::test_golden_program_runs",
    "tests/e2e/test_run.py::test_exported_mapping_and_program_are_read_back",
    "tests/e2e/test_run.py::test_same_bytes_with_compiled_kernels_cold_warm_and_uncached",
)


def tests() -> list[str]:
    """The fixed set, by path or name."""
    found = [str(path.relative_to(ROOT)) for name in UNIT for path in sorted((ROOT / "tests" / "unit").glob(name))]
    return [*found, *OTHERS]


def interpreter(version: str) -> str:
    """The program of a version, '' where there is none: on the path, or one that pyenv has installed, the newest."""
    for found in (shutil.which(f"python{version}"), *_of_pyenv(version)):
        if found and _version(found).startswith(f"{version}."):
            return found
    return ""


def _of_pyenv(version: str) -> Iterator[str]:
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    there = [path for path in folder.glob(f"{version}.*") if path.name.removeprefix(f"{version}.").isdigit()]
    for path in sorted(there, key=lambda path: int(path.name.rpartition(".")[2]), reverse=True):
        yield str(path / "bin" / "python")


def _version(program: str) -> str:
    """``3.12.1``, '' of what does not start (a shim of pyenv for a version that it has not)."""
    asked = "import platform; print(platform.python_version())"
    try:
        done = subprocess.run([program, "-c", asked], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def tried(program: str, folder: Path) -> tuple[bool, str]:
    """Whether the project installs and its tests pass on a Python, and what is said of that."""
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    for step, command in (("venv", [program, "-m", "venv", str(folder / "venv")]), ("pip", [*pip, f"{ROOT}[dev]"])):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            return False, f"{step} failed: {_last(done.stdout + done.stderr)}"
    given = {"ARCHSIM_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *tests()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **given})
    return done.returncode == 0, summary(done.stdout + done.stderr)


def summary(text: str) -> str:
    """``412 passed``: pytest's last line without its time, and the first test that failed."""
    counts = re.findall(r"\d+ (?:passed|failed|errors?|skipped)\b", _last(text))
    failed = re.search(r"^(?:FAILED|ERROR) (.*)$", text, re.MULTILINE)
    said = ", ".join(counts) or _last(text)
    return f"{said}; the first: {failed[1]}" if failed else said


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["nothing was said"])[-1]


def main() -> None:
    """Each version that is named, or all."""
    failed = False
    for version in sys.argv[1:] or VERSIONS:
        program = interpreter(version)
        if not program:
            print(f"Python {version}: not found, skipped", flush=True)
            continue
        with TemporaryDirectory() as folder:
            good, said = tried(program, Path(folder))
        print(f"Python {_version(program)}: {said}", flush=True)
        failed |= not good
    sys.exit(failed)


if __name__ == "__main__":
    main()
