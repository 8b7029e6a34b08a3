"""Keys of LoopTrees and of what bounds them: (objective, latency, energy), smaller is better. Compiled."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import entry, inlined
from mapper.looptree.search.objective import SAME

FIT = 1 + 1e-9  # of a size in bits, which need not be whole
Weights = tuple[float, float, float, float]  # leakage W, fixed J, powers of energy and delay


@inlined
def power(value: float, exponent: float) -> float:
    """``value ** exponent``, at once for 0 and 1."""
    result = value
    if exponent != 1.0:
        result = 1.0 if exponent == 0.0 else value**exponent
    return result


@entry
@inlined
def is_better(key: Any, other: Any) -> bool:
    """Whether a key is smaller, figures that differ by rounding alone being equal."""
    better = False
    for i in range(3):
        if abs(key[i] - other[i]) > SAME * min(abs(key[i]), abs(other[i])):
            better = key[i] < other[i]
            break
    return better


@inlined
def fill_bound(terms: Any, energy: Any, times: Any, product: Any, weights: Weights, key: Any) -> None:
    """``key`` from bounds of the columns of a template, of which differences are kept as ratios."""
    joules, latency = 0.0, 0.0
    for k in range(terms.shape[0]):
        lower, column = terms[k, 0], terms[k, 1]
        product[-1 - k] = product[column] if lower < 0 else product[lower] * (product[column] - 1.0)
        joules += energy[k] * product[-1 - k]
    for f in range(times.shape[0]):
        seconds = 0.0
        for k in range(terms.shape[0]):
            seconds += times[f, k] * product[-1 - k]
        latency = max(latency, seconds)
    joules += weights[0] * latency + weights[1]
    key[0] = power(joules, weights[2]) * power(latency, weights[3])
    key[1], key[2] = latency, joules


@inlined
def fits(room: Any, bits: Any, size_bits: Any, bound: Any) -> bool:
    """Whether tiles have room; those of a memory come one after the other."""
    held, memory = 0.0, -1
    fits = True
    for i in range(bits.size):
        if room[i, 0] != memory:
            held, memory = 0.0, room[i, 0]
        held += bound[room[i, 1]] * bits[i]
        if held > size_bits[memory] * FIT:
            fits = False
            break
    return fits


@inlined
def fill_key(energy: Any, times: Any, bound: Any, weights: Weights, key: Any) -> None:
    """``key`` from the columns of a form (1 after them)."""
    joules, latency = 0.0, 0.0
    for c in range(bound.size):
        joules += energy[c] * bound[c]
    for f in range(times.shape[0]):
        seconds = 0.0
        for c in range(bound.size):
            seconds += times[f, c] * bound[c]
        latency = max(latency, seconds)
    joules += weights[0] * latency + weights[1]
    key[0] = power(joules, weights[2]) * power(latency, weights[3])
    key[1], key[2] = latency, joules
