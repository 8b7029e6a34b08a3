"""Arrays whose memory is given back page by page."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from archsim.base.memory import Pages

ITEMS = 4096


@pytest.mark.skipif(sys.platform != "linux", reason="what MADV_DONTNEED does elsewhere is up to the system")
def test_a_page_that_is_released_is_empty_and_others_stay() -> None:
    pages = Pages(3, ITEMS, np.int64)
    pages.array[:] = np.arange(3 * ITEMS)
    pages.release([1])
    assert pages.array[ITEMS - 1] == ITEMS - 1
    assert not pages.array[ITEMS : 2 * ITEMS].any()
    assert pages.array[2 * ITEMS] == 2 * ITEMS


def test_pages_that_the_system_does_not_know_stay() -> None:
    pages = Pages(2, 3, np.int32)
    pages.array[:] = 7
    pages.release([0, 1])
    assert (pages.array == 7).all()


def test_no_pages() -> None:
    assert Pages(0, ITEMS, np.int32).array.size == 0
