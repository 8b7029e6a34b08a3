"""What a chip cannot run is said before anything is searched, with the layer and the line to paste."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.cli.app import main
from archsim.lab.run.fits import check_fit
from archsim.lab.run.job import Job, build
from archsim.spec.load import load
from mapper.problem.cuts import _counts
from mapper.problem.feasibility import MOST_EXTENT, UnfitError
from mapper.search import exhaustive

HEAD = "schema: archsim.workload/1\nname: w\nsource: a test\ninputs: {x: [1, 4, 65536, SIDE]}\nlayers:\n"


@pytest.fixture(autouse=True)
def unsearched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may come to a search."""

    def search(*_: object) -> None:
        raise AssertionError("a search began")

    monkeypatch.setattr(exhaustive, "search", search)


def refused(tmp_path: Path, layers: str, match: str, chip: str = "edge_npu", side: int = 4, **options: object) -> str:
    path = tmp_path / "w.yaml"
    path.write_text(HEAD.replace("SIDE", str(side)) + layers)
    with pytest.raises(UnfitError, match=match) as caught:
        build(Job(str(path), chip, **options))  # type: ignore[arg-type]
    return str(caught.value)


def test_sizes_come_before_the_search(tmp_path: Path) -> None:
    """An image of 2^31 pixels a side, a matrix larger than the memory, weights that do not fit together."""
    image = "  - conv: {name: c, out_channels: 1, kernel: 1}\n"
    refused(tmp_path, image, r"layer 'c' \(Conv\): dim 'q' of 2,147,483,648; allowed up to 1,073,741,824", side=2**31)
    refused(tmp_path, image, r"layer 'c' \(Conv\): tensor 'x' of .* needs 17,179,869,184 bytes", side=2**16)
    wide = "  - gemm: {name: g, m: 16, n: 1048576, k: 65536}\n"
    said = refused(tmp_path, wide, r"layer 'g' \(Gemm\): tensor 'g.weights' of .* needs 68,719,476,736 bytes in 'dram'")
    assert "which has 8,589,934,592. Write into 'dram', at" in said and "capacity: 64 GiB" in said
    many = "".join(f"  - gemm: {{name: g{n}, m: 16, n: 65536, k: 65536}}\n" for n in range(3))
    refused(tmp_path, many, "all weights: needs 12,884,901,888 bytes", values={})


def test_what_is_pasted_is_taken(tmp_path: Path) -> None:
    """Three functions that the unit lacks are one line, at its place; the chip with that line runs the model."""
    text = load_text("edge_npu").replace("functions: {exp", "functions: {nothing: 1, was_exp")
    chip = tmp_path / "mine.yaml"
    chip.write_text(text)
    model = "  - conv: {name: c, out_channels: 1, kernel: 1}\n  - softmax: {name: s}\n"
    said = refused(tmp_path, model, r"layer 's' \(Softmax\) needs 'exp'", str(chip))
    line = said.rpartition("\n")[2].strip()
    place = said.partition(", at ")[2].partition(":\n")[0]
    number = int(place.split(":")[-2])
    rows = text.splitlines()
    assert place.startswith(str(chip)) and "functions:" in rows[number - 1]
    rows[number - 1] = rows[number - 1].partition("functions:")[0] + line
    chip.write_text("\n".join(rows))
    from archsim.frontend.load import load_model

    check_fit(load_model(tmp_path / "w.yaml"), load(chip), {}, str(chip), {})


def load_text(name: str) -> str:
    from archsim.spec.locate import config_files

    return Path(config_files("accelerators")[name]).read_text()


def test_formats_without_a_rate_name_layer_and_line(tmp_path: Path) -> None:
    model = "  - gemm: {name: g, m: 4, n: 4, k: 4}\n  - gemm: {name: h, m: 4, n: 4, k: 4}\n"
    found = refused(tmp_path, model, r"layer 'g' \(Gemm\) and 1 more: array 'mxu' has no rate", dtype="fp32")
    assert "Write into 'mxu'" in found and "fp32: 1/2}  # MACs per PE and cycle" in found
    chip = tmp_path / "narrow.yaml"
    text = load_text("edge_npu").replace("bf16: 32, int32", "int32")
    chip.write_text(text)
    found = refused(tmp_path, model, "and 1 more: vector unit 'vpu' has no lanes for bf16", str(chip), dtype="bf16")
    assert "bf16: 32}  # elements per cycle" in found and f"{chip}:" in found


def test_a_chip_without_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(HEAD.replace("SIDE", "4") + "  - gemm: {name: g, m: 4, n: 4, k: 4}\n")
    from dataclasses import replace

    from archsim.frontend.load import load_model

    bare = replace(load("edge_npu"), vectors=())
    with pytest.raises(UnfitError, match=r"layer 'g' \(Gemm\): needs a vector unit"):
        check_fit(load_model(path), bare, {}, bare, {})
    with pytest.raises(ConfigError):
        check_fit(load_model(path), replace(bare, memories=()), {}, bare, {})


def test_check_on_a_chip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def status(*arguments: str) -> int:
        with pytest.raises(SystemExit) as done:
            main(["check", *arguments])
        return int(done.value.code or 0)

    assert status("squeezenet", "ar_glasses", "--on", "edge_npu") == 0
    out = capsys.readouterr().out
    assert "squeezenet: 'squeezenet', " in out and "has all that they need" in out and "2 streams" in out
    assert status("squeezenet", "--on", "edge_npu", "--dtype", "fp32") == 2
    assert "has no rate for fp32" in capsys.readouterr().err
    assert status("squeezenet", "--on", "edge_npu", "--set", "dram.capacity=1 MiB") == 2
    assert "all weights" in capsys.readouterr().err
    assert status("mine.yaml", "--dtype", "fp32") == 2
    assert "add --on CHIP" in capsys.readouterr().err


def test_strips_of_a_prime_number_of_tiles_are_found_at_once() -> None:
    assert _counts(2**31 - 1) == [] and _counts(12) == [2, 4, 6] and _counts(MOST_EXTENT)[-1] == MOST_EXTENT // 2
