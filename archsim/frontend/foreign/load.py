"""The front of this room: files of another tool to files of archsim, with what became of every key.

brought = bring([Path("arch.yaml"), Path("problem.yaml")])
brought.files          # name -> text: a chip, a workload, or both
brought.ledger         # every key: read, approximated, ignored, refused, unknown; every value that had to be assumed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from archsim.base.errors import ConfigError, ModelError, NotBuiltError, nearest
from archsim.energy.chip import tables_for
from archsim.frontend.foreign import accelforge, chip, scalesim, timeloop, workload, zigzag
from archsim.frontend.foreign.design import ForeignDesign
from archsim.frontend.foreign.emit import text_of
from archsim.frontend.foreign.ledger import APPROXIMATED, ASSUMED, REFUSED, STATES, UNKNOWN, ImportLedger, listed
from archsim.frontend.foreign.section import SourceSection
from archsim.frontend.foreign.template import rendered
from archsim.frontend.foreign.work import ForeignModel
from archsim.spec.load import loads
from archsim.spec.locate import is_file
from archsim.spec.nodes import FileNode, Mark, bounded_text, parse_foreign

TOOLS = ("timeloop", "accelforge", "zigzag", "scalesim")
MOST_FILES = 32
HEAD = "Imported from "  # begins the first comment of what is written
_NAMED = {"timeloop": "Timeloop", "accelforge": "AccelForge", "zigzag": "ZigZag", "scalesim": "SCALE-Sim"}


@dataclass(frozen=True)
class ImportedFiles:
    """``files``: name -> text. ``left_out``: layers that could not be written, with the reason. ``design``, ``work``:
    what the source describes, in neutral terms."""

    tool: str
    files: dict[str, str]
    ledger: ImportLedger
    left_out: tuple[str, ...]
    design: ForeignDesign | None
    work: ForeignModel | None

    def report(self) -> str:
        """The list of all keys and of what was assumed, then the counts."""
        lines = listed(self.ledger.of(*STATES, ASSUMED))
        lines += [f"left out: {line}" for line in self.left_out]
        return "\n".join([*lines, self.ledger.coverage()])

    @property
    def complete(self) -> bool:
        """Whether nothing was refused, unknown or left out."""
        return not self.ledger.of(REFUSED, UNKNOWN) and not self.left_out


@dataclass(frozen=True)
class SourceDocument:
    """A file as a tree."""

    path: Path
    tool: str
    root: FileNode


def bring(paths: Sequence[Path], tool: str = "") -> ImportedFiles:
    """Read files of one tool together; ``tool``: one of ``TOOLS``, '' to tell it by what the files hold.

    Raises ConfigError with file:line:column for what cannot be understood, NotBuiltError for templates that are not
    rendered.
    """
    if tool and tool not in TOOLS:
        raise ConfigError(f"--from: found '{tool}'; allowed {', '.join(TOOLS)}{nearest(tool, TOOLS)}")
    if not 1 <= len(paths) <= MOST_FILES:
        raise ConfigError(f"found {len(paths)} files; allowed 1 to {MOST_FILES}")
    documents = [_document(path, tool) for path in paths]
    tools = list(dict.fromkeys(document.tool for document in documents))
    if len(tools) > 1:
        told = ", ".join(f"{document.path.name}: {document.tool}" for document in documents)
        raise ConfigError(f"found files of several tools ({told}); allowed those of one, or --from TOOL")
    ledger = ImportLedger()
    design, work = _understood(tools[0], documents, ledger)
    for document in documents:
        ledger.close(document.root)
    return _written(tools[0], design, work, ledger, documents[0].root.mark)


def _document(path: Path, tool: str) -> SourceDocument:
    if not is_file(path):
        raise ConfigError(f"{path}: no such file")
    text = bounded_text(path)
    if path.suffix == ".csv" and tool in ("", "scalesim"):
        return SourceDocument(path, "scalesim", scalesim.parse_topology(path))
    if tool == "scalesim" or (not tool and (path.suffix == ".cfg" or scalesim.is_config(text))):
        return SourceDocument(path, "scalesim", scalesim.parse_config(text, str(path)))
    root = parse_foreign(rendered(text, str(path)), str(path))
    told = _told(root) if not tool or "arch" in root.mapping else tool
    return SourceDocument(path, tool or told, root)


def _told(root: FileNode) -> str:
    """The tool by the top level of a file."""
    keys = set(root.mapping)
    arch = root.mapping.get("arch")
    if arch is not None and {"storage", "arithmetic"} & set(arch.mapping):
        raise NotBuiltError(
            f"{arch.mark}: found 'arch' with 'storage' and 'arithmetic', the format of Timeloop 1; allowed that of "
            "version 3 (subtree, local) or 4 (nodes): rewrite it in one of them"
        )
    if root.items and any("equation" in item.mapping or "operator_type" in item.mapping for item in root.items):
        return "zigzag"
    for tool, marks in (("zigzag", zigzag.MARKS), ("timeloop", timeloop.MARKS), ("accelforge", accelforge.MARKS)):
        if keys & marks:
            return tool
    known = ", ".join(f"{_NAMED[tool]}" for tool in TOOLS)
    raise ConfigError(f"{root.mark}: found no key that tells the tool; allowed files of {known}, or --from TOOL")


def _understood(
    tool: str, documents: list[SourceDocument], ledger: ImportLedger
) -> tuple[ForeignDesign | None, ForeignModel | None]:
    sections = [SourceSection(document.root, "", ledger) for document in documents]
    files = [document.path.name for document in documents]
    if tool == "scalesim":
        return _scalesim(documents, sections)
    reader = {"timeloop": timeloop.read, "accelforge": accelforge.read, "zigzag": zigzag.read}[tool]
    return reader(sections, files)


def _scalesim(
    documents: list[SourceDocument], sections: list[SourceSection]
) -> tuple[ForeignDesign | None, ForeignModel | None]:
    design: ForeignDesign | None = None
    works: list[ForeignModel] = []
    for document, section in zip(documents, sections, strict=True):
        if document.path.suffix == ".csv":
            works.append(scalesim.work(section, document.path.name))
        elif design is None:
            design = scalesim.design(section, document.path.name)
        else:
            raise ConfigError(f"{document.root.mark}: a second configuration; allowed one")
    if len(works) > 1:
        raise ConfigError(f"{works[1].mark}: a second topology; allowed one")
    return design, works[0] if works else None


def _written(
    tool: str, design: ForeignDesign | None, work: ForeignModel | None, ledger: ImportLedger, place: Mark
) -> ImportedFiles:
    documents: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    marks: dict[str, Mark] = {}
    if design is not None:
        made, marks = chip.document(design, ledger)
        documents[f"{made['name']}.yaml"] = made
    if work is not None:
        made, left_out = workload.document(work, ledger)
        name = f"{made['name']}.yaml" if f"{made['name']}.yaml" not in documents else f"{made['name']}_workload.yaml"
        documents[name] = made
    if not documents:
        raise ConfigError(f"{place}: found neither a chip nor a workload in these files of {_NAMED[tool]}")
    files = {name: text_of(made, _head(tool, ledger, left_out)) for name, made in documents.items()}
    if design is not None:
        _check(next(iter(files.values())), marks, design)
    return ImportedFiles(tool, files, ledger, tuple(left_out), design, work)


def _check(text: str, marks: dict[str, Mark], design: ForeignDesign) -> None:
    """Have archsim's own check read the chip; what it refuses is said at its place in the source."""
    try:
        tables_for(loads(text, file=chip.TEXT))
    except (ConfigError, NotBuiltError, ModelError) as error:
        raise chip.misfit(error, marks, design.mark) from None


def is_imported(path: Path) -> bool:
    """Whether a file begins as those that an import writes. Raises ConfigError where it cannot be read."""
    try:
        with open(path, "rb") as stream:
            first = stream.readline(1000).decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    return any(first.startswith(f"# {HEAD}{name} by archsim import.") for name in _NAMED.values())


def _head(tool: str, ledger: ImportLedger, left_out: list[str]) -> list[str]:
    """Comments above a file: what it comes from, what has no counterpart, what was assumed."""
    lines = [f"{HEAD}{_NAMED[tool]} by archsim import. {ledger.coverage()}."]
    lines += listed(ledger.of(APPROXIMATED, REFUSED, UNKNOWN, ASSUMED), whole=False)
    return lines + [f"left out: {line}" for line in left_out]
