"""The JSON Schema of results: whole, with a sentence for each key, true of every kind of run, closed where keys are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from archsim.ir.causes import CAUSES
from archsim.ir.result import FIRST_SCHEMA
from archsim.lab.files import schemas
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute
from archsim.report.run.summary import upgraded
from tests.conftest import HAS_NET
from tests.tools.commands import GOLDEN
from tests.tools.plugins import plugins
from tests.tools.small_transformers import SMALL, parameters
from tests.unit.test_figures import NEW
from tests.unit.test_fusion import BOTTLENECK

SCHEMA: dict[str, Any] = json.loads(schemas.schema("result"))
VALIDATOR = Draft202012Validator(SCHEMA)
WORDS = """
schema: archsim.workload/1
name: words
source: "by definition: a test"
parameters: {batch: 2, size: 8}
layers:
  - embedding: {name: emb, rows: 400, dim: 16, lookups: [batch, 12], reduce: sum}
  - dense: {name: fc, out: size, act: relu}
"""
CACHE = "  - cache: {name: rows, size: 512 B, line: 16 B, ways: 4, word: 8 B, keeps: [tables]}\n  - dma: {name: dma}\n"
MEANT = {text.capitalize() for row in CAUSES.rows for text in (row.meaning, row.bound_meaning or row.meaning)}
FREE = {  # mappings whose keys are names of parts, layers, units, nodes, roles or key paths
    "energy_breakdown_j", "time_breakdown", "dram.memories", "dram.roles", "provenance.fidelity",
    "provenance.options.dtypes", "provenance.calibrated",
    "provenance.options.set", "provenance.options.lookups", "provenance.options.parameters", "details.critical",
    "details.area_breakdown_mm2", "details.floorplan", "details.sources", "details.power", "details.dram",
    "details.row_hit_rate",
    "details.caches", "details.net.tried", "details.predicted", "details.timeline.[].units", "details.why.[].keys",
    "details.groups.[].loops", "details.memory_map",
}  # fmt: skip


def plain(job: Job, why: bool = False) -> dict[str, Any]:
    """The summary of a run as JSON has it."""
    done = execute(job)
    found: dict[str, Any] = json.loads(json.dumps((done.explained(job) if why else done).summary))
    return found


STATE = (
    "schema: archsim.workload/1\ninputs: {x: [1, 2, 4]}\nstates: {kept: {shape: [1, 8, 4], past: 3}}\n"
    "layers:\n  - append: {name: all, state: kept}\n  - act: {function: relu}\n"
)


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Results of every kind of run."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "tiny.csv").write_text("Layer,M,N,K,\nfc,16,8,8,\n", encoding="utf-8")
    (folder / "words.yaml").write_text(WORDS, encoding="utf-8")
    golden = (GOLDEN / "chip.yaml").read_text(encoding="utf-8")
    (folder / "cached.yaml").write_text(golden.replace("  - dma: {name: dma}\n", CACHE), encoding="utf-8")
    mapping = folder / "mapping.yaml"
    mapping.write_text("schema: archsim.mapping/1\nconstraints:\n- {layers: conv1, units: [mxu]}\n", encoding="utf-8")
    repeated = "- repeat: 7\n    name: block\n    layers:\n      - dense: {name: fc, out: size, act: relu}\n"
    (folder / "blocks.yaml").write_text(WORDS.partition("- dense")[0] + repeated, encoding="utf-8")
    (folder / "state.yaml").write_text(STATE, encoding="utf-8")
    (folder / "bottleneck.yaml").write_text(BOTTLENECK, encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(SMALL["llama"]), encoding="utf-8")
    tiny, words, chip = folder / "tiny.csv", folder / "words.yaml", GOLDEN / "chip.yaml"
    listing = Job(GOLDEN / "program.asm", chip)
    looked_up = Job(
        words, folder / "cached.yaml", parameters={"size": 4}, lookups={"emb.rows": "uniform(seed=2)"}, seed=3, batch=3
    )
    with plugins():
        outside = plain(Job(tiny, "edge_npu"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "has_net", HAS_NET)
        netted = plain(Job(tiny, "edge_npu", net=True))
        beside_platform = plain(Job(tiny, "tpu_v3", net=True))
    return {
        "plugins": outside,
        "a Program": plain(listing),
        "golden": plain(Job(GOLDEN / "workload.yaml", chip, values={"clock": "2 GHz"}), why=True),
        "a stated mapping": plain(Job(GOLDEN / "workload.yaml", chip, mapping=mapping)),
        "gathers and a cache": plain(looked_up),
        "a trace": plain(Job(words, chip, lookups={"emb.rows": f"trace({', '.join(map(str, range(24)))})"})),
        "composites": plain(Job(f"{folder}/config.json:decode", "edge_npu", parameters=parameters("llama"))),
        "a state": plain(Job(folder / "state.yaml", chip)),
        "many cores": plain(Job(tiny, "simba_chiplet", search="random")),
        "a platform": plain(Job(tiny, "tpu_v3")),
        "measured rows like it": plain(
            Job(
                "gelu",
                "a100",
                parameters={"elements": 1 << 20},
                values={"platform": "llmcompass"},
                schedule="platform",
                warm=1,
            )
        ),
        "nested networks": plain(Job(tiny, "simba")),
        "fast": plain(Job(tiny, "edge_npu", fidelity="fast", refine=2)),
        "equal blocks": plain(Job(folder / "blocks.yaml", "edge_npu", repeat="steady")),
        "groups": plain(Job(folder / "bottleneck.yaml", "edge_npu", schedule="best")),
        "layers": plain(Job(folder / "bottleneck.yaml", "edge_npu", schedule="layers")),
        "net": netted,
        "a net beside a platform": beside_platform,
        "repeated": plain(Job(tiny, "edge_npu", warm=3, repeat="steady", on_unsupported="host")),
    }


def shapes(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mapping of a document with its path, in which items of lists are ``[]``."""
    if isinstance(value, list):
        for item in value:
            yield from shapes(item, (*path, "[]"))
    elif isinstance(value, dict):
        yield ".".join(path), value
        for key, item in value.items():
            yield from shapes(item, (*path, "NAME" if ".".join(path) in FREE else key))


def cut(value: Any, path: tuple[str, ...] = ()) -> Any:
    """A document with three items of each list and of each mapping of names: its kinds of mappings are all there."""
    if isinstance(value, list):
        fixed = path[-2:] in (("links", "[]"), ("NAME", "[]"))  # an item is a list itself
        return [cut(item, (*path, "[]")) for item in (value if fixed else value[:3])]
    if not isinstance(value, dict):
        return value
    free = ".".join(path) in FREE
    return {
        key: cut(item, (*path, "NAME" if free else key)) for key, item in list(value.items())[: 3 if free else None]
    }


@pytest.mark.slow
def test_results_of_all_kinds_of_runs_are_valid(summaries: dict[str, dict[str, Any]]) -> None:
    errors = {name: [error.json_path for error in VALIDATOR.iter_errors(found)] for name, found in summaries.items()}
    assert errors == dict.fromkeys(summaries, [])


@pytest.mark.slow
def test_the_runs_show_every_key_of_the_schema(summaries: dict[str, dict[str, Any]]) -> None:
    """So that what is valid here is the whole of it: nothing in the schema that no run writes."""
    written = {f"{path}.{key}" for found in summaries.values() for path, mapping in shapes(found) for key in mapping}
    stated = {f"{path}.{key}" for path, keys in objects(SCHEMA) for key in keys}
    some = {path for path in stated if path.startswith("details.critical.")}  # causes that a layer need not have
    assert sorted(stated - some - written) == []


def objects(form: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Every object of fixed keys in the schema, by the paths of ``shapes``."""
    form = SCHEMA["$defs"]["layer"] if form.get("$ref") else form
    for option in form.get("anyOf", ()):
        yield from objects(option, path)
    if "properties" in form:
        yield ".".join(path), list(form["properties"])
        for key, inner in form["properties"].items():
            yield from objects(inner, (*path, key))
    if isinstance(form.get("additionalProperties"), dict):
        yield from objects(form["additionalProperties"], (*path, "NAME"))
    if isinstance(form.get("items"), dict):
        yield from objects(form["items"], (*path, "[]"))


@pytest.mark.slow
def test_a_key_misspelt_at_any_level_is_refused(summaries: dict[str, dict[str, Any]]) -> None:
    """Each key of each kind of mapping once, wherever the keys are words of the result."""
    tried: set[tuple[str, str]] = set()
    for found in summaries.values():
        document = cut(found)
        assert VALIDATOR.is_valid(document)
        for path, mapping in shapes(document):
            for key in [] if path in FREE else [*mapping]:
                if (path, key) not in tried:
                    tried.add((path, key))
                    value = mapping.pop(key)
                    mapping[f"~{key}"] = value
                    assert not VALIDATOR.is_valid(document), f"{path}.{key}"
                    del mapping[f"~{key}"]
                    mapping[key] = value
    assert len({path for path, _ in tried}) >= 25 and len(tried) >= 150


@pytest.mark.slow
def test_results_of_the_first_schema_are_valid_and_those_of_the_second_must_have_its_keys(
    summaries: dict[str, dict[str, Any]],
) -> None:
    found = summaries["many cores"]
    old = {key: value for key, value in deepcopy(found).items() if key not in NEW} | {"schema": FIRST_SCHEMA}
    del old["dram"]["memories"], old["mac_breakdown"]["weight_load"], old["details"]["peak_dtype_macs_per_s"]
    for row in old["time_breakdown"].values():
        del row["weight_load"]
    assert [error.json_path for error in VALIDATOR.iter_errors(old)] == []
    assert upgraded(old)["macs_array"] == old["macs"]  # which is how readers take it
    for path in (("macs_array",), ("bounds",), ("dram", "memories"), ("mac_breakdown", "weight_load")):
        wrong = deepcopy(found)
        inner = wrong if len(path) == 1 else wrong[path[0]]
        del inner[path[-1]]
        assert not VALIDATOR.is_valid(wrong), path


def test_every_key_has_a_sentence_and_every_number_a_unit() -> None:
    """Keys of mappings by cause have the meaning of the cause; those of the schema line need none."""
    for key, inner in described(SCHEMA):
        assert inner.get("description", "").split(" Unit: ")[0].endswith("."), key
        if {"integer", "number"} & types(inner) and not key.endswith("_breakdown") and "$ref" not in inner:
            assert " Unit: " in inner["description"] or inner["description"][:-1] in MEANT, key


def described(form: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of every object with what is said of it."""
    yield from _keys(form, "")
    yield from _keys(SCHEMA["$defs"]["layer"], "layers")


def _keys(form: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for key, inner in form.get("properties", {}).items():
        if key != "schema":
            yield f"{path}.{key}", inner
            yield from _keys(inner, f"{path}.{key}")
    for option in form.get("anyOf", ()):
        yield from _keys(option, path)
    for inner in (form.get("additionalProperties"), form.get("items")):
        if isinstance(inner, dict):
            yield from _keys(inner, path)


def types(form: dict[str, Any]) -> set[str]:
    """The types of a value that is no object."""
    return {form.get("type", ""), *(option.get("type", "") for option in form.get("anyOf", ()))}
