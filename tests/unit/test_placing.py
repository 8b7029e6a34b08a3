"""A core's places in parts of commands: constants are right, and cores with the same part share one object."""

from __future__ import annotations

from archsim.ir.program import Affine, Clip, CommandGuard, Extent
from mapper.lower.placing import Placing

PLACES = ((0, 0), (0, 1), (1, 0), (1, 1))


def test_places_are_put_in() -> None:
    placing = Placing(("m@", "n@"), PLACES)
    affine = Affine(5, (("m@", 100), ("k", 7), ("n@", 10)))
    made = [placing.affine(affine, core) for core in range(4)]
    assert made == [Affine(const, (("k", 7),)) for const in (5, 15, 105, 115)]
    timed = Affine(5, (("k", 7),))
    assert placing.affine(timed, 3) is timed
    limits = (Extent("m", 8, (Affine(20, (("m@", -8),)),)), Extent("k", 4))
    assert placing.extents(limits, 2) == (Extent("m", 8, (Affine(12),)), Extent("k", 4))
    assert placing.clips((Clip("m", affine, 3),), 1) == (Clip("m", made[1], 3),)
    assert placing.guards((CommandGuard((("m", 1),), affine, 3),), 2) == (CommandGuard((("m", 1),), made[2], 3),)


def test_cores_share_equal_parts() -> None:
    placing = Placing(("m@", "n@"), PLACES)
    affine, free = Affine(0, (("m@", 100), ("k", 7))), (Extent("k", 4),)
    assert placing.affine(affine, 0) is placing.affine(affine, 1)
    assert placing.affine(affine, 0) is not placing.affine(affine, 2)
    assert placing.affine(affine, 0).terms is placing.affine(affine, 2).terms
    limits = (Extent("m", 8, (Affine(20, (("m@", -8),)),)),)
    assert placing.extents(limits, 2) is placing.extents(limits, 3)
    assert placing.extents(limits, 0) != placing.extents(limits, 3)
    assert placing.extents(free, 3) is free
