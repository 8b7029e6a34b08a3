"""Programs that torch.export.save wrote (.pt2), read as data: no torch is needed, and no weights are read."""

from __future__ import annotations

from pathlib import Path

from archsim.base.errors import ModelError, placed
from archsim.frontend.catalogue import ImportOptions
from archsim.ir.graph import Graph

SUFFIXES = (".pt2",)
OPTIONS = ("batch", "on_unsupported", "parameters", "lookups")


def load(path: Path, asked: ImportOptions) -> Graph:
    """The graph of the program. Raises ModelError that names the file and the call."""
    from archsim.frontend.torch import archive
    from archsim.frontend.torch.sizes import OpenSizes
    from archsim.frontend.torch.walk import graph_of

    try:
        program = archive.load(path)
        sizes = OpenSizes.of(program, asked.parameters, asked.batch)
        return graph_of(program, asked.name or path.stem, sizes, asked.on_unsupported)
    except ModelError as error:
        raise placed(error, str(path)) from None
