"""Documents as YAML text: short mappings on one line, numbers exact, texts quoted where YAML needs it."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import yaml

_LINE = 100  # characters of a mapping or list that goes on one line
_DIGITS = 12  # of a number that no short decimal states


class FlowMapping(dict[str, Any]):
    """A mapping that goes on one line."""


class _Dumper(yaml.SafeDumper):
    """Short mappings and lists in flow style; lists indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their key."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything where it stands."""
        return True


def _mapping(dumper: _Dumper, data: dict[str, Any]) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=isinstance(data, FlowMapping))


def _list(dumper: _Dumper, data: list[Any]) -> yaml.Node:
    flow = not any(isinstance(item, (dict, list)) and not isinstance(item, FlowMapping) for item in data)
    short = flow and len(str(data)) <= _LINE and not any(isinstance(item, FlowMapping) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=short)


_Dumper.add_representer(dict, _mapping)
_Dumper.add_representer(FlowMapping, _mapping)
_Dumper.add_representer(list, _list)


def text_of(document: dict[str, Any], head: Iterable[str]) -> str:
    """YAML text with ``head`` as comments above it."""
    comments = "".join(f"# {line}\n".replace("\x85", " ") for each in head for line in (each.splitlines() or [""]))
    body = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=118)
    return f"{comments}{body}"


def decimal(value: Fraction) -> str:
    """A number of 0 or more: as a decimal where that is exact and short, else rounded to 12 digits."""
    if value.denominator == 1 and value < 10**15:
        return str(int(value))
    context = Context(prec=_DIGITS)
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    text = format(found.normalize(context), "f")
    return text if len(text) <= 30 else f"{found:.{_DIGITS - 1}e}"


def size(bits: Fraction) -> str:
    """A capacity in the largest binary unit that states it in whole numbers."""
    size_bytes = -(-bits // 8)
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= factor and size_bytes % factor == 0:
            return f"{size_bytes // factor} {unit}"
    return f"{size_bytes} B"
