"""Weights in packed formats: their grammar, their bytes, the commands that convert them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.energy.chip import tables_for
from archsim.facts.number_formats import element_format
from archsim.frontend.load import import_model
from archsim.ir.asm.printer import print_program
from archsim.ir.check.workload import check_workload
from archsim.ir.forms.workload import workload_from_yaml, workload_to_yaml
from archsim.ir.program import Program
from archsim.ir.workload import Workload
from archsim.lab.run.computed_pairs import computed_pairs
from archsim.lab.run.estimate import estimated
from archsim.lab.run.fits import check_fit
from archsim.lab.run.job import Job, build, load_chip, prepare
from archsim.lab.run.run import execute
from archsim.spec.load import load
from mapper.analytic.estimate import estimate
from mapper.problem.formats import engine_pair, formatted
from tests.tools.counts import OWN_ACCOUNT

FLOATS = "a=fp16,acc=fp32,tables=fp16"
PRODUCT = """schema: archsim.workload/1
name: product
description: a product with a bias
source: a test
parameters: {m: 4, k: 512, n: 96}
inputs: {x: [m, k]}
layers:
  - dense: {name: fc, input: x, out: n, bias: true}
"""
PLAIN = """schema: archsim.einsums/1
name: one
batch: 1
parameters: 4096
tensors:
  x: input [2, 128]
  w: weight [32, 128] format "mxfp4"
  y: output [2, 32]
layers:
- name: fc
  op: Gemm
  kind: matmul
  dims: {m: 2, n: 32, k: 128}
  nest: m(m) n(n) k(k)
  inputs:
  - a = x(m, k) as inputs
  - b = w(n, k) as weights
  output: out = y(m, n) as outputs
"""


@pytest.mark.parametrize(
    ("text", "whole", "group", "row", "scales"),
    [
        ("int8", "int8", 1, 512, 0),
        ("int4", "int4", 2, 256, 0),
        ("fp8_e4m3", "fp8", 1, 512, 0),
        ("int4/128", "int4/128:fp16+z", 256, 256, 10),
        ("int4/32:fp16", "int4/32:fp16", 32, 256, 32),
        ("mxfp4", "fp4_e2m1/32:e8m0", 32, 256, 16),
        ("mxfp8", "fp8_e4m3/32:e8m0", 32, 512, 16),
        ("nvfp4", "fp4_e2m1/16:fp8_e4m3", 16, 256, 32),
    ],
)
def test_a_format_says_what_a_row_of_512_takes(text: str, whole: str, group: int, row: int, scales: int) -> None:
    found = element_format(text)
    assert (str(found), found.group(512), found.row_bytes(512), found.scale_bytes(512)) == (whole, group, row, scales)
    assert element_format(whole) == found


def test_rows_are_padded_to_bytes() -> None:
    """Of three elements in blocks of two, each with a scale of 16 bits and a zero of 4."""
    found = element_format("int4/2:fp16+z")
    assert (found.row_bytes(3), found.scale_bytes(3), found.group(3)) == (2, 5, 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int5", r"unknown dtype 'int5' \(did you mean 'int"),
        ("int4/128:fp17", r"no scale 'fp17' \(did you mean 'fp16'\?\)"),
        ("fp4_e2m1/32", "no scale ''; allowed e8m0"),
        ("mxfp4+z", "unknown dtype 'mxfp4\\+z'"),
        ("fp4_e2m1/32:e8m0+z", "blocks of fp4_e2m1 have no zero; allowed for integers"),
        ("int4/1", "blocks of 1; allowed 2 to 65536"),
        ("int16/32", "blocks of int16; allowed of elements of 4 and 8 bits"),
    ],
)
def test_other_texts_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        element_format(text)


def one(text: str = PLAIN) -> Workload:
    return workload_from_yaml(text.replace('"mxfp4"', '"fp4_e2m1/32:e8m0"'))


def test_a_workload_states_formats_of_weights() -> None:
    workload = one()
    check_workload(workload)
    assert workload.tensors["w"].format == "fp4_e2m1/32:e8m0"
    assert workload_from_yaml(workload_to_yaml(workload)) == workload
    split = formatted(workload, load("edge_npu"), {})
    check_workload(split)
    assert workload_from_yaml(workload_to_yaml(split)) == split
    assert split.layers[0].dims == {"m": 2, "n": 32, "k_groups": 4, "k": 32}
    assert split.tensors["w.scale"].shape == (32, 4)
    assert (split.macs, formatted(split, load("edge_npu"), {})) == (workload.macs, split)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"mxfp4"', '"mxfp5"', "tensor 'w': unknown dtype 'mxfp5'"),
        ('"mxfp4"', '"nvfp4"', "tensor 'w': format 'nvfp4'; write 'fp4_e2m1/16:fp8_e4m3'"),
        ("x: input [2, 128]", "x: input [2, 128] format int8", "'x' is of kind input and states format 'int8'"),
    ],
)
def test_the_checker_refuses_other_formats(old: str, new: str, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        check_workload(one(PLAIN.replace(old, new)))


def test_what_reads_parts_of_a_group_is_refused() -> None:
    text = PLAIN.replace("w(n, k)", "w(n, 2*k)").replace("k: 128}", "k: 64}")
    with pytest.raises(ModelError, match="layer 'fc' .* cannot read 'w' in fp4_e2m1/32:e8m0: it does not go along"):
        formatted(one(text), load("edge_npu"), {})
    assert formatted(one(text), load("edge_npu"), {"weights": "int8"}).tensors["w"].format == ""


CONV = """schema: archsim.workload/1
name: conv
description: a convolution whose filters are rows of one group each
source: a test
parameters: {c: 16}
inputs: {x: [1, c, 8, 8]}
layers:
  - conv: {name: conv, input: x, out_channels: 24, kernel: 3, pad: 1}
"""


def product(tmp_path: Path, text: str = PRODUCT) -> str:
    path = tmp_path / "product.yaml"
    path.write_text(text)
    return str(path)


def sizes(program: Program) -> dict[str, int]:
    return {tensor.name: tensor.size_bytes for tensor in program.tensors if tensor.role == "weights"}


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["edge_npu", "mtia_v2i"])
@pytest.mark.parametrize("dtype", [f"w=int4/128,{FLOATS}", "w=mxfp4", f"w=int8,{FLOATS}", "w=int4"])
def test_counts_are_those_of_the_machine(tmp_path: Path, chip: str, dtype: str) -> None:
    """Law 38 where tiles are converted: moves of packed tiles and their scales, lanes, words; weights come in once."""
    check_counts(Job(product(tmp_path), chip, dtype=dtype))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        (PRODUCT.replace("k: 512", "k: 256"), f"w=int4/128,{FLOATS}"),
        (PRODUCT.replace("k: 512", "k: 100"), f"w=int4/128,{FLOATS}"),
        (PRODUCT.replace("k: 512", "k: 256"), "w=int4/128"),
        (CONV, "w=mxfp4"),
    ],
)
def test_counts_of_rows_of_one_group(tmp_path: Path, text: str, dtype: str) -> None:
    """Their tiles have no component along the last axis, of which there is but one group."""
    check_counts(Job(product(tmp_path, text), "edge_npu", dtype=dtype))


def check_counts(job: Job) -> None:
    """The compiler's counts and the machine's are equal."""
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    mine = estimate(asked.workload, architecture, asked.options).counts
    run = execute(job)
    activity = run.result.activity
    assert activity is not None
    levels = architecture.noc.levels if architecture.noc else ()
    others = {part.name for part in (architecture.host, *levels) if part}

    def plain(counts: object) -> dict[object, int]:
        return {k: n for k, n in counts.items() if n and k[1] not in others and k[2] not in OWN_ACCOUNT}  # type: ignore[attr-defined]

    assert plain(mine) == plain(activity.counts)
    assert run.summary["workload"]["weight_bytes"] == estimated(job)["workload"]["weight_bytes"]


@pytest.mark.slow
def test_weights_take_their_bytes_and_their_scales_others(tmp_path: Path) -> None:
    """96 rows of 512: elements / 2, a scale and a zero for each 128; the bias stays as wide as sums."""
    job = Job(product(tmp_path), "edge_npu", dtype=f"w=int4/128,{FLOATS}")
    built = build(job)
    found = sizes(built.program)
    weights = 96 * 512 // 2
    assert sorted(found.values()) == [96 * 4, 96 * 4 * 20 // 8, weights]
    packed = next(name for name, size in found.items() if size == weights)
    assert found[f"{packed}.scale"] == 96 * 4 * 20 // 8
    commands = str(built.program)
    assert "convert_b" in commands and "MATMUL" in commands
    facts = execute(job).summary["workload"]
    assert facts["weight_bytes"] == sum(found.values())


@pytest.mark.slow
def test_macs_are_priced_at_the_pair_that_the_array_computes_in(tmp_path: Path) -> None:
    """int8 x mxfp4 at bf16 with sums of fp32, the registers and wires too; in the run, its estimate and its Program."""
    job = Job(product(tmp_path), "edge_npu", dtype="w=mxfp4")
    chip, built, run = load_chip(job), build(job), execute(job)
    assert computed_pairs(built) == {"fc": ("bf16", "bf16")}
    tables = tables_for(chip, {"inputs": "bf16", "weights": "bf16", "accumulate": "fp32"})
    array, activity = chip.arrays[0].name, run.result.activity
    assert activity is not None
    spent = {action: n for (_, part, action), n in activity.counts.items() if part == array}
    dynamic_j = sum(n * tables.pj(array, action) for action, n in spent.items()) * 1e-12
    standing_j = tables_for(chip).parts[array].leakage_w * activity.total_ps * 1e-12
    found = run.summary["energy_breakdown_j"][array]
    assert spent["mac"] and found == pytest.approx(dynamic_j + standing_j)
    assert estimated(job)["energy_breakdown_j"][array] == pytest.approx(found, rel=0.1)  # time alone costs much
    assert f"{array}.energy.mac bf16xbf16" in run.result.sources
    text = tmp_path / "product.asm"
    text.write_text(print_program(built.program))
    assert execute(Job(str(text), "edge_npu")).summary["energy_breakdown_j"][array] == pytest.approx(found)


def test_a_packed_format_holds_for_products_inside(tmp_path: Path) -> None:
    """Not for the table of embeddings, norms, and the product that gives the logits."""
    workload = import_model("llama3_8b:decode").workload
    split = formatted(workload, load("a100"), {"weights": "int4/128"})
    stated = {name for name, tensor in split.tensors.items() if tensor.format == "int4/128:fp16+z"}
    assert len(stated) == 7 * 32
    assert not {"lm_head.weight", "model.embed_tokens.weight", "model.norm.weight"} & stated


def test_pairs_hold_both_factors() -> None:
    """int8 x mxfp4 is computed in bf16, fp16 x int4/128 in fp16; what no rate holds is named with the rates."""
    chip = load("edge_npu")
    for asked, pair in (({}, ("bf16", "bf16")), ({"inputs": "fp16", "weights": "int4/128"}, ("fp16", "fp16"))):
        split = formatted(one(), chip, asked)
        assert engine_pair(split.layers[0], split, chip, {**chip.dtypes, **asked}) == pair
    gpu = load("a100")
    with pytest.raises(ConfigError, match="no rate for fp16 inputs x fp4_e2m1/32:e8m0 .* there are: bf16, fp16, int8"):
        engine_pair(one().layers[0], one(), gpu, gpu.dtypes)


def test_what_fits_is_judged_in_the_format_timed(tmp_path: Path) -> None:
    """A square of 2^16 takes 8 GiB in fp16, and 2.2 GB in int4/128 with its scales."""
    path = tmp_path / "square.yaml"
    path.write_text(PRODUCT.replace("k: 512, n: 96", "k: 65536, n: 65536"))
    workload, chip = import_model(str(path)).workload, load("edge_npu")
    asked = {"inputs": "fp16", "outputs": "fp16", "accumulate": "fp32", "tables": "fp16", "kv": "fp16"}
    with pytest.raises(ConfigError, match="all weights: needs 8,590,196,736 bytes in 'dram'"):
        check_fit(workload, chip, {**asked, "weights": "fp16"}, chip, {})
    check_fit(workload, chip, {**asked, "weights": "int4/128"}, chip, {})


def test_what_is_quantised_is_said_of_what_has_no_format_of_its_own(tmp_path: Path) -> None:
    said = "the model is float32; but for weights in a format of their own it is timed as int8 (quantised), the chip's"
    assert [text for text in build(Job(product(tmp_path), "edge_npu", dtype="w=mxfp4")).warnings if said in text]
    assert not [text for text in build(Job(product(tmp_path), "edge_npu")).warnings if "of their own" in text]


def test_other_roles_have_plain_formats() -> None:
    for text, name in (("a=mxfp4", "mxfp4"), ("a=int4", "int4"), ("int4", "int4"), ("kv=int4/128", "int4/128")):
        with pytest.raises(ConfigError, match=f"--dtype: '{name}' is packed; allowed for weights"):
            build(Job("gemm_4096", "edge_npu", dtype=text))


def test_known_formats_are_named_once() -> None:
    with pytest.raises(ConfigError) as caught:
        element_format("int5")
    known = str(caught.value).partition("known: ")[2].split(", ")
    assert {"int4", "fp8_e4m3", "mxfp4", "nvfp4"} < set(known)
    assert len(known) == len(set(known))
