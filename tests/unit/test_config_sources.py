"""Every number of every file in configs/ says where it is from: beside it, above it, or in ``sources``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from archsim.spec.load import load
from tests.tools.commands import ROOT

FILES = sorted((ROOT / "configs").glob("*/*.yaml"))
REFERENCES = {"width_bits"}  # what other numbers of the file are per, no figure of its own
WORDS = {"schema", "name", "description", "source", "sources"}


def numbers(node: Any, path: str = "", covered: bool = False) -> Iterator[tuple[str, bool]]:
    """Each number below a node with its path, and whether a ``source`` stands beside or above it."""
    if isinstance(node, dict):
        covered = covered or bool(str(node.get("source", "")).strip())
        for key, value in node.items():
            if key not in WORDS:
                yield from numbers(value, f"{path}.{key}".lstrip("."), covered)
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from numbers(value, f"{path}[{place}]", covered)
    elif re.match(r"\s*-?[0-9.]+", str(node)):
        yield path, covered


def bare(text: str) -> list[str]:
    """Paths of the numbers of a file that have no source."""
    root = yaml.safe_load(text)
    named = [key for key, source in (root.get("sources") or {}).items() if str(source).strip()]
    sourced = re.compile("|".join([rf"{re.escape(key)}(\.|\[|$)" for key in named]) or "(?!)")
    found = [path for path, covered in numbers(root) if not covered and path not in REFERENCES]
    return [path for path in found if not sourced.match(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_number_has_a_source(path: Path) -> None:
    """Of chips the loader judges, which knows what is inherited and expanded."""
    if path.parent.name == "accelerators":
        assert [key for key, source in load(path).sources.items() if source in ("", "user")] == []
    else:
        assert bare(path.read_text(encoding="utf-8")) == []


def test_a_number_without_a_source_is_seen() -> None:
    text = "a: {value: 1, source: x}\nb: {value: 2}\nc: [{d: 3 GHz}]\ne: {f: 4}\nsources: {e: y}\n"
    assert bare(text) == ["b.value", "c[0].d"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_is_called_as_what_it_describes(path: Path) -> None:
    """Users type the name of the file and read the name in results."""
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["name"] == path.stem
