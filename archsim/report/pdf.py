"""Pages as PDF, printed by an installed Chromium or Chrome without a window."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from archsim.errors import ConfigError
from archsim.outputs import write

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
LIMIT_S = 120
END, MOST_BEHIND = b"%%EOF", 16  # what a PDF ends with, and bytes that may follow


def browser() -> str:
    """The path of a browser; raises ConfigError when none is installed."""
    found = next((path for name in (*BROWSERS, *MAC) if (path := shutil.which(name))), None)
    if found is None:
        raise ConfigError(
            f"pdf: no browser to print with; looked for {', '.join(BROWSERS)}: install Chromium or Chrome"
        )
    return found


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
