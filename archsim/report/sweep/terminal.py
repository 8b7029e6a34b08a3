"""The fronts of a sweep in a terminal, model by model."""

from __future__ import annotations

from rich.console import Console

from archsim.report.kit import table_terminal
from archsim.report.sweep.layouts import SweepDigest, front


def show(fronts: SweepDigest, console: Console) -> None:
    """Print the front of each model of ``archsim.lab.sweep.digest.fronts``."""
    for model in fronts["models"]:
        table_terminal.show(front(fronts, model), console)
    console.print()
