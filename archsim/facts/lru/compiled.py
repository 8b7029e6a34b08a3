"""Compiled: look-ups of lines in sets that keep their lines in order of use, the latest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from archsim.base.jit import entry, njit

EMPTY = -1


@entry
@njit
def look_up(tags: NDArray[np.int64], lines: NDArray[np.int64], allocate: bool, hits: NDArray[np.bool_]) -> None:
    """Look ``lines`` up one after the other; ``hits`` says which were there.

    ``tags``: (sets, ways) line numbers, EMPTY where none; line n belongs to set n mod sets. A line that is found
    becomes the latest of its set. One that is not takes, if ``allocate``, an empty way or that of the last used line.
    """
    sets, ways = tags.shape
    for access in range(lines.size):
        line = lines[access]
        chosen = line % sets
        place, empty = -1, -1
        for way in range(ways):
            tag = tags[chosen, way]
            if tag == line:
                place = way
                break
            if tag == EMPTY and empty < 0:
                empty = way
        hits[access] = place >= 0
        if place < 0:
            if not allocate:
                continue
            place = empty if empty >= 0 else ways - 1
        for way in range(place, 0, -1):
            tags[chosen, way] = tags[chosen, way - 1]
        tags[chosen, 0] = line
