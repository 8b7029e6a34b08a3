"""Programs that torch.export.save wrote (.pt2), read as data: no torch is needed, and no weights are read."""

from __future__ import annotations

from pathlib import Path

from archsim.frontend.catalogue import ImportOptions
from archsim.ir.graph import Graph

SUFFIXES = (".pt2",)
OPTIONS = ("batch", "on_unsupported", "parameters", "lookups")


def load(path: Path, asked: ImportOptions) -> Graph:
    """See ``archsim.frontend.torch.archive.load_graph``."""
    from archsim.frontend.torch.archive import load_graph

    return load_graph(path, asked.name or path.stem, asked.parameters, asked.batch, asked.on_unsupported)
