"""Number formats that a chip file may name, with their width in bits."""

from __future__ import annotations

BITS = {
    "int4": 4,
    "int8": 8,
    "uint8": 8,
    "fp8": 8,
    "int16": 16,
    "fp16": 16,
    "bf16": 16,
    "int32": 32,
    "fp32": 32,
}
