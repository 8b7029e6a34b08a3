"""Where the numbers come from: the sources of a chip and its tables, keys with one text together."""

from __future__ import annotations

from collections.abc import Mapping

ESTIMATED = "estimated"
_SILENT = ("default", "derived")  # values of the grammar itself and what follows from stated ones


def estimated(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """(keys, reasoning) of the figures that nobody published, without the word itself."""
    found = {key: text for key, text in sources.items() if text.startswith(ESTIMATED)}
    return [(keys, text.removeprefix(ESTIMATED).lstrip(": ")) for keys, text in _grouped(found)]


def sourced(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """(keys, source) of the figures with a source; grammar defaults and derived values are left out."""
    return _grouped({key: text for key, text in sources.items() if not text.startswith((ESTIMATED, *_SILENT))})


def _grouped(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    groups: dict[str, list[str]] = {}
    for key, text in sources.items():
        groups.setdefault(text, []).append(key)
    return [(", ".join(keys), text) for text, keys in groups.items()]
