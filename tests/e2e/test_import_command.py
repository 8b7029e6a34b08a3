"""`archsim import` as a user calls it: files of other tools to files that check and run."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.cli.app import main
from tests.tools.imported import FOLDER

SMALL = {
    "timeloop": (("pe_array_v3.arch.yaml", "conv_v3.prob.yaml"), "pe_array_v3_arch", "conv_v3_prob"),
    "accelforge": (("simple2.arch.yaml", "gemm64.workload.yaml"), "simple2", "gemm64"),
    "zigzag": (("gemm_l1.yaml", "gemm.yaml"), "gemm_l1", "gemm"),
    "scalesim": (("small_os.cfg", "topology.csv"), "small_os", "topology"),
}


def call(*arguments: object) -> int:
    """Exit code of a command in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return int(end.value.code or 0)


@pytest.mark.parametrize("tool", SMALL)
def test_import_check_run(tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, chip, model = SMALL[tool]
    paths = [FOLDER / tool / name for name in files]
    assert call("import", *paths, "--out", tmp_path / "out") == 0
    said = capsys.readouterr().out
    written = [tmp_path / "out" / f"{name}.yaml" for name in (chip, model)]
    assert [f"wrote {path}" for path in written] == said.splitlines()[:2]
    assert " keys: " in said.splitlines()[-1]
    assert call("check", *written) == 0
    assert call("check", written[1], "--on", written[0]) == 0
    assert call("run", written[1], "--on", written[0], "--format", "json") == 0
    assert '"cycles_total"' in capsys.readouterr().out


def test_one_file_goes_to_stdout_and_its_list_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("import", FOLDER / "scalesim" / "small_os.cfg") == 0
    said = capsys.readouterr()
    assert said.out.startswith(
        "# Imported from SCALE-Sim by archsim import. 18 keys: 9 read, 1 approximated, 8 ignored"
    )
    assert "schema: archsim.chip/1" in said.out
    assert said.err.splitlines()[-1].startswith("18 keys: 9 read, 1 approximated, 8 ignored, 0 refused")


def test_strict_writes_nothing_where_a_key_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "chip.yaml"
    assert call("import", FOLDER / "scalesim" / "sparse_ws.cfg", "--out", out, "--strict") == 2
    said = capsys.readouterr().err
    assert "refused: " in said
    assert "SparsitySupport: sparse weights are not modelled" in said
    assert said.splitlines()[-1].startswith("error: --strict:")
    assert not out.exists()
    assert call("import", FOLDER / "scalesim" / "sparse_ws.cfg", "--out", out) == 0
    assert "# refused: sparse_ws.cfg:22:1: sparsity.SparsitySupport" in out.read_text(encoding="utf-8")
    assert call("import", FOLDER / "scalesim" / "small_os.cfg", "--out", out, "--strict") == 0


def test_no_source_and_no_file_of_the_user_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (FOLDER / "zigzag" / "gemm_l1.yaml").read_bytes()
    source = tmp_path / "gemm_l1.yaml"
    source.write_bytes(text)
    linked = tmp_path / "linked.yaml"
    linked.symlink_to(source)
    for out in (tmp_path, source, linked):
        assert call("import", source, "--out", out) == 2
        assert "is the source " in capsys.readouterr().err
        assert source.read_bytes() == text
    own = tmp_path / "own.yaml"
    own.write_text("# mine\n", encoding="utf-8")
    assert call("import", source, "--out", own) == 2
    assert f"{own}: is there already and is no file that archsim import wrote" in capsys.readouterr().err
    assert own.read_text(encoding="utf-8") == "# mine\n"
    for _ in range(2):  # what an import wrote it may write again
        assert call("import", source, "--out", tmp_path / "chip.yaml") == 0


def test_two_files_need_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [FOLDER / "zigzag" / name for name in ("gemm_l1.yaml", "gemm.yaml")]
    for out in ([], ["--out", tmp_path / "one.yaml"]):
        assert call("import", *paths, *out) == 2
        assert "add --out FOLDER" in capsys.readouterr().err


def test_what_cannot_be_understood_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text("colour: red\n", encoding="utf-8")
    assert call("import", path) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path}:1:1: found no key that tells the tool; allowed files of Timeloop")
    assert len(said.splitlines()) == 1
    assert call("import", path, "--from", "zigzag") == 2
    assert "has no operational_array" in capsys.readouterr().err
    assert call("import", tmp_path / "nothing.yaml") == 2
    assert "no such file" in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("import", "--help") == 0
    assert "Example: archsim import" in " ".join(capsys.readouterr().out.split())
