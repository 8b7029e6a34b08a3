"""JSON Schemas by name, for editors: each made of the definition that checks files of its kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from archsim.base.errors import ConfigError, nearest
from archsim.spec import json_forms as j

Json = dict[str, Any]


def names() -> dict[str, str]:
    """Every schema with what it is of."""
    return {name: about for name, (about, _) in _SCHEMAS.items()}


def schema(name: str) -> str:
    """The JSON Schema ``name`` as text; raises ConfigError naming those that there are."""
    if name not in _SCHEMAS:
        raise ConfigError(f"no schema '{name}'{nearest(name, _SCHEMAS)}; known: {', '.join(_SCHEMAS)}")
    return json.dumps(_SCHEMAS[name][1](), indent=1) + "\n"


def _chip() -> Json:
    """A chip whole, or one that extends another: then every key may be left out."""
    from archsim.spec.json_schema import Sections, document

    whole, partial = Sections(), Sections(partial=True)
    ways = [_chip_root(sections, suffix) for sections, suffix in ((whole, ""), (partial, "_partial"))]
    root = {"if": {"required": ["extends"]}, "then": ways[1], "else": ways[0]}
    return document("chip", {"type": "object", **root}, whole.found | partial.found)


def _chip_root(sections: Any, suffix: str) -> Json:
    from archsim.spec.schema import PARTS, PHY, ChipSection

    root: Json = sections.section(ChipSection)
    kinds = {kind: sections.ref(model) for kind, model in PARTS.items()}
    link = sections.found[f"schema_noc.Noc{suffix}"]["properties"]
    link["phy"] = {**j.any_of(j.text(), sections.value(PHY)), "description": link["phy"]["description"]}
    part = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    inner = {**part, "properties": kinds}
    outer = {**part, "properties": {**kinds, "parallel": j.listed(inner, 1)}}
    root["properties"]["hierarchy"] |= {"items": outer}
    return root


def _of(module: str, model: str, name: str) -> Callable[[], Json]:
    """The schema of a file whose grammar is one section with what is in it."""

    def made() -> Json:
        import importlib

        from archsim.spec.json_schema import Sections, document

        sections = Sections()
        root = sections.section(getattr(importlib.import_module(module), model))
        return document(name, root, sections.found)

    return made


def _workload() -> Json:
    """A workload layer by layer, or one in full text form, of which this says no more than its schema line."""
    from archsim.frontend.workload_yaml import grammar
    from archsim.frontend.workload_yaml.entries import ALL_MAIN
    from archsim.spec.json_schema import Sections, document

    sections = Sections()
    forms = []
    for kind, model in grammar.SECTIONS.items():
        section = sections.section(model)
        forms.append(
            {"type": "object", "properties": {kind: section}, "required": [kind], "additionalProperties": False}
        )
        main = ALL_MAIN.get(kind, "")
        stated = {"type": "null"} if not main else j.any_of({"type": "null"}, section["properties"][main])
        others = {key: value for key, value in section["properties"].items() if key != main}
        beside = {"type": "object", "properties": {kind: stated, **others}, "required": [kind]}
        forms.append({**beside, "additionalProperties": False})
    explicit = {"properties": {"schema": {"const": "archsim.einsums/1"}}, "required": ["schema"]}
    root = {"if": explicit, "then": {"type": "object"}, "else": sections.section(grammar.WorkloadSection)}
    return document("workload", root, {"entry": j.any_of(*forms)})


def _result() -> Json:
    """The summary of a run."""
    from archsim.lab.run.result_schema import root
    from archsim.spec.json_schema import document

    return document("result", *root())


def _cluster() -> Json:
    """Jobs of a batch system, or workers of this machine."""
    from archsim.lab.sweep.cluster_form import LOCAL, Here, Jobs
    from archsim.spec.json_schema import Sections, document

    sections = Sections()
    of_this, of_jobs = sections.section(Here), sections.section(Jobs)
    chosen = {"properties": {"kind": {"const": LOCAL}}, "required": ["kind"]}
    return document("cluster", {"type": "object", "if": chosen, "then": of_this, "else": of_jobs}, sections.found)


def _stated(module: str, name: str) -> Callable[[], Json]:
    """The schema of a file whose keys are in tables of ``ir.forms.mapping``."""

    def made() -> Json:
        import importlib

        from archsim.spec.json_schema import document

        return document(name, importlib.import_module(module).json_root(), {})

    return made


_TABLES = "archsim.spec.schema_tables"
_SCHEMAS: Mapping[str, tuple[str, Callable[[], Json]]] = {
    "chip": ("chip files", _chip),
    "workload": ("workload files, layer by layer", _workload),
    "sweep": ("sweep files", _of("archsim.lab.sweep.schema", "SweepSection", "sweep")),
    "scenario": ("scenario files", _of("archsim.lab.scenario.schema", "ScenarioSection", "scenario")),
    "technology": ("technology tables", _of(_TABLES, "TechnologyTable", "technology")),
    "area": ("area tables", _of(_TABLES, "AreaTable", "area")),
    "power": ("power tables", _of(_TABLES, "PowerTable", "power")),
    "dram_energy": ("energy tables of DRAM standards", _of(_TABLES, "DramEnergyTable", "dram_energy")),
    "link": ("links between chips", _of(_TABLES, "LinkTable", "link")),
    "mapping": ("mapping files", _stated("archsim.ir.forms.mapping", "mapping")),
    "cluster": ("cluster files", _cluster),
    "result": ("summary.json of a run", _result),
}
