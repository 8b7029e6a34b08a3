"""What became of each key of a file: read, approximated, ignored, refused or unknown; and what had to be assumed.

A key is a leaf of the file: a value, or a list of values. One that no reader has entered is unknown, so that none can
be dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from archsim.spec.nodes import FileNode, Mark

READ, APPROXIMATED, IGNORED, REFUSED = "read", "approximated", "ignored", "refused"
UNKNOWN, ASSUMED = "unknown", "assumed"
STATES = (READ, APPROXIMATED, IGNORED, REFUSED, UNKNOWN)
_RANK = {IGNORED: 0, READ: 1, APPROXIMATED: 2, REFUSED: 3}
_RARE = (APPROXIMATED, UNKNOWN)  # states that the counts name only where a key has them


@dataclass(frozen=True)
class LedgerEntry:
    """``key``: of the source; of what is assumed, that of archsim. ``said``: the counterpart, or the reason."""

    state: str
    key: str
    said: str
    mark: Mark

    def line(self, whole: bool) -> str:
        """One line of the list; ``whole``: with the whole path of the file, else with its name alone."""
        place = self.mark if whole else Mark(PurePath(self.mark.file).name, self.mark.line, self.mark.column)
        return f"{self.state}: {'' if self.state == ASSUMED else f'{place}: '}{self.key}: {self.said}"


@dataclass
class ImportLedger:
    """Entries of one or several files; the strongest state of a key holds: refused, approximated, read, ignored."""

    _entries: dict[tuple[str, str], LedgerEntry] = field(default_factory=dict)
    _assumed: dict[str, LedgerEntry] = field(default_factory=dict)

    def enter(self, state: str, key: str, node: FileNode, said: str) -> None:
        """Enter every leaf of ``node``, which stands at ``key``."""
        for path, leaf in leaves(node, key):
            found = self._entries.get((leaf.mark.file, path))
            if found is None or _RANK[found.state] <= _RANK[state]:
                self._entries[leaf.mark.file, path] = LedgerEntry(state, path, said, leaf.mark)

    def settle(self, state: str, key: str, mark: Mark, said: str) -> None:
        """Change the state of a key that a reader has entered, by what the writer could do with it."""
        if (mark.file, key) in self._entries:
            self._entries[mark.file, key] = LedgerEntry(state, key, said, mark)

    def assume(self, key: str, said: str) -> None:
        """Enter a value that archsim needs and the source does not have."""
        self._assumed[key] = LedgerEntry(ASSUMED, key, said, Mark(""))

    def close(self, node: FileNode) -> None:
        """Enter as unknown the leaves of a file that nobody entered."""
        for path, leaf in leaves(node, ""):
            if (leaf.mark.file, path) not in self._entries:
                said = "not a key that this version knows; nothing of it is in what is written"
                self._entries[leaf.mark.file, path] = LedgerEntry(UNKNOWN, path, said, leaf.mark)

    def of(self, *states: str) -> list[LedgerEntry]:
        """The entries of some states, in the order of the files; what is assumed as it was met."""
        found = [entry for entry in self._entries.values() if entry.state in states]
        found.sort(key=lambda entry: (entry.mark.file, entry.mark.line, entry.mark.column, entry.key))
        return found + (list(self._assumed.values()) if ASSUMED in states else [])

    def counts(self) -> dict[str, int]:
        """How many keys are in each state, and how many values are assumed."""
        states = [entry.state for entry in self._entries.values()]
        return {state: states.count(state) for state in STATES} | {ASSUMED: len(self._assumed)}

    def coverage(self) -> str:
        """The counts in a line."""
        counts = self.counts()
        parts = [f"{counts[state]} {state}" for state in STATES if counts[state] or state not in _RARE]
        assumed = f"; {counts[ASSUMED]} values assumed" if counts[ASSUMED] else ""
        return f"{sum(counts[state] for state in STATES)} keys: {', '.join(parts)}{assumed}"


def leaves(node: FileNode, path: str) -> Iterator[tuple[str, FileNode]]:
    """Key path and node of every leaf; a list of plain values is one leaf, an empty mapping too."""
    if node.mapping:
        for key, child in node.mapping.items():
            yield from leaves(child, f"{path}.{key}" if path else key)
    elif any(item.mapping or item.items for item in node.items):
        for at, item in enumerate(node.items):
            yield from leaves(item, f"{path}[{at}]")
    else:
        yield path, node


def listed(entries: Iterable[LedgerEntry], whole: bool = True) -> list[str]:
    """The lines of a list, each once."""
    return list(dict.fromkeys(entry.line(whole) for entry in entries))
