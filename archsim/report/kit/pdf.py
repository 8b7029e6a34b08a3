"""Pages as PDF, printed by an installed Chromium or Chrome without a window."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from archsim.base.errors import ConfigError
from archsim.base.writable import write

BROWSERS = ("google-chrome", "google-chrome-stable", "chrome", "chromium", "chromium-browser")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)
INSTALL = (
    "Install one. Debian: apt-get install chromium. Ubuntu, whose chromium package is a stub of a snap: Google "
    "Chrome's .deb package. macOS: brew install --cask google-chrome. Windows: winget install Google.Chrome"
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
LIMIT_S = 120
VERSION_S = 20
END, MOST_BEHIND = b"%%EOF", 16  # what a PDF ends with, and bytes that may follow


def browser() -> str:
    """The path of the first browser that works; raises ConfigError when none does.

    Being found is not enough: Ubuntu's ``chromium-browser`` is a script that says that a snap is missing.
    """
    found = [path for name in (*BROWSERS, *PLACES) if (path := shutil.which(name))]
    faults = []
    for path in found:
        fault = _fault(path)
        if fault is None:
            return path
        faults.append(f"{path} does not work: {fault}")
    told = "; ".join(faults) or f"looked for {', '.join(BROWSERS)}"
    raise ConfigError(f"pdf: no Chromium or Chrome to print with ({told}). {INSTALL}")


def _fault(path: str) -> str | None:
    """Why a program cannot be the browser: what it says instead of its version; None where nothing is wrong.

    A snap sees no files outside the home folder. A browser on Windows opens a window instead of telling its version, so
    there being found has to be enough.
    """
    if path.lower().endswith(".exe"):
        return None
    if path.startswith("/snap/") or Path(path).resolve().name == "snap":
        return "a snap, which sees no files outside the home folder"
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=VERSION_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"


def headless(page: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page without a window, with a profile of its own; raises ConfigError where the browser cannot."""
    with TemporaryDirectory(prefix="archsim-", ignore_cleanup_errors=True) as profile:
        command = [browser(), *FLAGS, f"--user-data-dir={profile}", *flags, page.resolve().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"pdf: {command[0]} does not work: {error}") from error
    if done.returncode:
        raise ConfigError(f"pdf: {command[0]} failed on {page}: {done.stderr.strip().splitlines()[-1:]}")
    return done


def print_pdf(page: Path, target: Path) -> Path:
    """Print ``page`` into ``target``; returns it. Raises ConfigError where nothing was written, or only a part."""
    with TemporaryDirectory(prefix="archsim-", ignore_cleanup_errors=True) as folder:
        printed = Path(folder) / "page.pdf"
        headless(page, f"--print-to-pdf={printed}", "--no-pdf-header-footer")
        content = printed.read_bytes() if printed.is_file() else b""
    if END not in content[-len(END) - MOST_BEHIND :]:
        raise ConfigError(f"{target}: the browser wrote {'only a part' if content else 'nothing'}; is the disk full?")
    return write(target, content)
