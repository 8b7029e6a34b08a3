"""What a key of a chip part is: the annotation of a field of the part's resolved class, written once.

    channels: Annotated[int, Key("channels", d.count(1, 64), "load engines, and store engines, of the core")] = 1
    setup_cycles: Annotated[int, cycles("setup", "descriptor cost of one move")] = 0

Whoever adds such a field to a part has added the key to chip files, and need not touch another file. The domain
(``value_domains``) says what is allowed and how the value is written; the default of the field is that of the key. From
the annotation come

- the section that checks files, words mistakes and makes `--set`, docs/chip.md and the JSON Schema (``sections``),
- the value in the resolved part (``values``, which ``build`` calls),
- the canonical text, the numbers that need a source, and with them the sha256 of the chip (``canonical``).

Where a value is kept in another form than a file states it, ``read`` makes the one of the other and ``write`` goes the
way back: a size in bytes needs neither, a duration that is kept in cycles of the part's clock has both (``cycles``). A
field that follows from keys of other fields is ``Derived``. A class that stands for several kinds of part (``Memory``)
names those that have a key with ``of``. What no key says, such as how often a part is there, ``build`` hands in.

This file does not import the library that checks: the resolved classes are read by every command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING
from enum import IntEnum
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, get_args

from archsim.base import units
from archsim.base.units import PS_PER_S
from archsim.spec import value_domains as d

REQUIRED = object()
OF_FIELD = object()


class KeyOrder(IntEnum):
    """Where canonical text prints a key of a part; keys of one place in the order of their definition."""

    NAME = 0
    CLOCK = 1
    OWN = 2
    KEEPS = 3
    PRICE = 4


class StatedSection(NamedTuple):
    """A section of a file on its way into a part. ``section``: its values by key; ``clock_hz``: of the part;
    ``source``: of a key path below the part, where its number comes from."""

    section: Any
    clock_hz: int
    source: Callable[[str], str]

    def inside(self, key: str, section: Any) -> StatedSection:
        """The section that a key of this one holds."""
        return StatedSection(section, self.clock_hz, lambda path: self.source(f"{key}.{path}"))


class TableOf(NamedTuple):
    """A mapping with free keys; ``for_all``: one value may stand for all of them."""

    key: d.Domain
    value: d.Domain
    for_all: bool = False
    number: bool = True
    words: tuple[str, ...] = ()
    endless: str = ""

    def written(self, found: Any) -> object:
        """As canonical text states it."""
        if not isinstance(found, Mapping):
            return self.value.written(found)
        return {self.key.written(key): self.value.written(value) for key, value in found.items()}


class SectionOf(NamedTuple):
    """A section inside a section, or a list of ``many``. ``part``: the class whose fields state its keys; without one
    the section is written by hand and the key says how it is read and written."""

    name: str
    part: type | None = None
    many: bool = False
    number: bool = True
    words: tuple[str, ...] = ()
    endless: str = ""

    def read(self, found: Any, key: str, stated: StatedSection) -> Any:
        """The parts of sections, or the part of one; None for none."""
        if found is None or self.part is None:
            return found
        if self.many:
            return tuple(self.part(**values(self.part, "", stated.inside(key, item))) for item in found)
        return self.part(**values(self.part, "", stated.inside(key, found)))

    def written(self, found: Any) -> object:
        """As canonical text states it."""
        if self.part is None:
            return found
        if self.many:
            return [text(item, "") for item in found]
        return text(found, "")


def _as_kept(value: Any, _part: Any) -> Any:
    return value


def _always(_part: Any) -> bool:
    return True


class Key(NamedTuple):
    """One key of a chip file, as the annotation of the field that keeps it.

    ``name``: as files spell it; ``form``: what they may state; ``says``: the meaning, for docs and editors.
    ``default``: of the file, where it is not that of the field (REQUIRED: none). ``of``: the kinds of part that have
    it; all if empty. ``read``: from the stated value to the kept one; ``write``: from the kept value and its part back
    to a stated one, None to leave the key out. ``when``: of which parts canonical text states it; ``order``: where.
    """

    name: str
    form: d.Domain | TableOf | SectionOf
    says: str
    default: object = OF_FIELD
    of: tuple[str, ...] = ()
    read: Callable[[Any, StatedSection], Any] | None = None
    write: Callable[[Any, Any], Any] = _as_kept
    when: Callable[[Any], bool] = _always
    order: KeyOrder = KeyOrder.OWN

    def kept(self, stated: StatedSection) -> Any:
        """The value that a part keeps of what a section states."""
        found = getattr(stated.section, self.name)
        if self.read is not None:
            return self.read(found, stated)
        return self.form.read(found, self.name, stated) if isinstance(self.form, SectionOf) else found

    def text(self, value: Any, part: Any) -> object:
        """What canonical text states for the value of a part; None: nothing."""
        found = self.write(value, part)
        return None if found is None and not self.form.endless else self.form.written(found)


class Derived(NamedTuple):
    """A field that follows from keys of other fields."""

    read: Callable[[StatedSection], Any]
    of: tuple[str, ...] = ()


class KeysOf(NamedTuple):
    """A field that keeps a group of keys of the section itself, as an object of a class of its own; ``when``: of which
    parts canonical text states them."""

    group: type
    of: tuple[str, ...] = ()
    when: Callable[[Any], bool] = _always


class KeyField(NamedTuple):
    """A key with the field that keeps it. ``owner``: the class that declares it; ``default``: of the section."""

    path: tuple[str, ...]
    key: Key
    default: object
    owner: type
    when: Callable[[Any], bool]

    def value(self, part: Any) -> Any:
        """Of a part."""
        for name in self.path:
            part = getattr(part, name)
        return part


def cycles(name: str, says: str, **options: Any) -> Key:
    """A duration, in a file cycles or time, that is kept in whole cycles of the part's clock, rounded up."""
    form = d.measured("0 or more", units.CYCLES, units.TIME)
    none = d.MeasuredQuantity(Fraction(0), "cycles")
    usual: dict[str, Any] = {"default": none, "read": _in_cycles, "write": _of_cycles}
    return Key(name, form, says, **(usual | options))


def _in_cycles(found: d.MeasuredQuantity, stated: StatedSection) -> int:
    if found.per == "ps":
        return -(-found.value * stated.clock_hz // PS_PER_S)
    return -(-found.value // 1)


def _of_cycles(count: int, _part: Any) -> d.MeasuredQuantity:
    return d.MeasuredQuantity(Fraction(count), "cycles")


def one_or_each(found: Mapping[str, int], everything: tuple[str, ...]) -> int | Mapping[str, int]:
    """One number when it holds for all of ``everything``, else a number for each."""
    if set(found) == set(everything) and len(set(found.values())) == 1:
        return next(iter(found.values()))
    return found


@cache
def _notes(part: type) -> Mapping[str, tuple[Key | Derived | KeysOf, ...]]:
    """What the annotations of a class itself say, by field."""
    hints = inspect.get_annotations(part, eval_str=True)
    return {
        name: tuple(note for note in get_args(hint)[1:] if isinstance(note, Key | Derived | KeysOf))
        for name, hint in hints.items()
        if getattr(hint, "__metadata__", ())
    }


@cache
def _fields(part: type, kind: str) -> tuple[tuple[str, Key | Derived | KeysOf, type], ...]:
    """Fields with what says how they are read, in order of definition: of base classes first, and where a class defines
    one again, there."""
    found: dict[str, tuple[str, Key | Derived | KeysOf, type]] = {}
    for owner in reversed(part.__mro__):
        for name, notes in _notes(owner).items():
            found.pop(name, None)
            for note in notes:
                if not note.of or kind in note.of:
                    found[name] = (name, note, owner)
    return tuple(found.values())


@cache
def keys_of(part: type, kind: str = "") -> tuple[KeyField, ...]:
    """The keys of a kind of part, in order of definition."""
    found: list[KeyField] = []
    for name, note, owner in _fields(part, kind):
        if isinstance(note, Key):
            found.append(KeyField((name,), note, _default(part, name, note), owner, note.when))
        elif isinstance(note, KeysOf):
            for inner in keys_of(note.group, kind):
                when = note.when if inner.when is _always else _both(note.when, inner.when)
                found.append(inner._replace(path=(name, *inner.path), when=when))
    return tuple(found)


def _both(first: Callable[[Any], bool], second: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda part: first(part) and second(part)


def _default(part: type, name: str, key: Key) -> object:
    if key.default is not OF_FIELD:
        return key.default
    default = part.__dataclass_fields__[name].default  # type: ignore[attr-defined]
    return REQUIRED if default is MISSING else default


def values(part: type, kind: str, stated: StatedSection) -> dict[str, Any]:
    """The fields of a part that its section says."""
    found: dict[str, Any] = {}
    for name, note, _ in _fields(part, kind):
        if isinstance(note, Key):
            found[name] = note.kept(stated)
        elif isinstance(note, Derived):
            found[name] = note.read(stated)
        else:
            found[name] = note.group(**values(note.group, kind, stated))
    return found


@cache
def _in_order(part: type, kind: str) -> tuple[KeyField, ...]:
    """The keys of a kind of part as canonical text prints them."""
    return tuple(sorted(keys_of(part, kind), key=lambda item: item.key.order))


def texts(part: Any, kind: str) -> Iterator[tuple[Key, object]]:
    """The keys that canonical text states of a part, with what it states."""
    resolved: type = type(part)
    for item in _in_order(resolved, kind):
        found = item.key.text(item.value(part), part) if item.when(part) else None
        if found is not None:
            yield item.key, found


def text(part: Any, kind: str) -> dict[str, Any]:
    """The canonical section of a part."""
    return {key.name: found for key, found in texts(part, kind)}


def numbers(stated: Iterable[tuple[Key, object]], prefix: str) -> Iterator[str]:
    """Key paths of the numbers among the keys that canonical text states, in their order."""
    for key, found in stated:
        if key.form.number and found not in key.form.words:
            yield from leaves(found, f"{prefix}{key.name}")


def leaves(found: object, path: str) -> Iterator[str]:
    """Key paths of the values of a mapping in mappings, or the path of a value."""
    if isinstance(found, Mapping):
        for key, value in found.items():
            yield from leaves(value, f"{path}.{key}")
    else:
        yield path
