"""What is said of files that are wrong in several places, or that are something else than they are taken for."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from archsim.base.errors import ConfigError, ModelError
from archsim.base.progress import COMPILING
from archsim.cli.app import app
from archsim.lab.files.check_files import check_file
from archsim.lab.sweep.axis import axis
from archsim.lab.sweep.form import read
from archsim.lab.sweep.resolve import resolve
from archsim.spec.nodes import parse
from tests.tools.commands import GOLDEN, ROOT

SWEEP = "name: s\nchip: edge_npu\nmodels: {models}\naxes: {axes}\nobjectives: [{goals}]\n"


def sweep(models: str = "[eye_tracking]", axes: str = "{l1.banks: [4, 8]}", goals: str = "latency_s") -> str:
    return SWEEP.format(models=models, axes=axes, goals=goals)


def places(error: pytest.ExceptionInfo[ConfigError]) -> list[str]:
    return re.findall(r"^\s*(?:\S*?)(\d+:\d+): ", str(error.value), re.MULTILINE)


def test_all_problems_of_a_sweeps_form_at_once() -> None:
    text = sweep("[]", "{clock: {range: [1 GHz], steps: 1, stp: 4}, l1.banks: []}", "") + "fidelty: fast\n"
    with pytest.raises(ConfigError) as caught:
        read(text, "s.yaml")
    assert str(caught.value).startswith("7 problems:\n")
    assert places(caught) == ["3:1", "4:16", "4:32", "4:42", "4:51", "5:1", "6:1"]
    found = [str(caught.value).count(said) for said in ("[low, high]", "2 to 10000", "stp: unknown", "one value or")]
    assert found == [1, 1, 1, 1]


def test_all_problems_of_what_a_sweep_names_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(sweep("[eye_trackin]", "{l1.sise: [1 MiB], l1.size: [1, 2 MiB, 3], clock: [1 GHz, 1 GHz]}"))
    with pytest.raises(ConfigError) as caught:
        resolve(path)
    assert places(caught) == ["3:10", "4:8", "4:26", "4:26", "4:50"]


def test_a_problem_alone_is_said_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(sweep("[broken.onnx]"))
    (tmp_path / "broken.onnx").write_bytes(b"x")
    with pytest.raises(ModelError, match=r"s\.yaml:3:10: models\[0\]: .*broken\.onnx"):
        resolve(path)


@pytest.mark.parametrize(
    ("stated", "values", "rounded"),
    [
        ("{range: [0.8 GHz, 1 GHz], steps: 3}", ("0.8 GHz", "0.9 GHz", "1 GHz"), 0),
        ("{range: [0.8 GHz, 1 GHz], steps: 4}", ("0.8 GHz", "0.866666667 GHz", "0.933333333 GHz", "1 GHz"), 2),
        ("{range: [1 Hz, 2 Hz], steps: 3}", ("1 Hz", "2 Hz", "2 Hz"), 1),  # of two that are as near the even one
        ("{log2: [100.0000000005 MHz, 300 MHz]}", ("100 MHz", "200.000000 MHz", "200.000000001 MHz"), 2),
        ("{range: [1 MiB, 2 MiB], steps: 4}", ("1 MiB", "4/3 MiB", "5/3 MiB", "2 MiB"), 0),  # bytes are not rounded
        ("{range: [1, 2], steps: 3}", (1, "1.5", 2), 0),
    ],
)
def test_steps_of_a_clock_are_whole_hertz(stated: str, values: tuple[object, ...], rounded: int) -> None:
    found = axis("clock", parse(f"clock: {stated}", "s").mapping["clock"], "axes.clock")
    if stated.startswith("{log2"):
        assert all((Fraction(str(v).split()[0]) * 10**6).denominator == 1 for v in found.values)
    else:
        assert found.values == values
    assert len(found.rounded) == rounded


def test_rounded_steps_are_named_once_and_simulated(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(sweep(axes="{clock: {range: [0.8 GHz, 1 GHz], steps: 4}}"))
    note = (
        f"{path}:4:8: axes.clock: steps are rounded to whole hertz: 0.866666666667... GHz is 0.866666667 GHz, "
        "0.933333333333... GHz is 0.933333333 GHz"
    )
    assert check_file(path) == f"sweep 's' of chip 'edge_npu', 4 points of 1 models; {note}"
    done = CliRunner().invoke(app, ["sweep", str(path), "--dry-run", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0 and done.stderr == f"note: {note}\n"


@pytest.mark.parametrize("kind", ["dram", "sram", "array", "dma", "host"])
def test_a_part_at_the_top_of_a_chip_is_told_where_it_belongs(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"schema: archsim.chip/1\nextends: edge_npu\nname: c\n{kind}: {{name: x}}\n")
    with pytest.raises(ConfigError) as caught:
        check_file(path)
    said = f"{path}:4:1: {kind}: '{kind}' does not stand here; a part stands in the list 'hierarchy', outermost first"
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("file", "kind", "called"),
    [
        ("technology/7nm", "technology", "a technology table"),
        ("dram/ddr4", "dram_energy", "an energy table of a DRAM standard"),
        ("dram/lpddr4x", "dram_energy", "an energy table of a DRAM standard"),
        ("links/nvlink3", "link", "a link between chips"),
    ],
)
def test_a_table_without_its_schema_is_no_chip(tmp_path: Path, file: str, kind: str, called: str) -> None:
    text = (ROOT / "configs" / f"{file}.yaml").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^schema: archsim\.{kind}/\d$", text, flags=re.MULTILINE)
    path = tmp_path / "t.yaml"
    for changed in ("", "extends: 7nm\n"):
        path.write_text(re.sub(r"^schema: .*\n", changed, text, flags=re.MULTILINE), encoding="utf-8")
        with pytest.raises(ConfigError) as caught:
            check_file(path)
        said = f"schema: missing; the file looks like {called}: add the line '{line}'"
        assert str(caught.value).endswith(said)
    path.write_text(f"{line}\n" + re.sub(r"^schema: .*\n", "", text, flags=re.MULTILINE))
    assert check_file(path)


def test_a_chip_without_a_schema_is_one(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("extends: edge_npu\nname: c\nclock: 1 GHz\n")
    assert check_file(path).startswith("chip 'c'")


@pytest.mark.parametrize(
    ("streams", "said"),
    [
        ("[a]", "4:1: streams: found a list of 1; allowed names of streams, each with its model and rate, such as "
         "{eye: {model: eye_tracking, rate: 60 Hz}}"),
        ("{eye: eye_tracking}", "4:11: streams.eye: found 'eye_tracking'; allowed a mapping with the keys model, rate, "
         "deadline, offset, batch, parameters, dtype, source, such as {model: eye_tracking, rate: 60 Hz}"),
    ],
)  # fmt: skip
def test_wrong_streams_are_told_by_an_example(tmp_path: Path, streams: str, said: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"schema: archsim.scenario/1\nname: x\nsource: by definition\nstreams: {streams}\n")
    with pytest.raises(ConfigError) as caught:
        check_file(path)
    assert str(caught.value) == f"{path}:{said}"


@pytest.mark.parametrize("extra", [(), ("--layer", "first"), ("--explain", "first")])
def test_map_shows_what_the_compiler_warns_of(tmp_path: Path, extra: tuple[str, ...]) -> None:
    model = tmp_path / "one.csv"
    model.write_text("Layer,H,W,R,S,C,K,stride\nfirst,8,8,1,1,8,8,1\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["map", str(model), "--on", str(GOLDEN / "chip.yaml"), *extra])
    assert done.exit_code == 0
    said = done.stderr.removeprefix(f"{COMPILING}\n")  # --explain's kernels, where nobody has used them yet
    assert said == "warning: the model is float32; it is timed as int8 (quantised), the chip's dtype\n"
