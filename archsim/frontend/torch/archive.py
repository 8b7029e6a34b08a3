"""Opens a .pt2 archive: a zip whose member ``models/NAME.json`` is the program. Beside it the lists of what lies in
which member are read, and the members of small constants and index lists.

Members are stored or deflated; weights and example inputs are members of their own, which stay closed.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from archsim.base.errors import ModelError, placed
from archsim.frontend.torch import numbers, read
from archsim.frontend.torch.program import TorchProgram
from archsim.frontend.torch.sizes import OpenSizes
from archsim.frontend.torch.walk import graph_of
from archsim.ir.graph import Graph

LARGEST_BYTES = 1 << 28  # of a program's JSON: that of 32 layers of Llama has 6 MB
_FOLDER, _WEIGHTS, _CONSTANTS = "/models/", "/data/weights/", "/data/constants/"


def load_graph(
    path: Path, name: str, parameters: Mapping[str, int | float | str], batch: int | None, on_unsupported: str
) -> Graph:
    """The graph of the program in an archive, its open sizes stated. Raises ModelError that names file and call."""
    try:
        program = load(path)
        sizes = OpenSizes.of(program, parameters, batch)
        return graph_of(program, name, sizes, on_unsupported)
    except ModelError as error:
        raise placed(error, str(path)) from None


def load(source: Path) -> TorchProgram:
    """The program of an archive. Raises ModelError for what is none, or holds several."""
    try:
        with zipfile.ZipFile(source) as archive:
            text = _text(archive, _FOLDER, ".json")
            weights, constants = (
                _decoded(_text(archive, folder, f"_{kind}_config.json"))
                for folder, kind in ((_WEIGHTS, "weights"), (_CONSTANTS, "constants"))
            )
            stored = {
                **numbers.of_archive(archive, _WEIGHTS, weights, is_constant=False),
                **numbers.of_archive(archive, _CONSTANTS, constants, is_constant=True),
            }
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ModelError(f"no archive of torch.export, or a damaged one ({error}); save the program again") from None
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from None
    return read.program(_decoded(text), weights).with_numbers(stored)


def _decoded(text: bytes) -> object:
    """The JSON of a member; None of none. Raises ModelError."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the program in it is no JSON ({error}); save it again") from None


def _text(archive: zipfile.ZipFile, folder: str, suffix: str) -> bytes:
    """A member by its folder and the end of its name; of the program exactly one, of the list of weights at most."""
    found = [
        item
        for item in archive.infolist()
        if f"/{item.filename}".partition(folder)[1] and item.filename.endswith(suffix)
    ]
    if not found and folder != _FOLDER:
        return b""
    if len(found) != 1:
        have = ", ".join(f"'{item.filename}'" for item in found) or "none"
        raise ModelError(f"holds {have}; allowed one {folder[1:]}NAME{suffix}, as torch.export.save writes it")
    if found[0].file_size > LARGEST_BYTES:
        raise ModelError(f"its program has {found[0].file_size} bytes; allowed up to {LARGEST_BYTES}")
    with archive.open(found[0]) as stream:
        text = stream.read(LARGEST_BYTES + 1)
    if len(text) > LARGEST_BYTES:
        raise ModelError(f"its program has more than {LARGEST_BYTES} bytes")
    return text
