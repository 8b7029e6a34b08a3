"""Where the numbers come from: the sources of a chip and its tables, keys with one text together."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.report.kit.table import HTML, MARKDOWN, ReportTable, TableColumn

ESTIMATED = "estimated"
_SILENT = ("default", "derived")  # values of the grammar itself and what follows from stated ones


def estimated(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """(keys, reasoning) of the figures that nobody published, without the word itself."""
    found = {key: text for key, text in sources.items() if text.startswith(ESTIMATED)}
    return [(keys, text.removeprefix(ESTIMATED).lstrip(": ")) for keys, text in _grouped(found)]


def sourced(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """(keys, source) of the figures with a source; grammar defaults and derived values are left out."""
    return _grouped({key: text for key, text in sources.items() if not text.startswith((ESTIMATED, *_SILENT))})


def estimated_table(sources: Mapping[str, str]) -> ReportTable:
    """The figures that nobody published, each with its reasoning."""
    columns = (TableColumn("key", "phrase", code=True), TableColumn("reasoning", "prose"))
    note = "Figures of this chip and its tables that have no published source, with the reasoning behind them."
    return ReportTable("Estimated figures", columns, estimated(sources), note, media=(MARKDOWN, HTML), dense=True)


def sourced_table(sources: Mapping[str, str]) -> ReportTable:
    """The figures with a source, which a page unfolds; they are too many for Markdown."""
    columns = (TableColumn("key", "phrase", code=True), TableColumn("source", "prose"))
    return ReportTable("Figures with a source", columns, sourced(sources), media=(HTML,), dense=True)


def _grouped(sources: Mapping[str, str]) -> list[tuple[str, str]]:
    groups: dict[str, list[str]] = {}
    for key, text in sources.items():
        groups.setdefault(text, []).append(key)
    return [(", ".join(keys), text) for text, keys in groups.items()]
