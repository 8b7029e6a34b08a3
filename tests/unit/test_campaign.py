"""A sample of the campaign of mutants (tests/tools/campaign.py): refusals are in words, and of YAML with a place."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from archsim.base.errors import ArchsimError, ConfigError, ModelError, ProgramError
from archsim.frontend.load import import_model
from archsim.ir.asm.magnitudes import MOST_COMMANDS
from archsim.ir.asm.parser import parse_program
from archsim.lab.files.check_files import check_file
from tests.tools import campaign
from tests.tools.mutation_seeds import GOLDEN, KINDS, SUFFIX, beside, seeds
from tests.tools.mutations import mutated

PROGRAM = (GOLDEN / "program.asm").read_text(encoding="utf-8")


def test_a_sample_of_mutants_is_accepted_or_refused_in_words() -> None:
    found = campaign.campaign(10 * len(KINDS), seed=11)
    assert [example for tally in found.values() for example in tally.examples] == []
    assert sum(tally.counts["refused"] for tally in found.values()) > 5 * len(KINDS)


def test_equal_seeds_give_equal_mutants() -> None:
    for kind in KINDS:
        data = next(iter(seeds(kind).values()))
        assert mutated(kind, data, random.Random(3)) == mutated(kind, data, random.Random(3))
        assert any(mutated(kind, data, random.Random(seed)) != data for seed in range(3))


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_mutants_are_made_of_are_good(kind: str, tmp_path: Path) -> None:
    for name, data in beside().items():
        (tmp_path / name).write_bytes(data)
    for name, data in seeds(kind).items():
        path = tmp_path / f"seed{SUFFIX.get(kind, '.yaml')}"
        path.write_bytes(data)
        try:
            campaign.judge(kind, path)
        except ArchsimError as error:
            assert name.startswith("broken"), error


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", ":1:1: empty; allowed a mapping"),
        (b"schema: x\nname: \xff\n", ":2:7: not UTF-8 text (byte 16)"),
        (b"schema: x\nname: a\x1bb\n", ":2:8: not YAML: unacceptable character #x001b"),
        (b"name: x\n", ":1:1: schema: found 'nothing'; allowed archsim.chip/1"),
        (b"a: 1\n" * 300_000, "more than 1048576 bytes; allowed files of at most 1 MiB"),
    ],
)  # fmt: skip
def test_files_that_are_no_yaml_have_a_place_too(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as error:
        check_file(path)
    assert said in str(error.value)
    assert str(error.value).startswith(f"{path}:")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[1, 12, 12, 8]", "[1, 0, 12, 8]", "tensors.x: tensor 'x' has shape"),
        (
            "op: Conv\n  kind: matmul\n  dims: {h: 12,",
            "op: Conv\n  kind: matmul\n  dims: {h: 0,",
            "layers[0]: layer 'conv1'",
        ),
    ],
)
def test_what_is_wrong_with_a_workload_has_its_place(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = (GOLDEN / "workload.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "w.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelError) as error:
        check_file(path)
    assert said in str(error.value)
    assert str(error.value).startswith(f"{path}:")


def test_numbers_of_a_program_are_bounded_before_they_are_worked_with() -> None:
    first = next(line for line in PROGRAM.split("\n") if line.strip().startswith("for "))
    trips = first.split(" in ")[1].split(":")[0]
    for number, said in (
        (MOST_COMMANDS + 1, "commands; allowed at most 16,777,216"),
        (10**30, "its numbers reach 10^30"),
    ):
        text = PROGRAM.replace(first, first.replace(f" in {trips}:", f" in {number}:"))
        with pytest.raises(ProgramError, match=said.replace("^", r"\^")):
            parse_program(text)
    with pytest.raises(ProgramError, match=r"tensor 'x': its numbers reach 10\^40"):
        parse_program(PROGRAM.replace("bytes 1152", f"bytes {10**40}", 1))
    with pytest.raises(ProgramError, match="powers of other numbers than 0"):
        parse_program(PROGRAM.replace("role inputs", "scale 0^-1 role inputs", 1))


def test_a_name_that_no_file_can_have_is_no_such_file(tmp_path: Path) -> None:
    for name in ("x" * 5000, "a\x00b"):
        with pytest.raises(ModelError, match="no such file"):
            import_model(tmp_path / f"{name}.onnx")
        with pytest.raises(ConfigError, match="no such file"):
            check_file(tmp_path / f"{name}.yaml")


def test_indices_of_any_size_are_no_arrays(tmp_path: Path) -> None:
    """A look-up by 2^32 indices is judged at once; by a view of so many it is refused: they are followed one by one."""
    model = onnx.load_from_string(seeds("onnx")["gather"])
    dims = model.graph.input[0].type.tensor_type.shape.dim
    dims[0].dim_value, dims[1].dim_value = 2**31, 2
    onnx.save(model, tmp_path / "rows.onnx")
    assert import_model(tmp_path / "rows.onnx").workload.layers[0].dims
    shape = numpy_helper.from_array(np.array([2, 2**31]), "turned")
    model.graph.initializer.append(shape)
    model.graph.node.insert(0, helper.make_node("Reshape", ["x", "turned"], ["ids"], name="turn"))
    model.graph.node[1].input[1] = "ids"
    onnx.save(model, tmp_path / "view.onnx")
    with pytest.raises(ModelError, match="its elements are those of 'x', which has 4,294,967,296; at most 16,777,216"):
        import_model(tmp_path / "view.onnx")
