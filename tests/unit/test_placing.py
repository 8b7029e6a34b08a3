"""A core's places in parts of commands: constants are right, and cores with the same part share one object."""

from __future__ import annotations

from archsim.ir.program import Affine, Clip, CommandGuard, Extent
from mapper.lower.placing import Placing

PLACES = ((0, 0), (0, 1), (1, 0), (1, 1))


def test_places_are_put_in() -> None:
    placing = Placing(("m@", "n@"), PLACES)
    affine = Affine(5, (("m@", 100), ("k", 7), ("n@", 10)))
    made = placing.affines(affine, range(4))
    assert made == [Affine(const, (("k", 7),)) for const in (5, 15, 105, 115)]
    assert placing.affines(affine, (3, 1)) == [made[3], made[1]]
    timed = Affine(5, (("k", 7),))
    assert placing.affines(timed, (3,))[0] is timed
    limits = (Extent("m", 8, (Affine(20, (("m@", -8),)),)), Extent("k", 4))
    assert placing.extents(limits, (2,)) == [(Extent("m", 8, (Affine(12),)), Extent("k", 4))]
    assert placing.clips((Clip("m", affine, 3),), (1,)) == [(Clip("m", made[1], 3),)]
    assert placing.guards((CommandGuard((("m", 1),), affine, 3),), (2,)) == [(CommandGuard((("m", 1),), made[2], 3),)]


def test_cores_share_equal_parts() -> None:
    placing = Placing(("m@", "n@"), PLACES)
    affine, free = Affine(0, (("m@", 100), ("k", 7))), (Extent("k", 4),)
    made = placing.affines(affine, range(4))
    assert made[0] is made[1] and made[0] is not made[2] and made[0].terms is made[2].terms
    assert placing.affines(affine, (1,))[0] is made[1]
    limits = (Extent("m", 8, (Affine(20, (("m@", -8),)),)),)
    first, _, third, fourth = placing.extents(limits, range(4))
    assert third is fourth and first != third
    assert placing.extents(limits, (3,))[0] is fourth
    assert placing.extents(free, (3,))[0] is free
