"""Contents that lie in files beside a model: small tensors and masks are taken into it, weights stay where they are.

Exporters put whatever is larger than some bytes beside the model, lists of indices and masks of attention too. A file
that is not there is no mistake, since weights are not needed; what it would have said is then not known.
"""

from __future__ import annotations

import mmap
from math import prod
from pathlib import Path

import onnx

from archsim.base.errors import ModelError
from archsim.frontend.onnx.dtypes import BITS
from archsim.frontend.onnx.skim import KEEP_BYTES, is_mask


class DataFiles:
    """The files beside a model, each opened once."""

    def __init__(self, path: Path) -> None:
        """Of the model at a path."""
        self._path = path
        self._open: dict[str, mmap.mmap | bytes] = {}

    def close(self) -> None:
        """Close them."""
        for view in self._open.values():
            if isinstance(view, mmap.mmap):
                view.close()

    def take_in(self, tensor: onnx.TensorProto) -> None:
        """Put the contents of a small tensor, or of a mask, into it. Raises ModelError for a place that is none, or
        beyond the end of its file."""
        stated = {entry.key: entry.value for entry in tensor.external_data}
        view = self._view(stated.get("location", ""))
        declared = -(-prod(tensor.dims) * BITS.get(tensor.data_type, 0) // 8)
        if not view or not declared:
            return
        start, length = (self._number(tensor, stated, key, default) for key, default in
                         (("offset", 0), ("length", declared)))  # fmt: skip
        if length != declared or start + length > len(view):
            raise ModelError(
                f"{self._path}: tensor '{tensor.name}' of shape {list(tensor.dims)} needs {declared:,} bytes from byte "
                f"{start:,} on, but states {length:,}, and '{stated['location']}' has {len(view):,}; export it again"
            )
        if length <= KEEP_BYTES or is_mask(view, (start, start + length), tensor.data_type):
            tensor.raw_data = view[start : start + length]
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]

    def _number(self, tensor: onnx.TensorProto, stated: dict[str, str], key: str, default: int) -> int:
        text = stated.get(key, "")
        if not text:
            return default
        if not text.isdecimal() or not text.isascii() or len(text) > 18:
            raise ModelError(f"{self._path}: tensor '{tensor.name}' has {key} {text[:40]!r}; allowed a number")
        return int(text)

    def _view(self, location: str) -> mmap.mmap | bytes:
        """The bytes of a file; none where there is no such file."""
        if location not in self._open:
            self._open[location] = b""
            try:
                with (self._path.resolve().parent / location).open("rb") as stream:
                    self._open[location] = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):  # not there, a folder, or empty
                pass
        return self._open[location]
