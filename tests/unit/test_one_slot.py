"""Layers whose smallest tiles have no room for two of each."""

from __future__ import annotations

import pytest

from archsim.base.errors import MappingError
from archsim.ir.mapping import Keep
from archsim.lab.run.job import Job, build
from archsim.lab.run.run import execute

ROWS = {"rows": 4}


def _softmax(cols: int, **chip: object) -> Job:
    return Job("softmax", "edge_npu", parameters={**ROWS, "cols": cols}, values={"l1.size": "16 KiB", **chip})


def _slots(job: Job) -> set[int]:
    mapping = build(job).mapping
    assert mapping is not None
    return {node.slots for layer in mapping.layers for node in layer.nodes if isinstance(node, Keep)}


def test_rows_have_two_slots_where_these_fit() -> None:
    assert _slots(_softmax(2048)) == {2}


def test_rows_that_fit_once_alone_come_in_after_one_another() -> None:
    assert _slots(_softmax(6000)) == {1}


def test_that_takes_longer_than_it_would_with_room_for_two() -> None:
    narrow, wide = (execute(_softmax(6000, **{"l1.size": size})).result for size in ("16 KiB", "32 KiB"))
    assert narrow.cycles_total > wide.cycles_total


def test_rows_that_do_not_fit_are_refused_in_one_slot_too() -> None:
    with pytest.raises(MappingError, match=r"1 slot\)"):
        build(_softmax(20000))
