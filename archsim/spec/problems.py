"""Schema errors for people: ``file:line:column: key.path: found VALUE; allowed ... (did you mean ...?)``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from archsim.base import units
from archsim.base.errors import ArchsimError, ConfigError, NotBuiltError, nearest_name
from archsim.spec.nodes import FileNode, Mark
from archsim.spec.schema_base import KEYS_LATER, Section
from archsim.spec.value_domains import Domain, DomainWords

M = TypeVar("M", bound=BaseModel)
_SEVERAL = re.compile(r"\d+ problems")
# What the same thing is called elsewhere in the grammar, for hints that spelling cannot give.
_SYNONYMS = {"capacity": "size", "size": "capacity", "frequency": "clock", "depth": "size", "bytes": "size"}
_SYNONYMS |= {"precision": "dtypes", "hz": "clock", "data_width": "width", "rows": "shape", "cols": "shape"}


class Problems:
    """Collects the problems of one file; ``raise_all`` raises one error with all of them."""

    def __init__(self) -> None:
        """Begin without problems."""
        self._lines: list[tuple[Mark, str]] = []
        self._absent: list[tuple[str, Mark, str]] = []
        self._meant: set[str] = set()
        self._caught: list[ArchsimError] = []
        self._later = False

    def add(self, mark: Mark, path: str, message: str) -> None:
        """One problem at a place."""
        self._lines.append((mark, f"{mark}: {path}: {message}"))

    def absent(self, mark: Mark, path: str, message: str, key: str) -> None:
        """A key path ``key`` that is not there; not told where a misspelt key stands for it."""
        self._absent.append((key, mark, f"{mark}: {path}: {message}"))

    def misspelt(self, mark: Mark, path: str, message: str, meant: str) -> None:
        """A key that stands for another one, of the path ``meant``."""
        self.add(mark, path, message)
        self._meant.add(meant)

    def not_built(self, mark: Mark, path: str, message: str) -> None:
        """One use of something that belongs to the grammar but not to this version."""
        self.add(mark, path, message)
        self._later = True

    def take(self, other: Problems) -> None:
        """The problems of ``other`` too, without its key paths that are not there."""
        self._lines += other._lines
        self._later = self._later or other._later

    @contextmanager
    def caught(self, mark: Mark, place: str = "") -> Iterator[None]:
        """What is refused within this context is told with the other problems, in the order of ``mark``; ``place``
        goes before it where it does not begin with that already."""
        try:
            yield
        except ArchsimError as error:
            self._caught.append(error)
            self._lines += [(mark, line if line.startswith(place) else f"{place}: {line}") for line in told(error)]
            self._later = self._later or isinstance(error, NotBuiltError)

    @property
    def found(self) -> bool:
        """Whether there are any."""
        return bool(self._lines or self._absent)

    def raise_all(self) -> None:
        """Raise ConfigError (NotBuiltError when that is the matter) unless there are no problems; one that was caught
        and is alone stays of its kind."""
        if not self.found:
            return
        told = [*self._lines, *((mark, text) for key, mark, text in self._absent if key not in self._meant)]
        ordered = sorted(told, key=lambda item: (item[0].file, item[0].line, item[0].column))
        lines = list(dict.fromkeys(text for _, text in ordered))
        kind: type[ArchsimError] = NotBuiltError if self._later else ConfigError
        if len(lines) == 1:
            raise (type(self._caught[0]) if self._caught else kind)(lines[0])
        raise kind(f"{len(lines)} problems:\n" + "\n".join(f"  {line}" for line in lines))


def told(error: ArchsimError) -> list[str]:
    """The problems that an error of ``raise_all`` tells of, or what another error says."""
    text = str(error)
    head, _, lines = text.partition(":\n")
    return [line.strip() for line in lines.split("\n")] if _SEVERAL.fullmatch(head) else [text]


def validate(model: type[M], node: FileNode, prefix: str, problems: Problems) -> M | None:
    """``node`` as an instance of ``model``; None, with problems added, when it does not fit.

    ``prefix``: key path of the node ('' at the top).
    """
    data = {key: child.plain() for key, child in node.mapping.items()}
    nothing = [(path, leaf) for path, leaf in node.leaves() if leaf.value is None]
    for path, leaf in nothing:
        problems.add(
            leaf.mark,
            _join(prefix, path),
            f"found nothing; allowed {_allowed(model, tuple(path.split('.')))}",
        )
    try:
        instance = model.model_validate(data)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            _add(problems, model, node, prefix, dict(details))
        return None
    return None if nothing else instance


def validate_part(model: type[BaseModel], node: FileNode, prefix: str, problems: Problems) -> None:
    """As ``validate`` for a node that holds only some keys of a ``model``: those that are missing are no problems."""
    found = Problems()
    validate(model, node, prefix, found)
    problems.take(found)


def _add(problems: Problems, model: type[BaseModel], node: FileNode, prefix: str, details: Mapping[str, Any]) -> None:
    location = tuple(item for item in details["loc"] if item != "[key]")
    kind = details["type"]
    found, depth = _walk(node, location)
    if kind == "missing":
        path = _join(prefix, _dotted(location))
        problems.absent(found.mark, path, f"missing; allowed {_allowed(model, location)}", path)
        return
    path = _join(prefix, _dotted(location[:depth]))
    if kind == "extra_forbidden" and location[-1] in KEYS_LATER:
        problems.not_built(found.mark, path, f"key '{location[-1]}' is not built yet; allowed without it")
    elif kind == "extra_forbidden" and str(location[-1]) in _elsewhere(model, location[:-1]):
        said = _elsewhere(model, location[:-1])[str(location[-1])]
        problems.add(found.mark, path, f"'{location[-1]}' does not stand here; {said}")
    elif kind == "extra_forbidden":
        key, known = str(location[-1]), _keys(model, location[:-1])
        meant = _join(prefix, _dotted((*location[:-1], meant_by(key, known))))
        problems.misspelt(found.mark, path, unknown_key(key, known), meant)
    elif kind == "not_built":
        problems.not_built(found.mark, path, details["msg"])
    elif kind == "domain":
        problems.add(found.mark, path, details["msg"])
    else:
        shown = units.shown(found.plain())
        problems.add(found.mark, path, f"found {shown}; allowed {_allowed(model, location[:depth])}")


def unknown_key(key: str, known: Iterable[str]) -> str:
    """The message for a key that the grammar does not have here."""
    names = sorted(known)
    meant = meant_by(key, names)
    hint = f" (did you mean '{meant}'?)" if meant else ""
    return f"unknown key '{key}'; allowed {', '.join(names)}{hint}"


def meant_by(key: str, known: Iterable[str]) -> str:
    """The key of the grammar that an unknown one stands for, by spelling or meaning; '' for none."""
    names = sorted(known)
    synonym = _SYNONYMS.get(key.lower(), "")
    return nearest_name(key, names) or (synonym if synonym in names else "")


def allowed_text(annotation: object, metadata: Iterable[object] = ()) -> str:
    """What a schema annotation allows, in words."""
    for item in metadata:
        if isinstance(item, Domain | DomainWords):
            return item.allowed
    arguments = get_args(annotation)
    if getattr(annotation, "__metadata__", ()):
        return allowed_text(arguments[0], arguments[1:])
    if get_origin(annotation) is dict:
        return f"a mapping of {allowed_text(arguments[0])} to {allowed_text(arguments[1])}"
    if get_origin(annotation) is list:
        return _allowed_entries(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        example = annotation.EXAMPLE if issubclass(annotation, Section) else ""
        return f"a mapping with the keys {', '.join(keys(annotation))}{', such as ' if example else ''}{example}"
    wanted = [item for item in arguments if item is not type(None)]
    return allowed_text(wanted[0]) if wanted else "text"


def _allowed_entries(entry: Any) -> str:
    section = submodel(entry)
    if section is None:
        return f"a list, each item {allowed_text(entry)}"
    return f"a list of entries with the keys {', '.join(keys(section))}"


def keys(model: type[BaseModel]) -> list[str]:
    """The keys of a section as the file spells them, in the order of the schema."""
    return [info.alias or name for name, info in model.model_fields.items()]


def field_of(model: type[BaseModel], key: str) -> FieldInfo | None:
    """The field that the file spells ``key``."""
    for name, info in model.model_fields.items():
        if key == (info.alias or name):
            return info
    return None


def submodel(annotation: object) -> type[BaseModel] | None:
    """The section inside an annotation such as ``Ports`` or ``list[Fanout] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        inner = submodel(argument)
        if inner is not None:
            return inner
    return None


def _walk(node: FileNode, location: tuple[object, ...]) -> tuple[FileNode, int]:
    """The deepest node along ``location`` that the file has, and how many steps lead to it."""
    for depth, step in enumerate(location):
        child = node.items[step] if isinstance(step, int) and step < len(node.items) else node.mapping.get(str(step))
        if child is None:
            return node, depth
        node = child
    return node, len(location)


def _inside(annotation: Any, step: object) -> tuple[Any, Sequence[object]]:
    """Annotation and metadata of what stands under a key or number of an annotated value; None where nothing may."""
    for option in _options(annotation):
        arguments = get_args(option)
        if isinstance(option, type) and issubclass(option, BaseModel):
            info = field_of(option, str(step))
            return (info.annotation, info.metadata) if info is not None else (None, ())
        if get_origin(option) is dict:
            return arguments[1], ()
        if get_origin(option) is list:
            return arguments[0], ()
    return None, ()


def _options(annotation: Any) -> list[Any]:
    """What a value may be: the types of a union, without their annotations."""
    if getattr(annotation, "__metadata__", ()):
        return _options(get_args(annotation)[0])
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return [option for item in get_args(annotation) for option in _options(item)]
    return [annotation]


def _at(model: type[BaseModel], location: tuple[object, ...]) -> tuple[Any, Sequence[object]]:
    annotation: Any = model
    metadata: Sequence[object] = ()
    for step in location:
        annotation, metadata = _inside(annotation, step)
    return annotation, metadata


def _keys(model: type[BaseModel], location: tuple[object, ...]) -> list[str]:
    section = submodel(_at(model, location)[0])
    return keys(section) if section is not None else []


def _elsewhere(model: type[BaseModel], location: tuple[object, ...]) -> Mapping[str, str]:
    """Keys that belong somewhere else in a file than into the section at a location, with where."""
    section = submodel(_at(model, location)[0])
    return section.ELSEWHERE if section is not None and issubclass(section, Section) else {}


def _allowed(model: type[BaseModel], location: tuple[object, ...]) -> str:
    annotation, metadata = _at(model, location)
    return allowed_text(annotation, metadata) if annotation is not None else "a value"


def _dotted(location: tuple[object, ...]) -> str:
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def _join(prefix: str, path: str) -> str:
    return f"{prefix}.{path}" if prefix and path else prefix or path
