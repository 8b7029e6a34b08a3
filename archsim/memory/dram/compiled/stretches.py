"""Stretches of words, each a power of two long, which are given back to those that are free."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import inlined, njit


@njit
def give(free_words: Any, words: Any, first: int, count: int) -> None:
    """Give words back. ``free_words``: the first free stretch of 2^n words, which names the next one."""
    size = size_of(count)
    words[first], free_words[size] = free_words[size], first


@inlined
def size_of(count: int) -> int:
    """The logarithm of the length of a stretch."""
    size = 0
    while 1 << size < count:
        size += 1
    return size
