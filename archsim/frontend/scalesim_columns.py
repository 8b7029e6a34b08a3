"""Which column of a SCALE-Sim topology is which: by the names of its header, where that has all of them.

Files whose header says nothing that is known, or that have none, are read by position. A column behind the sizes is a
second stride, a number of products or sparsity: the first one as its value says, others where their names say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

CONV_FIELDS = (
    "IFMAP height",
    "IFMAP width",
    "filter height",
    "filter width",
    "channels",
    "filters",
    "stride",
)
GEMM_FIELDS = ("M", "N", "K")
GEMM_MOST = 6  # filled fields of a gemm row: name, M, N, K, sparsity, batch
_ALIASES = {"numfilter": "filters", "numfilters": "filters", "strides": "stride", "strideheight": "stride"}
_EXTRAS = {CONV_FIELDS: ("stride", "spars"), GEMM_FIELDS: ("batch", "spars")}  # parts of names of what may follow


@dataclass(frozen=True, slots=True)
class Columns:
    """``wanted``: the sizes; ``places``: the column of each; ``header``: the names of all columns, () without one."""

    wanted: tuple[str, ...]
    places: tuple[int, ...]
    header: tuple[str, ...]

    def sizes(self, fields: Sequence[str]) -> list[str]:
        """The texts of the sizes, as many as there are."""
        return [fields[at] for at in self.places if at < len(fields)]

    def beside(self, fields: Sequence[str]) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The text of a second stride, of products or of sparsity, and (name, text) of columns that nothing reads."""
        extra, unread = "", []
        for at, text in enumerate(fields):
            if at == 0 or at in self.places or not text:
                continue
            if not extra and self._counts(at):
                extra = text
            else:
                unread.append((self._name(at) or f"column {at + 1}", text))
        return extra, tuple(unread)

    def _name(self, at: int) -> str:
        return self.header[at] if at < len(self.header) else ""

    def _counts(self, at: int) -> bool:
        name = plain(self._name(at))
        if not name:
            return at == len(self.wanted) + 1
        return any(part in name for part in _EXTRAS[self.wanted])


def columns_of(header: Sequence[str], first: Sequence[str]) -> Columns:
    """``header``: its fields, () without one; ``first``: the fields of the first row."""
    named = [_ALIASES.get(plain(name), plain(name)) for name in header]
    for wanted in (CONV_FIELDS, GEMM_FIELDS):
        found = [plain(name) for name in wanted]
        if set(found) <= set(named):
            return Columns(wanted, tuple(named.index(name) for name in found), tuple(header))
    wanted = CONV_FIELDS if len([part for part in first if part]) > GEMM_MOST else GEMM_FIELDS
    return Columns(wanted, tuple(range(1, len(wanted) + 1)), tuple(header))


def plain(name: str) -> str:
    """A name in lower case, its letters and digits alone."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
