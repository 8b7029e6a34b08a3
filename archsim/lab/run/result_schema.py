"""The JSON Schema of summary.json, made of the types that define it: ``ir.result``, ``ir.result_parts``,
``report.run.details``.

Every object whose keys are fixed takes no others. Results of the first schema are valid without what came with the
second, which results of the second must have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType, new_class
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from archsim.ir import result
from archsim.ir.causes import CAUSES, CauseKeys
from archsim.ir.figure_table import FIGURES, FigureKeys
from archsim.ir.keys import SECOND, TABLE, TEXT, ItemTypes, ResultKey
from archsim.report.run.details import RunDetails

Json = dict[str, Any]
_ROWS = (result.LayerResult, result.CompositeResult)
_PLAIN = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_Bound = Literal["lower", "estimate"]
BOUND_SAYS = "What the {} is of the real one: a lower bound or an estimate."
_DETAILS = Annotated[RunDetails, ResultKey(TABLE, "What pages draw beyond the public keys.")]


class _Field:
    """A key with its type, what is said of it, and whether it may be absent."""

    def __init__(self, hint: Any, optional: bool) -> None:
        if get_origin(hint) is NotRequired:
            hint, optional = get_args(hint)[0], True
        self.hint, self.optional = hint, optional
        self.key = next((item for item in _said(hint) if isinstance(item, ResultKey)), None)

    @property
    def since_second(self) -> bool:
        return self.key is not None and self.key.since >= SECOND


def root() -> tuple[Json, Json]:
    """The schema of a summary without its head, and its definitions by name."""
    shown = {name: field for name, field in _fields(result.Result).items() if name not in result.RENDERING}
    shown |= {name: _Field(shown[name].hint, True) for name in result.OPTIONAL}
    layers = _form(result.CompositeResult)
    made = _object(shown | {"details": _Field(_DETAILS, True)})
    made["properties"] = {"schema": {"enum": [result.SCHEMA, result.FIRST_SCHEMA]}, **made["properties"]}
    made["properties"]["layers"]["items"] = {"$ref": "#/$defs/layer"}
    made["required"] = ["schema", *made["required"]]
    second = _added(shown | {"details": _Field(_DETAILS, True)})
    condition = {"properties": {"schema": {"const": result.SCHEMA}}}
    return {**made, "if": condition, "then": second}, {"layer": layers}


def _said(hint: Any) -> tuple[Any, ...]:
    """What is said of a type beside it."""
    return getattr(hint, "__metadata__", ())


def _fields(kind: Any) -> dict[str, _Field]:
    """The keys of a dataclass or a TypedDict."""
    hints = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        absent = {
            each.name for each in fields(kind) if each.default is not MISSING or each.default_factory is not MISSING
        }
        absent = {"parts"} if kind in _ROWS else absent  # which write all of their other keys
    else:
        absent = set(kind.__optional_keys__)
    found: dict[str, _Field] = {}
    for name, hint in hints.items():
        listed = next((item for item in _said(hint) if isinstance(item, FigureKeys)), None)
        if listed is None:
            found[name] = _Field(hint, name in absent)
        elif listed == FigureKeys():
            found |= _fields(_of_figures(listed))
        else:
            found[name] = _Field(_with_figures(hint, listed), name in absent)
    return found


def _of_figures(listed: FigureKeys) -> Any:
    """A TypedDict of the figures of a section, or of those that have a bound."""
    if listed.bounds:
        rows = [FIGURES[key] for key in FIGURES.bounds]
        keys = {row.key: Annotated[_Bound, ResultKey(TEXT, BOUND_SAYS.format(row.short or row.label))] for row in rows}
    else:
        rows = FIGURES.stored[listed.section]
        keys = {row.name: Annotated[row.type, ResultKey(row.unit, row.says, row.since)] for row in rows}
    if listed.also is not None:
        keys |= get_type_hints(listed.also, include_extras=True)
    made = new_class(listed.section or "figures", (TypedDict,), exec_body=lambda own: own.update(__annotations__=keys))
    made.__doc__ = listed.says
    return made


def _with_figures(hint: Any, listed: FigureKeys) -> Any:
    """The hint of an object of figures with their keys, and None where it may be None."""
    made, bare = _of_figures(listed), get_args(hint)[0]
    inner = made | None if type(None) in get_args(bare) else made
    return Annotated[(inner, *_said(hint))]


def _object(keys: Mapping[str, _Field]) -> Json:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": {name: {**_form(field.hint), **_words(field)} for name, field in keys.items()},
        "required": [name for name, field in keys.items() if not field.optional and not field.since_second],
        "additionalProperties": False,
    }


def _words(field: _Field) -> Json:
    if field.key is None:
        return {}
    unit = "" if field.key.unit in (TEXT, TABLE) else f" Unit: {field.key.unit}."
    return {"description": field.key.says + unit}


def _form(hint: Any, said: tuple[Any, ...] = ()) -> Json:
    """The JSON of a value of a type; ``said``: what is said of it beside."""
    if get_origin(hint) is Annotated:
        return _form(get_args(hint)[0], _said(hint))
    arguments = get_args(hint)
    for item in said:
        if isinstance(item, CauseKeys):
            return _causes(hint, item)
        if isinstance(item, ItemTypes):
            return {"type": "array", "prefixItems": [_form(each) for each in item.types], "items": False,
                    "minItems": len(item.types)}  # fmt: skip
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if is_typeddict(hint) or is_dataclass(hint):
        return {**_object(_fields(hint)), "description": " ".join((hint.__doc__ or "").split())}
    if get_origin(hint) is Literal:
        return {"enum": list(arguments)}
    if get_origin(hint) in (Union, UnionType):
        return {"anyOf": [_form(item) for item in arguments]}
    return _many(get_origin(hint), arguments)


def _many(origin: Any, arguments: tuple[Any, ...]) -> Json:
    """A list, or a mapping whose keys are names."""
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _form(arguments[1])}
    if issubclass(origin, Sequence):
        return {"type": "array", "items": _form(arguments[0])}
    raise TypeError(f"results hold no {origin}")


def _causes(hint: Any, causes: CauseKeys) -> Json:
    """A word that is a cause, or a mapping by cause."""
    if hint is str:
        return {"enum": list(causes.names)}
    value = _form(get_args(hint)[1])
    if causes.operands:
        pattern = rf"^({'|'.join(causes.names)})(\..+)?$"
        return {"type": "object", "patternProperties": {pattern: value}, "additionalProperties": False}
    return {
        "type": "object",
        "properties": {
            name: {**value, "description": CAUSES.meaning(name).capitalize() + "."} for name in causes.names
        },
        "required": [name for name in causes.names if causes.whole and name not in CAUSES.since_second],
        "additionalProperties": False,
    }


def _added(keys: Mapping[str, _Field]) -> Json:
    """What the second schema requires of an object beyond the first, {} where that is nothing."""
    required = [name for name, field in keys.items() if field.since_second and not field.optional]
    inner = {name: found for name, field in keys.items() if (found := _further(field.hint))}
    return ({"required": required} if required else {}) | ({"properties": inner} if inner else {})


def _further(hint: Any) -> Json:
    """What the second schema requires inside a value."""
    said, bare = _said(hint), get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if any(isinstance(item, CauseKeys) and item.whole for item in said):
        return {"required": list(CAUSES.since_second)}
    if is_typeddict(bare) or is_dataclass(bare):
        return _added(_fields(bare))
    return next(_inside(get_origin(bare), get_args(bare)), {})


def _inside(origin: Any, arguments: tuple[Any, ...]) -> Iterator[Json]:
    """What it requires of the items of a list or mapping, or of the object that a value may be."""
    if origin in (Union, UnionType):
        yield from (found for item in arguments if item is not type(None) and (found := _further(item)))
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from ({"additionalProperties": found} for item in arguments[1:] if (found := _further(item)))
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        yield from ({"items": found} for item in arguments[:1] if (found := _further(item)))
