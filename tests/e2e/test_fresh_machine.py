"""The tests themselves on a machine without a browser: skipped by name with what to do, failed where CI=true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.commands import ROOT

pytestmark = pytest.mark.slow  # pytest in a process of its own
PAGE = "tests/e2e/test_browser.py::test_what_a_page_does_wrong_is_seen"


def pages_of(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a test that opens a page with a PATH on which there is nothing at all."""
    given = {**os.environ, "CI": "", "PATH": str(folder), **variables}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", PAGE]
    return subprocess.run(command, capture_output=True, text=True, env=given, cwd=ROOT, timeout=120, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a browser is found in its usual place")
def test_without_a_browser_pages_are_skipped_and_the_last_line_says_what_to_do(tmp_path: Path) -> None:
    done = pages_of(tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-2:] == [f"skipped: {PAGE}", "1 skipped: no Chromium or Chrome; make browser"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a browser is found in its usual place")
def test_nothing_is_skipped_where_ci_is_true(tmp_path: Path) -> None:
    done = pages_of(tmp_path, CI="true")
    assert done.returncode == 1
    assert "skipped, which CI=true does not allow: no Chromium or Chrome; make browser" in done.stdout
