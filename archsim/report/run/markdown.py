"""report.md: the report as GitHub-flavoured Markdown, for pull requests and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archsim.base.plain import markdown as escaped
from archsim.report.kit.table import ReportTable
from archsim.report.kit.table_markdown import bullets, rendered, section
from archsim.report.run.chip_parts import power_sentence
from archsim.report.run.headline import setting, title
from archsim.report.run.layouts import tables
from archsim.report.run.noc_rows import sentence as network_sentence
from archsim.report.run.run_sentences import sentences

Tables = Mapping[str, ReportTable]


def render(summary: Mapping[str, Any]) -> str:
    """The report as Markdown text with a closing newline."""
    made = tables(summary)
    blocks = [
        f"# {escaped(title(summary))}",
        "  \n".join(escaped(line) for line in setting(summary)),
        rendered(made["headline"]),
        bullets(sentences(summary)),
        *_warnings(summary),
        *_headed("Bottlenecks", made, ("bottlenecks", "why")),
        *_section(made, "waterfall", 2),
        *_headed("Where the time went", made, ("units", "operands")),
        *_section(made, "groups", 2),
        *_section(made, "predicted", 2),
        *_headed("DRAM over time", made, [name for name in made if name.startswith("dram ")]),
        *_section(made, "roles", 2),
        *_headed("Network", made, ("links",), [network_sentence(summary["details"]["noc"])] if "links" in made else ()),
        *_headed("Energy and area", made, ("energy", "states", "area", "floorplan"), [power_sentence(summary)]),
        *_section(made, "layers", 2),
        *_section(made, "parts", 2),
        *_assumptions(summary, made),
        *_section(made, "provenance", 2),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _section(made: Tables, name: str, level: int) -> list[str]:
    """A table under its title, if the run has it."""
    return section(made[name], level) if name in made else []


def _headed(heading: str, made: Tables, names: Sequence[str], said: Sequence[str] = ()) -> list[str]:
    """Tables and sentences under a heading; nothing where the run has none of these tables."""
    found = [block for name in names for block in _section(made, name, 3)]
    return [f"## {heading}", *map(escaped, said), *found] if found else []


def _warnings(summary: Mapping[str, Any]) -> list[str]:
    warnings = summary["provenance"].get("warnings", [])
    return ["## Warnings", bullets(warnings)] if warnings else []


def _assumptions(summary: Mapping[str, Any], made: Tables) -> list[str]:
    lacking = bullets([f"not modelled: {text}" for text in summary["details"].get("not_modelled", [])])
    guessed = _section(made, "estimated", 3) or ["Every figure used has a published source."]
    return ["## Assumptions", lacking, *guessed, *_section(made, "promises", 3)]
