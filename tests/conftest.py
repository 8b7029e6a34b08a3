"""What holds for all tests: examples are the same each time, and what a machine lacks is said.

Tests that need something from outside Python are skipped by name where it is missing, and fail where CI=true; the last
lines of a run say how many were skipped, why, and what to do about it.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from archsim.base import caches
from archsim.lab.kit import gc_pause
from archsim.lab.run.job import Job

settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")

NO_BROWSER = "no Chromium or Chrome; make browser"


@pytest.fixture(autouse=True)
def _caches_as_before() -> Generator[None, None, None]:
    """A command of ``--no-cache`` that a test calls within this process is for that test alone."""
    before = os.environ.get(caches.OFF_VARIABLE)
    yield
    if before is None:
        os.environ.pop(caches.OFF_VARIABLE, None)
    else:
        os.environ[caches.OFF_VARIABLE] = before


HAS_NET = Job.has_net


@pytest.fixture(autouse=True, scope="session")
def _without_net() -> Generator[None, None, None]:
    """Most tests look at one mapping, and trying those of all objectives takes several times as long: tests of the net
    ask for it, and commands that run as processes of their own have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "has_net", False)
        yield


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> None:
    """The net, as users have it."""
    monkeypatch.setattr(Job, "has_net", HAS_NET)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that open pages as skipped where there is no browser to open them with."""
    from archsim.base.errors import ConfigError
    from archsim.report.kit.pdf import browser

    opens_pages = [item for item in items if item.get_closest_marker("browser")]
    if not opens_pages:
        return
    try:
        browser()
    except ConfigError:
        for item in opens_pages:
            item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


def pytest_collection_finish() -> None:
    """Thousands of collected tests live to the end: the search for garbage need not look through them each time."""
    gc_pause.seldom()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, None]:
    """With CI=true a skipped test is a failed one: what CI skips nobody runs."""
    report = (yield).get_result()
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {_reason(report)}"


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, None]:
    """The same of a whole file that leaves itself out (``importorskip`` at its top)."""
    report = (yield).get_result()
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {_reason(report)}"


def pytest_unconfigure(config: pytest.Config) -> None:
    """After everything else, name what was skipped and say what to do about it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    for report in sorted(skipped, key=lambda each: str(each.nodeid)):
        print(f"skipped: {report.nodeid}")
    for reason, number in sorted(Counter(_reason(report) for report in skipped).items()):
        print(f"{number} skipped: {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test, or a file of them, was skipped."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")
