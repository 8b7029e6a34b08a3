"""Reads the finished site once more: every link in it leads somewhere, and nothing in it is loaded from elsewhere.

MkDocs checks the links between written pages. This also covers what templates, pictures and the reference add, and the
places within pages that links name.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

LINK = re.compile(r'\b(href|src)="([^"]*)"')
PLACE = re.compile(r'\bid="?([^"\s>]+)')
ELSEWHERE = re.compile(r"(?:https?:)?//")
LOADS = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*\b(?:href|src)="((?:https?:)?//[^"]*)""")
NOT_FOUND = "404.html"  # it is shown at any address, so its links begin at the server's root


def problems(site: Path) -> Iterator[str]:
    """What is wrong in the pages of a site, a line each: links to nowhere, and what would be loaded from elsewhere."""
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(site).as_posix()
        yield from (f"{name}: loads {address}" for address in LOADS.findall(text))
        if name != NOT_FOUND:
            links = {html.unescape(link) for _, link in LINK.findall(text)}
            yield from (f"{name}: no {link}" for link in sorted(links) if not _leads_somewhere(page, link))


def _leads_somewhere(page: Path, link: str) -> bool:
    if ELSEWHERE.match(link) or link.startswith(("mailto:", "data:", "javascript:")):
        return True
    path, _, place = link.partition("#")
    path = unquote(path.partition("?")[0])
    target = Path(os.path.normpath(page.parent / path)) if path else page
    if target.is_dir():
        target /= "index.html"
    return target.is_file() and (not place or target.suffix != ".html" or unquote(place) in _places(target))


@cache
def _places(page: Path) -> frozenset[str]:
    return frozenset(PLACE.findall(page.read_text(encoding="utf-8")))


def on_post_build(*, config: MkDocsConfig) -> None:
    """Ends the build with all that is wrong."""
    from mkdocs.exceptions import PluginError

    if found := list(problems(Path(config.site_dir))):
        raise PluginError("\n".join(["the site has links that lead nowhere:", *found]))
