"""Sections of chip files, made of the resolved classes: what checks a part is what its fields say of its keys.

A section is a pydantic model with a field for each key of a part (``keys``), under the name that files spell. Its
values are those of the domains, before they are read into a part: sizes in bytes, durations in cycles or time. Since
the keys are defined by the parts, sections are made and not written, and no type checker knows their keys: rules and
``build`` read ``section.size`` unchecked, and the tests of each rule stand in for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import GenericAlias
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, create_model

from archsim.spec.keys import REQUIRED, KeyField, SectionOf, TableOf, keys_of
from archsim.spec.schema_base import Section, Sourced, for_all
from archsim.spec.value_domains import Domain

NOTHING: Mapping[str, type[Section]] = {}


class PartSection(Sourced):
    """Keys that a part states, and where their numbers come from. ``OWNERS``: the class that defines each key."""

    OWNERS: ClassVar[Mapping[str, type]] = {}


class InnerSection(Section):
    """A section inside a part's section. ``OWNERS``: the class that defines each key."""

    OWNERS: ClassVar[Mapping[str, type]] = {}


def section(
    label: str,
    says: str,
    part: type,
    kind: str = "",
    *,
    base: type[PartSection | InnerSection] = PartSection,
    inner: Mapping[str, type[Section]] = NOTHING,
) -> Any:
    """The section of a kind of part. ``label``: its name in JSON Schemas; ``says``: what it is, for docs and editors;
    ``base``: the section with the keys that it shares with others; ``inner``: sections of keys by ``SectionOf.name``.
    """
    found = [item for item in keys_of(part, kind) if base.OWNERS.get(item.key.name) is not item.owner]
    fields = {item.key.name: _field(item, inner) for item in found}
    made = create_model(f"{label.rpartition('.')[2]}Section", __base__=base, __doc__=says, **fields)  # type: ignore[call-overload]
    made.LABEL = label
    made.OWNERS = {**base.OWNERS, **{item.key.name: item.owner for item in found}}
    return made


def _field(item: KeyField, inner: Mapping[str, type[Section]]) -> tuple[Any, Any]:
    form, default = item.key.form, item.default
    annotation = _annotation(form, inner)
    if default is None:
        annotation = annotation | None
    if default is REQUIRED:
        return annotation, Field(description=item.key.says)
    if isinstance(form, SectionOf) and default is not None:
        model = inner[form.name]
        return annotation, Field(default_factory=lambda: model.model_validate({}), description=item.key.says)
    return annotation, Field(default, description=item.key.says)


def _annotation(form: Domain | TableOf | SectionOf, inner: Mapping[str, type[Section]]) -> Any:
    """What pydantic checks: the domains, in the mappings, lists and sections around them."""
    if isinstance(form, Domain):
        return Annotated[Any, form]
    if isinstance(form, SectionOf):
        model: Any = inner[form.name]
        return GenericAlias(list, (model,)) if form.many else model
    table = GenericAlias(dict, (Annotated[Any, form.key], Annotated[Any, form.value]))
    return Annotated[table, BeforeValidator(for_all)] if form.for_all else table
