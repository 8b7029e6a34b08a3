"""Reads an ONNX file without its weights: walks the protobuf records and leaves the contents of large tensors out.

A model of 500 MB becomes the few kilobytes of its graph, and each large tensor but masks keeps name, type and shape.
How many bytes each held is recorded, so that a file which declares more than it holds is refused before anything is
allocated.

Wire format (protobuf encoding): a record is a varint tag = field << 3 | type, type 0 varint, 1 fixed 64, 2 length and
bytes, 5 fixed 32. Field numbers are those of onnx.proto: ModelProto.graph 7; GraphProto.node 1, initializer 5;
NodeProto.attribute 5; AttributeProto.t 5; TensorProto.data_type 2, name 8, data in 4, 5, 6, 7, 9, 10, 11.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from archsim.base.errors import ModelError

KEEP_BYTES = 4096  # tensors up to this size keep their contents
MASK_BYTES = 2**26  # of a tensor that is looked at as to whether it is a mask: 4,096 rows and keys in single precision
# TensorProto.DataType of masks (float, bool, float16, double, bfloat16) -> integers as wide, which tell elements apart
_MASK_ELEMENTS = {1: "<u4", 9: "u1", 10: "<u2", 11: "<u8", 16: "<u2"}
_BOOL = 9
ByteSpan = tuple[int, int]  # first byte and end
_DATA_FIELDS = frozenset({4, 5, 6, 7, 9, 10, 11})
_KIND_FIELD = 2
_RAW_FIELD = 9
_NAME_FIELD = 8
_MODEL_FIELDS = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26})
# message -> {field: message inside that is walked when large}
_CHILDREN = {
    "model": {7: "graph"},
    "graph": {1: "node", 5: "tensor"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor"},
}


@dataclass(slots=True)
class SkimmedModel:
    """``data``: the file without large contents. ``raw_bytes``: bytes left out of a raw tensor, by its name;
    ``typed_bytes``: bytes left out of typed lists.
    """

    data: bytes = b""
    raw_bytes: dict[str, int] = field(default_factory=dict)
    typed_bytes: dict[str, int] = field(default_factory=dict)


class _DamageError(Exception):
    """A record that does not fit in what contains it, at a byte offset."""


def skim(path: Path) -> SkimmedModel:
    """The file's records without large tensor contents; ModelError for a file that is cut short or not ONNX."""
    found = SkimmedModel()
    try:
        with path.open("rb") as stream:
            if path.stat().st_size == 0:
                raise ModelError(f"{path}: the file is empty")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
                fields = [number for number, _, _, _ in _first_records(view)]
                if not fields or not _MODEL_FIELDS.issuperset(fields):
                    raise ModelError(f"{path}: not an ONNX model; export one, or convert it to .onnx")
                found.data = b"".join(_walk(view, (0, len(view)), "model", found))
    except _DamageError as error:
        raise ModelError(f"{path}: cut short or damaged ({error}); copy or export it again") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    return found


def _first_records(view: mmap.mmap) -> list[tuple[int, int, int, int]]:
    """The records of the file up to the first that does not fit."""
    records: list[tuple[int, int, int, int]] = []
    try:
        for record in _records(view, (0, len(view))):
            records.append(record)
    except _DamageError:
        return records
    return records


def _walk(view: mmap.mmap, span: ByteSpan, message: str, found: SkimmedModel) -> Iterator[bytes]:
    """The bytes of a message, large children walked in their turn."""
    if message == "tensor":
        yield from _tensor(view, span, found)
        return
    children = _CHILDREN[message]
    for number, start, body, end in _records(view, span):
        if end - body <= KEEP_BYTES or number not in children:
            yield view[start:end]
            continue
        inner = b"".join(_walk(view, (body, end), children[number], found))
        yield _varint(number << 3 | 2) + _varint(len(inner)) + inner


def _tensor(view: mmap.mmap, span: ByteSpan, found: SkimmedModel) -> Iterator[bytes]:
    name, raw, typed = "", 0, 0
    kind = next((_read_varint(view, body, end)[0] for n, _, body, end in _records(view, span) if n == _KIND_FIELD), 0)
    for number, start, body, end in _records(view, span):
        if number == _RAW_FIELD and is_mask(view, (body, end), kind):
            yield view[start:end]
        elif number == _RAW_FIELD:
            raw += end - body
        elif number in _DATA_FIELDS:
            typed += end - body
        else:
            yield view[start:end]
        if number == _NAME_FIELD:
            name = view[body:end].decode("utf-8", "replace")
    if raw:
        found.raw_bytes[name] = raw
    if typed:
        found.typed_bytes[name] = typed


def is_mask(data: mmap.mmap | bytes, span: ByteSpan, kind: int) -> bool:
    """Whether the contents of a tensor are two different elements of data type ``kind``, over and over, or one truth
    value: a mask, not weights. They say which keys a row of queries sees."""
    first, end = span
    if kind not in _MASK_ELEMENTS:
        return False
    element: np.dtype[np.unsignedinteger] = np.dtype(_MASK_ELEMENTS[kind])
    if not 0 < end - first <= MASK_BYTES or (end - first) % element.itemsize:
        return False
    begins = np.frombuffer(data[first : min(first + KEEP_BYTES, end)], element)
    if len(np.unique(begins)) > 2:
        return False
    return kind == _BOOL or len(np.unique(np.frombuffer(data[first:end], element))) == 2


def _records(view: mmap.mmap, span: ByteSpan) -> Iterator[tuple[int, int, int, int]]:
    """(field, start, start of the contents, end) of each record of a message."""
    position, last = span
    while position < last:
        start = position
        tag, position = _read_varint(view, position, last)
        number, kind = tag >> 3, tag & 7
        if kind == 2:
            length, position = _read_varint(view, position, last)
            end = position + length
        elif kind == 0:
            end = _read_varint(view, position, last)[1]
        elif kind in (1, 5):
            end = position + (8 if kind == 1 else 4)
        else:
            raise _DamageError(f"a record of unknown type {kind} at byte {start}")
        if end > last or number == 0:
            raise _DamageError(f"a record of {end - position} bytes at byte {start}, where {last - position} are left")
        yield number, start, position, end
        position = end


def _read_varint(view: mmap.mmap, position: int, last: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= last:
            raise _DamageError(f"a number is cut off at byte {position}")
        byte = view[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise _DamageError(f"a number of more than 10 bytes at byte {position}")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
