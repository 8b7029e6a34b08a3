"""Running a study's notebook at its small size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]

Tables = dict[str, dict[str, dict[str, Any]]]


def small(notebook: Path, folder: Path, **settings: str) -> Tables:
    """What the notebook leaves at its small size, run in an empty ``folder``; ``settings``: further ARCHSIM_STUDY_*."""
    results = folder / "results.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARCHSIM_STUDY", "small")
        for name, value in {**settings, "RESULTS": str(results)}.items():
            patch.setenv(f"ARCHSIM_STUDY_{name}", value)
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("IPYTHONDIR", str(folder))
        source = nbformat.read(notebook, as_version=4)
        NotebookClient(source, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    found: Tables = json.loads(results.read_text())
    return found


def stored(notebook: Path, most_bytes: int) -> list[Any]:
    """The outputs that a notebook keeps: it is small, and none of them is an error."""
    assert notebook.stat().st_size < most_bytes
    outputs = [found for cell in nbformat.read(notebook, as_version=4).cells for found in cell.get("outputs", [])]
    assert outputs and all(found.output_type != "error" for found in outputs)
    return outputs


def plots(outputs: list[Any]) -> int:
    """How many of a notebook's outputs are plots."""
    return sum("image/png" in found.get("data", {}) for found in outputs)
