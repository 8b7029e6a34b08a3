"""Whole numbers in as few bytes as they need."""

from __future__ import annotations

import numpy as np
import pytest

from archsim.base.arrays import narrow


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_narrowest_type_that_holds_all(bits: int) -> None:
    """At both limits; one number beyond takes the next type."""
    limits = np.iinfo(f"int{bits}")
    for value in (int(limits.min), int(limits.max)):
        found = narrow(np.array([0, value], dtype=np.int64))
        assert found.itemsize == bits // 8 and found.tolist() == [0, value]
        if bits < 64:
            assert narrow(np.array([value + (1 if value > 0 else -1)])).itemsize == bits // 4


def test_no_numbers() -> None:
    """Take the narrowest type; what is given is copied."""
    assert narrow(np.zeros(0, dtype=np.int64)).dtype == np.int8
    whole = np.array([1 << 40])
    assert not np.shares_memory(narrow(whole), whole)
