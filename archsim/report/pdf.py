"""Pages as PDF, printed by an installed Chromium or Chrome without a window."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from archsim.errors import ConfigError

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
    """Print ``page`` into ``target``; returns it. Raises ConfigError where nothing was written."""
    target.unlink(missing_ok=True)
    headless(page, f"--print-to-pdf={target.resolve()}", "--no-pdf-header-footer")
    if not target.is_file():
        raise ConfigError(f"{target}: the browser wrote nothing")
    return target
