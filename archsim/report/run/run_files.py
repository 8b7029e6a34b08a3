"""What a run leaves in its directory, and rebuilding the pages from it.

summary.json (the public keys and ``details``), layers.csv, mappings.yaml, report.html, report.md and, where
asked for, trace.json. The pages are made from summary.json alone, so they can be made again at any time.
"""

from __future__ import annotations

from pathlib import Path

from archsim.base.writable import write_all
from archsim.ir.result import Summary
from archsim.report.run import html, markdown
from archsim.report.run.summary import FILE, RUNS, SCENARIO, load, to_text
from archsim.report.run.tables import layers_csv
from archsim.report.scenario import page

MAPPINGS, TRACE = "mappings.yaml", "trace.json"


def write(directory: Path, summary: Summary, mappings: str = "", trace: str = "") -> list[Path]:
    """Write the files of a run into ``directory`` (made if missing); returns their paths in the order above.

    ``mappings`` and ``trace`` are texts; '' = no such file. Raises ConfigError when they cannot be written.
    """
    texts = {
        FILE: to_text(summary),
        "layers.csv": layers_csv(summary),
        MAPPINGS: mappings,
        **_pages(summary),
        TRACE: trace,
    }
    return write_all(directory, {name: text for name, text in texts.items() if text})


def write_scenario(directory: Path, summary: Summary, streams: str) -> list[Path]:
    """As ``write`` for a scenario; ``streams``: the text of its table."""
    return write_all(directory, {FILE: to_text(summary), "streams.csv": streams, **_pages(summary)})


def rebuild(directory: Path) -> list[Path]:
    """Make report.html and report.md again from the stored summary; returns their paths."""
    return write_all(directory, _pages(load(directory, (*RUNS, SCENARIO))))


def _pages(summary: Summary) -> dict[str, str]:
    if summary["schema"] == SCENARIO:
        return {"report.html": page.html(summary), "report.md": page.markdown(summary)}
    return {"report.html": html.render(summary), "report.md": markdown.render(summary)}
