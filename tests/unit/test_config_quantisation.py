"""``quantization_config`` of a config.json: which weights have which format, and what is refused by name."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from archsim.base.errors import ModelError
from archsim.frontend.load import import_model
from archsim.ir.workload import Workload
from archsim.lab.run.job import Job
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.spec.load import load
from mapper.problem.formats import formatted
from tests.tools.small_transformers import SMALL, parameters

MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.mlp.router", "lm_head"]}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": True, "damp_percent": 0.1}
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": False, "version": "gemm"}


def written(folder: Path, family: str, **fields: Any) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps({**SMALL[family], **fields}))
    return str(path)


def read(folder: Path, family: str, quantised: dict[str, Any]) -> Workload:
    return import_model(written(folder, family, quantization_config=quantised), parameters=parameters(family)).workload


def stated(workload: Workload) -> dict[str, int]:
    return Counter(tensor.format for tensor in workload.tensors.values() if tensor.format)


def test_experts_of_gpt_oss_are_mxfp4(tmp_path: Path) -> None:
    """Two products of each expert that has tokens, nothing else."""
    workload = read(tmp_path, "gpt_oss", MXFP4)
    names = [name for name, tensor in workload.tensors.items() if tensor.format]
    assert set(stated(workload)) == {"fp4_e2m1/32:e8m0"}
    assert names and all(".experts." in name and name.endswith("_proj.weight") for name in names)


def test_the_named_model_has_its_formats() -> None:
    """A token goes to 4 experts in each of 24 layers; each row of 2880 has a scale for 32 elements."""
    workload = import_model("gpt_oss_20b:decode").workload
    assert stated(workload) == {"fp4_e2m1/32:e8m0": 24 * 4 * 2}
    timed = formatted(workload, load("mtia_v2i"), {})
    scales = [timed.tensors[f"{name}.scale"] for name, tensor in workload.tensors.items() if tensor.format]
    assert {tensor.shape for tensor in scales} == {(5760, 90), (2880, 90)}
    assert timed.macs == workload.macs


@pytest.mark.parametrize(
    ("quantised", "text"),
    [
        (GPTQ, "int4/32:fp16+z"),
        ({**GPTQ, "bits": 8}, "int8/32:fp16+z"),
        (AWQ, "int4/64:fp16"),
        ({"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}, "fp8"),
    ],
)
def test_products_of_a_llama_but_the_last(tmp_path: Path, quantised: dict[str, Any], text: str) -> None:
    workload = read(tmp_path, "llama", quantised)
    assert stated(workload) == {text: 7 * SMALL["llama"]["num_hidden_layers"]}
    assert workload.tensors["lm_head.weight"].format == ""


def test_modules_are_left_out_by_pattern(tmp_path: Path) -> None:
    workload = read(tmp_path, "llama", {**AWQ, "modules_to_not_convert": ["model.layers.*.self_attn", "up_proj"]})
    assert stated(workload) == {"int4/64:fp16": 2 * SMALL["llama"]["num_hidden_layers"]}


@pytest.mark.parametrize(
    ("family", "quantised", "said"),
    [
        ("llama", MXFP4, "no product of the model has weights in its format, fp4_e2m1/32:e8m0"),
        ("llama", {**AWQ, "modules_to_not_convert": ["model"]}, "no product of the model has weights in its format"),
        ("llama", {"quant_method": "fp8", "activation_scheme": "static"}, "activation_scheme 'static' is not timed"),
        ("llama", {"quant_method": "fp8"}, ""),
        ("gpt_oss", MXFP4, ""),
    ],
)
def test_what_changes_nothing_is_said_once(tmp_path: Path, family: str, quantised: dict[str, Any], said: str) -> None:
    """A format that holds for no weights, and activations that are quantised in the file."""
    found = [text for text in read(tmp_path, family, quantised).warnings if text.startswith("quantization_config")]
    assert [said in text for text in found] == [True] * bool(said)


@pytest.mark.parametrize(
    ("quantised", "said"),
    [
        (
            {"quant_method": "fp8", "activation_scheme": "some"},
            "'quantization_config.activation_scheme': found \"some\"",
        ),
        ({**GPTQ, "activation_scheme": "static"}, "'quantization_config.activation_scheme' is not known here"),
        ({"bits": 4}, "key 'quantization_config.quant_method' is missing"),
        ({"quant_method": "gtpq"}, "'quantization_config.quant_method': found \"gtpq\"; .*did you mean 'gptq'"),
        ({**GPTQ, "bits": 3}, "'quantization_config.bits': found 3; allowed 4 or 8"),
        ({**GPTQ, "group_size": -1}, "'quantization_config.group_size': found -1; allowed a whole number from 2"),
        ({**GPTQ, "desc_act": True}, "'quantization_config.desc_act': found true; allowed false: groups follow"),
        (
            {**AWQ, "modules_to_not_convert": "all"},
            "'quantization_config.modules_to_not_convert': found \"all\"; allowed a",
        ),
        ({**AWQ, "bit": 4}, "'quantization_config.bit' is not known here"),
        (
            {"quant_method": "fp8", "weight_block_size": [128, 128]},
            "'quantization_config.weight_block_size' has blocks of 128 x 128 elements that share a scale",
        ),
    ],
)
def test_what_has_no_format_is_refused(tmp_path: Path, quantised: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        read(tmp_path, "llama", quantised)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "quantised"), [("gpt_oss", MXFP4), ("llama", GPTQ)])
def test_a_small_model_is_verified(tmp_path: Path, family: str, quantised: dict[str, Any]) -> None:
    """In the model's own formats, beside int8 activations on a chip with bf16, and floats."""
    path = written(tmp_path, family, quantization_config=quantised)
    dtype = None if quantised is MXFP4 else "a=fp16,acc=fp32,tables=fp16"
    job = Job(f"{path}:decode", "edge_npu", dtype=dtype, parameters=parameters(family))
    checks = verify(VerifyOptions(job, numbers="float")).checks
    assert [(check.problem, check.passed) for check in checks] == [("", True)]
