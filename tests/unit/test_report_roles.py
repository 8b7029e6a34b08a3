"""The table of DRAM by role: the busiest first, useful bytes beside those on the pins."""

from __future__ import annotations

from archsim.report.run.role_rows import roles_table


def part(read: int, written: int, pins: int) -> dict[str, int]:
    return {"read_bytes": pins, "write_bytes": 0, "useful_read_bytes": read, "useful_write_bytes": written}


def test_roles_that_moved_something_stand_by_their_bytes() -> None:
    found = {"kv": part(90, 10, 120), "weights": part(800, 0, 880), "tables": part(0, 0, 0)}
    table = roles_table({"dram": {"roles": found}})
    assert [(row[0], row[3]) for row in table.rows] == [("weights", 880), ("kv", 120)]
    assert [column.show(row[4]) for row, column in zip(table.rows, [table.columns[4]] * 2, strict=True)] == [
        "88.0 %",
        "12.0 %",
    ]
    assert [round(row[5], 2) for row in table.rows] == [1.1, 1.2]


def test_a_summary_that_does_not_tell_them_apart_has_no_such_table() -> None:
    assert not roles_table({"dram": {}})
