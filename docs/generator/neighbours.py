"""Brings into the site what the pages link to outside docs/: pages of the tree become pages, other files are copied.

README.md is the first page of the site. A link from a page to a file of the tree, such as a notebook or a table of
reference data, is followed from page to page, so that every link which is right in the tree is right in the site too.
A link to a folder leads to the README.md in it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


FIRST = "README.md"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)


def tree_of(config: MkDocsConfig) -> Path:
    """The folder of the project, in which mkdocs.yml stands."""
    return Path(config.config_file_path).parent


def place_in_site(path: str) -> str:
    """Where a file of the tree stands in the site: ``docs/dram.md`` is ``dram.md``, ``README.md`` is ``index.md``."""
    if path == FIRST:
        return "index.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else f"tree/{path}"


def place_in_tree(source: str) -> str:
    """Where a page of the site stands in the tree: the other way round of ``place_in_site``."""
    if source == "index.md":
        return FIRST
    return source.removeprefix("tree/") if source.startswith("tree/") else f"docs/{source}"


def targets(tree: Path, path: str) -> list[str]:
    """The files of the tree to which the links of a page lead, each as its path from the project's folder."""
    text = FENCE.sub("", (tree / path).read_text(encoding="utf-8"))
    found = (resolved(tree, path, match[2]) for match in LINK.finditer(text))
    return [target for target in found if target]


def resolved(tree: Path, page: str, link: str) -> str | None:
    """The file that a link of a page means; None for an address, or for a file that the tree does not have."""
    if "://" in link or link.startswith("mailto:"):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    if (tree / target).is_dir():
        target = f"{target}/README.md"
    return target if (tree / target).is_file() else None


def neighbours(tree: Path) -> set[str]:
    """All files outside docs/ that can be reached by links from the first page and from the pages of docs/."""
    waiting = [FIRST, *(file.relative_to(tree).as_posix() for file in (tree / "docs").rglob("*.md"))]
    seen = set(waiting)
    while waiting:
        for target in targets(tree, waiting.pop()):
            if target not in seen:
                seen.add(target)
                waiting += [target] if target.endswith(".md") else []
    return {path for path in seen if not path.startswith("docs/")}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the neighbours to the files of the site."""
    from mkdocs.structure.files import File

    tree = tree_of(config)
    for path in sorted(neighbours(tree)):
        files.append(File.generated(config, place_in_site(path), abs_src_path=str(tree / path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns links that are right in the tree into links that are right in the site."""
    source = page.file.src_uri
    return markdown if source.startswith("api/") else moved(markdown, tree_of(config), source)


def moved(markdown: str, tree: Path, source: str) -> str:
    """The text of a page of the site with its links led to where their files stand in the site."""
    here = place_in_tree(source)
    return LINK.sub(lambda match: _moved(match, tree, here, source), markdown)


def _moved(match: re.Match[str], tree: Path, here: str, source: str) -> str:
    target = resolved(tree, here, match[2])
    if target is None:
        return match[0]
    link = posixpath.relpath(place_in_site(target), posixpath.dirname(source) or ".")
    return f"{match[1]}{link}{match[3] or ''}{match[4]}"
