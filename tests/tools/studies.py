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
