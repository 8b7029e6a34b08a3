"""Number formats: names and storage sizes."""

from __future__ import annotations

from archsim.base.errors import ConfigError, nearest

BYTES = {
    "int8": 1,
    "uint8": 1,
    "fp8": 1,
    "fp8_e5m2": 1,
    "int16": 2,
    "fp16": 2,
    "bf16": 2,
    "int32": 4,
    "fp32": 4,
}


def element_range(dtype: str) -> tuple[float, float]:
    """The least and the greatest element; infinite for floating-point ones, which hold any."""
    if "int" not in dtype:
        return float("-inf"), float("inf")
    unsigned, bits = dtype.startswith("u"), 8 * size_bytes(dtype)
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def sum_dtype(factor: str, accumulate: str) -> str:
    """The type that products of a ``factor`` of this type add up in, where sums are ``accumulate``: those of floats are
    floats."""
    return accumulate if "int" in factor or "int" not in accumulate else "fp32"


def size_bytes(dtype: str) -> int:
    """Storage bytes of one element; raises ConfigError for unknown names."""
    if dtype not in BYTES:
        raise ConfigError(f"unknown dtype '{dtype}'{nearest(dtype, BYTES)}; known: {', '.join(BYTES)}")
    return BYTES[dtype]
