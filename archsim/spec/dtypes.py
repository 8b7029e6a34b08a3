"""Number formats that a chip file may name, with their width in bits, and the roles of tensors."""

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
DTYPES = tuple(BITS)
ROLES = ("inputs", "weights", "outputs", "partials", "tables", "kv")
TILED = ("inputs", "weights", "outputs")  # roles whose tiles the DMA moves on chip
