"""Which test reaches which of some numbered functions; put into a copied tree by ``tests.tools.function_mutants``.

The first statement of each such function is ``hit(NUMBER)``. As a plugin of pytest this says which test is running and
what it took; processes that tests start are told by the variable that pytest sets. A line for each finding goes to the
file that FUNCTION_HITS names: ``hit NUMBER TEST`` or ``took SECONDS OUTCOME TEST``.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

VARIABLE = "FUNCTION_HITS"
_OPEN, _WRITE = os.open, os.write  # as they are before a test has the disk full
_seen: set[int] = set()
_collected = ""  # the file whose tests are being collected, which runs code of its own


def hit(number: int) -> None:
    """The function of this number is called."""
    if number not in _seen:
        _seen.add(number)
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        _tell(f"hit {number} {test or _collected}")


def _tell(line: str) -> None:
    path = os.environ.get(VARIABLE)
    if path:
        handle = _OPEN(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        _WRITE(handle, f"{line}\n".encode())
        os.close(handle)


def _cpu_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def pytest_collectstart(collector: Any) -> None:
    """What runs from here belongs to this file."""
    global _collected  # noqa: PLW0603
    if isinstance(collector, pytest.Module):
        _collected = collector.nodeid
        _seen.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, None]:
    """Time a test with its fixtures and processes."""
    _seen.clear()
    begun_s = _cpu_s()
    yield
    _tell(f"took {_cpu_s() - begun_s:.3f} {item.stash.get(_FAILED, 'passed')} {item.nodeid}")


_FAILED = pytest.StashKey[str]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Remember that a test, its preparation or its tidying did not pass."""
    report = (yield).get_result()
    if not report.passed:
        item.stash[_FAILED] = report.outcome
