"""Numbers that a program stores and that steer it: index lists, masks, small constants. Weights are never read.

Of constants the small ones are read, of buffers only whole numbers and truth values, since real ones are learned or
computed. An archive holds them as plain bytes, little-endian, with a list that states type and sizes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from archsim.base.errors import ModelError
from archsim.frontend.torch.fields import JsonField
from archsim.frontend.torch.maker import LIST_ELEMENTS
from archsim.frontend.torch.read import DTYPES
from archsim.ir.graph import SMALL_ELEMENTS, Array

REALS = ("float16", "float32", "float64")
WHOLE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_STRIDED = 7  # Layout of the schema


def is_kept(dtype: str, elements: int, is_constant: bool) -> bool:
    """Whether the contents of a tensor that is no parameter are read."""
    return elements <= (LIST_ELEMENTS if dtype in WHOLE else SMALL_ELEMENTS if is_constant and dtype in REALS else -1)


def of_archive(archive: zipfile.ZipFile, folder: str, files: object, is_constant: bool) -> Mapping[str, Array]:
    """Contents by name, of the tensors of a list that are kept. ``folder`` of their members. Raises ModelError for
    entries that do not fit."""
    if files is None:
        return {}
    members = {f"/{item.filename}".partition(folder)[2]: item for item in archive.infolist()}
    found = {}
    for name, entry in JsonField(files, f"{folder}config.json").at("config").items():
        facts = _facts(entry, is_constant)
        if facts is None:
            continue
        dtype, shape = facts
        path = entry.at("path_name").text()
        wanted = prod(shape) * np.dtype(dtype).itemsize
        if path not in members or members[path].file_size != wanted:
            raise ModelError(f"'{name}' of shape {list(shape)} needs {wanted} bytes at {folder}{path}; save it again")
        found[name] = np.frombuffer(archive.read(members[path]), np.dtype(dtype).newbyteorder("<")).reshape(shape)
    return found


def _facts(entry: JsonField, is_constant: bool) -> tuple[str, tuple[int, ...]] | None:
    """Type and shape of a tensor whose contents are kept and lie there one after the other; None of others."""
    if entry.at("is_param").truth() or entry.at("use_pickle").truth():
        return None
    meta = entry.at("tensor_meta")
    sizes, strides = (list(_whole(meta.at(key))) for key in ("sizes", "strides"))
    dtype = DTYPES.get(meta.at("dtype").integer(), "")
    if None in sizes or any(size is not None and size < 0 for size in sizes):
        return None
    shape = tuple(size for size in sizes if size is not None)
    if not is_kept(dtype, prod(shape), is_constant) or meta.at("device").at("type").text() == "meta":
        return None
    dense = [prod(shape[at + 1 :]) for at in range(len(shape))]
    is_plain = all(size == 1 or step == wanted for size, step, wanted in zip(shape, strides, dense, strict=False))
    starts = next(_whole_number(meta.at("storage_offset")), None)
    return (dtype, shape) if is_plain and starts == 0 and meta.at("layout").integer() == _STRIDED else None


def _whole(found: JsonField) -> Iterator[int | None]:
    for each in found.each():
        yield next(_whole_number(each), None)


def _whole_number(found: JsonField) -> Iterator[int]:
    kind, body = found.only()
    if kind == "as_int":
        yield body.integer()


def of_tensors(tensors: Mapping[str, Any]) -> Mapping[str, Array]:
    """The same of tensors of torch: those that have numbers, ``tensors`` being what is no parameter."""
    found = {}
    for name, tensor in tensors.items():
        dtype = str(tensor.dtype).removeprefix("torch.")
        is_there = type(tensor).__name__ == "Tensor" and tensor.device.type == "cpu"
        if is_there and is_kept(dtype, tensor.numel(), is_constant=True):
            found[name] = tensor.detach().contiguous().numpy()
    return found
