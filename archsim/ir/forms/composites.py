"""A composite of a Workload <-> its mapping in the text form: ``{name: mlp, kind: gated_mlp, layers: [up, down]}``."""

from __future__ import annotations

from typing import Any

from archsim.ir.composites import KINDS, Composite
from archsim.ir.forms.fields import MappingFields, OneLineList


def composite_form(composite: Composite) -> dict[str, Any]:
    """The keys of a composite with what they hold."""
    return {"name": composite.name, "kind": composite.kind, "layers": OneLineList(composite.members)}


def read_composite(fields: MappingFields) -> Composite:
    """The composite that a mapping of the text states."""
    kind: Any = fields.text("kind", KINDS)
    composite = Composite(fields.text("name"), kind, fields.texts("layers"))
    fields.end()
    return composite
