"""How templates become pages: self-contained, with inline style and script; equal values give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from archsim.base.plain import visible

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"


def page(template: str, values: Mapping[str, Any]) -> str:
    """The page of a template (``title`` and ``version`` are among its values) as text."""
    style, script = (Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("report.css", "report.js"))
    return _environment().get_template(template).render({**values, "css": style, "script": script})


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


def _shown(value: Any) -> Any:
    """Text with what is hidden in it visible; markup is made of such text already."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value, keep="\n\t")
