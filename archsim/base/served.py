"""What the machine and the models beside it tell one another in compiled code, in words of memory.

A model is two entries (``archsim.base.addressed``) and a table whose first member is its ``header``:

- ``submit(table, at_ps, rows, count)`` takes the requests of an instant, rows of REQUEST_WIDTH at the address ``rows``,
  in their order; it returns how many, fewer where it has no room: then Python makes some, and it gets the others;
- ``advance(table, until_ps)`` runs to the first instant up to ``until_ps`` with completions, writes them where its
  ``completions`` lie, rows of COMPLETION_WIDTH, and returns how many. With NO_ROOM it goes on once Python has made some;
  a STUCK one never completes what is under way.
"""

from __future__ import annotations

from typing import NamedTuple

NEVER = 1 << 62
NONE = -1
NEXT_PS = 0  # of a header: nothing completes before; NEVER where nothing is under way. Submit and advance keep it
HEADER = 1

REQUEST_WIDTH = 9
# what sorts the requests of an instant; what comes back; the layer that it is charged to, NONE where Python charges;
# what the model knows it by, and where that is; a number of Python's, or NONE
MODEL, RANK, INDEX, NUMBER, TICKET, LAYER, WHAT, WHERE, ID = range(REQUEST_WIDTH)
COMPLETION_WIDTH = 12
COMPLETED, TIME_PS = range(2)  # the ticket and when it ended, then what Python wants to know
NO_ROOM, STUCK = -1, -2


class CompiledModel(NamedTuple):
    """The addresses of a model's entries, of its table, of its completions and of its header."""

    submit: int
    advance: int
    table: int
    completions: int
    header: int
