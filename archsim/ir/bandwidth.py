"""Who moved bytes when, as columns: a stream on a memory is a row of each of its arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archsim.base.arrays import IntArray
from archsim.ir.rows import Bandwidth

FIELDS = Bandwidth._fields[1:]
ON_CHIP = FIELDS[: FIELDS.index("pin_bytes")]  # what is not 0 of memories that are not DRAM


@dataclass(frozen=True, slots=True, eq=False)
class BandwidthStreams:
    """Streams of one memory, by start: the fields of ``Bandwidth``, each of shape (streams,)."""

    start_ps: IntArray
    end_ps: IntArray
    size_bytes: IntArray
    write: NDArray[np.bool_]
    pin_bytes: IntArray
    row_hits: IntArray
    row_misses: IntArray
    row_conflicts: IntArray
    activates: IntArray

    @classmethod
    def of(cls, table: IntArray) -> BandwidthStreams:
        """Streams in any order; ``table``: (streams, the first of FIELDS), those left out are 0."""
        start_ps, end_ps, size_bytes, write, *others = table[np.lexsort(table.T[::-1])].T
        zero = np.broadcast_to(np.int64(0), len(table))
        others += [zero] * (len(FIELDS) - table.shape[1])
        return cls(start_ps.copy(), end_ps.copy(), size_bytes.copy(), write.astype(np.bool_), *others)

    def column(self, name: str) -> NDArray[Any]:
        """The field ``name``."""
        found: NDArray[Any] = getattr(self, name)
        return found

    def pick(self, keep: NDArray[np.bool_]) -> BandwidthStreams:
        """Those where ``keep`` holds."""
        return BandwidthStreams(*(self.column(name)[keep] for name in FIELDS))

    def __len__(self) -> int:
        return len(self.start_ps)


class BandwidthTrace:
    """Streams of all memories, by name; iterates as rows, in the order of their fields."""

    def __init__(
        self,
        streams: Mapping[str, BandwidthStreams],
        others: Callable[[], Mapping[str, BandwidthStreams]] | None = None,
    ) -> None:
        """``streams`` of each memory; ``others`` gives those of further ones, when they are asked for."""
        self._streams, self._others = dict(streams), others

    @property
    def by_memory(self) -> Mapping[str, BandwidthStreams]:
        """All streams."""
        if self._others is not None:
            self._streams |= self._others()
            self._others = None
        return {name: self._streams[name] for name in sorted(self._streams)}

    def transfers(self, dram: str) -> BandwidthStreams | None:
        """The streams of a DRAM part, without asking for others; None where there are none."""
        return self._streams.get(dram)

    @classmethod
    def of(cls, rows: Iterable[Bandwidth]) -> BandwidthTrace:
        """The trace of ``rows``, in any order."""
        tables: dict[str, list[tuple[int, ...]]] = {}
        for memory, *fields in rows:
            tables.setdefault(memory, []).append(tuple(fields))
        return cls({memory: BandwidthStreams.of(np.array(table, dtype=np.int64)) for memory, table in tables.items()})

    def __len__(self) -> int:
        return sum(map(len, self.by_memory.values()))

    def __iter__(self) -> Iterator[Bandwidth]:
        for memory, streams in self.by_memory.items():
            for fields in zip(*(streams.column(name).tolist() for name in FIELDS), strict=True):
                yield Bandwidth(memory, *fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BandwidthTrace):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # holds arrays
