"""JSON Schemas for editors: files that are shipped are valid, misspelt keys are not; and they follow the definition."""

from __future__ import annotations

import json
from contextlib import nullcontext
from copy import deepcopy
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from archsim.base.errors import ConfigError
from archsim.cli.app import main
from archsim.frontend.workload_yaml.entries import ALL_KINDS
from archsim.frontend.workload_yaml.grammar import SECTIONS
from archsim.ir.forms.fields import to_yaml
from archsim.ir.text import mapping_from_yaml
from archsim.lab.files import schemas
from archsim.lab.run.job import Job
from archsim.lab.run.run import execute
from archsim.lab.sweep.cluster_form import read as read_cluster
from archsim.spec.nodes import parse, read
from archsim.spec.schema import PARTS
from tests.tools.mutation_seeds import CLUSTER, seeds
from tests.unit.fixtures_groups import IN_A_ROW

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
FOLDERS = {
    "chip": "configs/accelerators",
    "technology": "configs/technology",
    "dram_energy": "configs/dram",
    "link": "configs/links",
    "scenario": "configs/scenarios",
    "workload": "configs/workloads",
    "sweep": "studies/sweeps",
}
FILES = [(kind, path) for kind, folder in FOLDERS.items() for path in sorted((ROOT / folder).glob("*.yaml"))]
FILES += [(kind, GOLDEN / f"{kind}.yaml") for kind in ("chip", "scenario", "sweep", "workload", "mapping")]


@cache
def validator(kind: str) -> Draft202012Validator:
    """Of one kind of file; made when first asked for, since collecting tests should cost next to nothing."""
    schema = json.loads(schemas.schema(kind))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def plain(value: Any) -> Any:
    """As an editor reads it: decimals are numbers."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


def mappings(value: Any) -> list[dict[str, Any]]:
    """Every mapping in a document whose keys are words of the grammar."""
    if isinstance(value, list):
        return [found for item in value for found in mappings(item)]
    return [value, *(found for item in value.values() for found in mappings(item))] if isinstance(value, dict) else []


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda value: value if isinstance(value, str) else value.stem)
def test_every_file_that_is_shipped_is_valid(kind: str, path: Path) -> None:
    errors = [
        f"{list(error.absolute_path)}: {error.message[:200]}"
        for error in validator(kind).iter_errors(plain(read(path).plain()))
    ]
    assert errors == []


@pytest.mark.parametrize("kind", [*FOLDERS, "mapping"])
def test_a_misspelt_key_is_refused(kind: str) -> None:
    """At the top of a file, and in each mapping whose keys are the grammar's own."""
    path = next(path for found, path in FILES if found == kind)
    document = plain(read(path).plain())
    wrong = deepcopy(document)
    wrong["descripton"] = wrong.pop("description", "x")
    assert not validator(kind).is_valid(wrong)
    refused = 0
    for number in range(len(mappings(document))):
        wrong = deepcopy(document)
        mappings(wrong)[number]["misspelt_key"] = 1
        refused += not validator(kind).is_valid(wrong)
    assert refused >= len(mappings(document)) / 2  # names of streams, sources, axes and parameters are free


WRONG_AXES: list[object] = [
    [], "1 KiB", {}, {"log2": ["1 KiB"]}, {"log2": ["1 KiB", "2 KiB", "4 KiB"]}, {"log2": [1, 2], "steps": 2},
    {"range": [1, 2]}, {"range": [1, 2], "steps": 1}, {"range": [1], "steps": 3}, {"steps": 3},
]  # fmt: skip
RIGHT_AXES: list[object] = [["1 KiB", 2, True, [8, 8]], {"log2": ["1 KiB", "1 MiB"]}, {"range": [1, 2], "steps": 2}]


@pytest.mark.parametrize("axis", RIGHT_AXES, ids=str)
def test_every_form_of_an_axis_is_valid(axis: object) -> None:
    path = next(path for found, path in FILES if found == "sweep")
    assert validator("sweep").is_valid({**plain(read(path).plain()), "axes": {"l1.size": axis}})


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("chip", "clock", 3),
        ("chip", "clock", "3 rocket"),
        ("sweep", "name", "../x"),
        ("sweep", "fidelity", "exakt"),
        *(("sweep", "axes", {"l1.size": axis}) for axis in WRONG_AXES),
        ("scenario", "streams", []),
        ("technology", "voltage_v", {"value": -1, "source": "x"}),
        ("link", "lanes", 0),
        ("workload", "layers", [{"conv": {"kernel": 3, "strid": 2}}]),
        ("workload", "layers", [{"convv": {"kernel": 3}}]),
    ],
)
def test_wrong_values_are_refused(kind: str, key: str, value: object) -> None:
    path = next(path for found, path in FILES if found == kind)
    document = plain(read(path).plain())
    assert validator(kind).is_valid(document)
    assert not validator(kind).is_valid({**document, key: value})


def test_a_chip_that_extends_another_may_leave_keys_out() -> None:
    assert validator("chip").is_valid({"name": "x", "extends": "edge_npu", "hierarchy": [{"sram": {"name": "l1"}}]})
    assert not validator("chip").is_valid({"name": "x", "extends": "edge_npu", "hierarchy": [{"srm": {"name": "l1"}}]})
    assert not validator("chip").is_valid({"name": "x"})


def test_parts_and_entries_are_those_of_the_definition() -> None:
    chip = json.loads(schemas.schema("chip"))
    kinds = chip["else"]["properties"]["hierarchy"]["items"]["properties"]
    assert set(kinds) == {*PARTS, "parallel"}
    assert set(SECTIONS) == set(ALL_KINDS)


def test_the_summary_of_a_run_is_valid_and_a_key_too_many_is_not(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text("Layer,M,N,K,\nfc,4,4,4,\n", encoding="utf-8")
    summary = json.loads(json.dumps(execute(Job(tmp_path / "tiny.csv", GOLDEN / "chip.yaml")).summary))
    assert [error.message for error in validator("result").iter_errors(summary)] == []
    assert not validator("result").is_valid({**summary, "latncy_s": 1})
    of_a_listing = {key: value for key, value in summary.items() if key != "per_sample"}  # whose batch nobody knows
    assert validator("result").is_valid(of_a_listing)
    assert not validator("result").is_valid({key: value for key, value in summary.items() if key != "latency_s"})


SLURM = plain(parse(CLUSTER).plain())
EXPORTED = plain(parse(seeds("mapping")["exported"].decode()).plain())
GROUPS = plain(parse(IN_A_ROW).plain())
GROUP = GROUPS["groups"][0]
LOCAL = {"kind": "local", "workers": 4, "dashboard": ":8787"}


@pytest.mark.parametrize(
    ("kind", "document", "wrong"),
    [
        ("cluster", SLURM, {"jobs": 0}),
        ("cluster", SLURM, {"kind": "slrm"}),
        ("cluster", SLURM, {"memory": 64}),
        ("cluster", SLURM, {"walltime": "4 GiB"}),
        ("cluster", SLURM, {"directives": ["a\nb"]}),
        ("cluster", SLURM, {"queu": "x"}),
        ("cluster", LOCAL, {"memory": "4 GiB"}),
        ("cluster", LOCAL, {"dashboard": "here"}),
        ("mapping", EXPORTED, {"schema": "archsim.mapping/3"}),
        ("mapping", EXPORTED, {"placements": ["x in dram"]}),
        ("mapping", EXPORTED, {"layers": [{**EXPORTED["layers"][0], "kind": "matmult"}]}),
        ("mapping", EXPORTED, {"layers": [{**EXPORTED["layers"][0], "nodes": [{"loop": "h", "tiles": 5}]}]}),
        ("mapping", EXPORTED, {"layers": [{**EXPORTED["layers"][0], "nodes": [{"keep": "a", "in": "l1"}]}]}),
        ("mapping", EXPORTED, {"constraints": [{"layers": "n*"}]}),
        ("mapping", EXPORTED, {"constraints": [{"layers": "n*", "tiles": {"k": 0}}]}),
        ("mapping", GROUPS, {"groups": [{**GROUP, "tiles": 2}]}),
        ("mapping", GROUPS, {"groups": [{**GROUP, "shared": [{"loop": "three.p"}]}]}),
        ("mapping", GROUPS, {"groups": [{**GROUP, "windows": [{"tensor": "one", "in": "l1"}]}]}),
        ("mapping", GROUPS, {"groups": [{**GROUP, "members": [{"layer": "one", "ahead": -1}]}]}),
    ],
)
def test_what_a_parser_refuses_its_schema_refuses(kind: str, document: Any, wrong: dict[str, Any]) -> None:
    """Of files whose keys are tables: both take the one, neither the other."""
    reader: Any = read_cluster if kind == "cluster" else mapping_from_yaml
    for taken, found in ((True, document), (False, {**document, **wrong})):
        assert validator(kind).is_valid(found) is taken
        with nullcontext() if taken else pytest.raises(ConfigError):
            reader(to_yaml(found))


def test_keys_of_clusters_and_mappings_have_their_meanings() -> None:
    for kind in ("cluster", "mapping"):
        text = schemas.schema(kind)
        forms = [found for found in mappings(json.loads(text)) if found.get("additionalProperties") is False]
        assert len(forms) >= 2
        for form in forms:
            assert all(len(key["description"]) > 9 for key in form["properties"].values())


def test_show_schema_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["show", "schema", "sweep"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out) == json.loads(schemas.schema("sweep"))
    assert {json.loads(schemas.schema(name))["title"] for name in schemas.names()} == {
        f"archsim {name}" for name in schemas.names()
    }
    assert all(len(about) > 9 for about in schemas.names().values())
    with pytest.raises(ConfigError, match="no schema 'chp' .did you mean 'chip'"):
        schemas.schema("chp")
