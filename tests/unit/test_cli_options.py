"""What users write: dtypes, requirements, jobs; and the command line's manners without any simulation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from inspect import signature
from typing import Any

import pytest
from fixtures_result import make_result
from typer.testing import CliRunner

import archsim
from archsim.base.caches import folder
from archsim.base.errors import ConfigError
from archsim.cli.app import app, main
from archsim.cli.noc import _links
from archsim.cli.options import each_of_its_own
from archsim.lab.files import show
from archsim.lab.kit.options import Requirement, parse_dtypes, parse_lookups, parse_parameters, public_keys, scalars
from archsim.lab.run.job import Job, build
from archsim.lab.validate import suites
from archsim.lab.validate.suite import ScoredCase, SkippedCase, summarize
from archsim.report.run.summary import summarise
from tests.tools.commands import ROOT


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    code = caught.value.code
    return code if isinstance(code, int) else 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, {}),
        ("int8", {**dict.fromkeys(("inputs", "weights", "outputs", "tables", "kv"), "int8"), "accumulate": "int32"}),
        ("bf16", {**dict.fromkeys(("inputs", "weights", "outputs", "tables", "kv"), "bf16"), "accumulate": "fp32"}),
        ("a=bf16,tables=bf16", dict.fromkeys(("inputs", "outputs", "tables", "kv"), "bf16")),
        ("w=int8,a=bf16", {"weights": "int8", "inputs": "bf16", "outputs": "bf16", "kv": "bf16"}),
        ("a=bf16,kv=int8", {"inputs": "bf16", "outputs": "bf16", "kv": "int8"}),
        ("w=int8, acc=int32", {"weights": "int8", "accumulate": "int32"}),
    ],
)
def test_dtypes(text: str | None, expected: dict[str, str]) -> None:
    assert parse_dtypes(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int9", "unknown dtype 'int9' .did you mean 'int8'"),
        ("x=int8", "found 'x'.*allowed w, weights, a"),
        ("a=int8,inputs=int8", "inputs given twice"),
        ("w=", "unknown dtype ''"),
        ("", "unknown dtype ''"),
    ],
)
def test_bad_dtypes_name_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_dtypes(text)


def test_parameters() -> None:
    assert parse_parameters(["seq=128", " layers = 2"]) == {"seq": 128, "layers": 2}
    texts = ["alpha=1.05", "small=1e-3", "logits=last", "trace=in a/rows.txt", "name=inf", "long=" + "9" * 19]
    assert parse_parameters(texts) == {
        "alpha": 1.05, "small": 0.001, "logits": "last", "trace": "in a/rows.txt", "name": "inf", "long": 1e19,
    }  # fmt: skip
    for texts, message in [
        (["seq"], "found 'seq'; allowed NAME=NUMBER such as seq=128, or a word"),
        (["seq=-1"], "found 'seq=-1'; allowed NAME=NUMBER"),
        (["seq=-1.5"], "found 'seq=-1.5'; allowed NAME=NUMBER"),
        (["seq="], "found 'seq='; allowed NAME=NUMBER"),
        (["seq=a\0"], "allowed NAME=NUMBER"),
        (["=3"], "found '=3'; allowed NAME=NUMBER"),
        (["a=1", "a=2"], "--parameter a: given twice"),
    ]:
        with pytest.raises(ConfigError, match=message):
            parse_parameters(texts)


def test_one_option_takes_several_keys_and_values() -> None:
    """Up to the next option or a word without '='; stated apart they mean the same."""
    line = [
        "run",
        "bert_base",
        "--parameter",
        "seq=32",
        "layers=1",
        "--on",
        "x=y",
        "--set",
        "a.b=1",
        "c=2",
        "more",
        "d=3",
    ]
    assert each_of_its_own(line) == [
        *["run", "bert_base", "--parameter", "seq=32", "--parameter", "layers=1", "--on", "x=y"],
        *["--set", "a.b=1", "--set", "c=2", "more", "d=3"],
    ]
    assert each_of_its_own(["run", "--set", "--parameter"]) == ["run", "--set", "--parameter"]
    asked = [
        "map",
        "bert_base",
        "--on",
        "edge_npu",
        "--no-net",
        "--parameter",
        "seq=32",
        "layers=1",
        "hidden=64",
        "heads=2",
    ]
    said = CliRunner().invoke(app, [*asked, "vocabulary=50", "--set", "l1.size=2 MiB", "dram.channels=2"])
    assert said.exit_code == 0, said.output


def test_parameters_reach_the_model_and_are_refused_where_they_have_no_meaning() -> None:
    small = {"seq": 32, "layers": 1, "hidden": 64, "heads": 2, "vocabulary": 50}
    built = build(Job("bert_base", "edge_npu", parameters=small))
    assert built.workload == archsim.load_model("bert_base", parameters=small)
    assert built.options(Job("bert_base", "edge_npu", parameters=small))["parameters"] == small
    with pytest.raises(ConfigError, match="no parameter 'sek'.*did you mean 'seq'"):
        build(Job("bert_base", "edge_npu", parameters={"sek": 32}))
    with pytest.raises(ConfigError, match="has no parameters to set"):
        build(Job("squeezenet", "edge_npu", parameters={"seq": 32}))
    with pytest.raises(ConfigError, match="the model was loaded with its parameters"):
        build(Job(archsim.load_model("bert_base", parameters=small), "edge_npu", parameters=small))
    with pytest.raises(ConfigError, match="--parameter: the Program .* is compiled already"):
        build(Job("some.asm", "edge_npu", parameters=small))


def test_lookups() -> None:
    assert parse_lookups(["a=uniform(seed=1)", " b = zipf(exponent=1, seed=0)"]) == {
        **{"a": "uniform(seed=1)", "b": "zipf(exponent=1, seed=0)"}
    }
    for texts, message in (
        (["a"], "found 'a'; allowed NODE=PATTERN"),
        (["a="], "allowed NODE=PATTERN"),
        (["a=x", "a=y"], "--lookups a: given twice"),
    ):
        with pytest.raises(ConfigError, match=message):
            parse_lookups(texts)


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return summarise(make_result(4))


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("cycles_total>0", True),
        ("latency_s <= 1e-9", False),
        ("dram.row_hit_rate>=0.9", True),
        ("energy_breakdown_j.l1 < 1", True),
        ("dram.peak_bytes_per_s == 51200000000", True),
        ("macs!=0", True),
    ],
)
def test_requirements(summary: dict[str, Any], text: str, met: bool) -> None:
    assert Requirement.parse(text).met(summary) is met


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency_s", "allowed KEY SIGN NUMBER"),
        ("latency_s<=fast", "allowed KEY SIGN NUMBER"),
        ("latency_s<=nan", "allowed KEY SIGN NUMBER"),
        ("latency<=1", "did you mean 'latency_s'"),
        ("layers.0.macs<=1", "no 'layers.0.macs' in a result"),
    ],
)
def test_bad_requirements_are_refused_before_the_run(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Requirement.parse(text)


def test_requirement_on_an_unknown_part_or_a_missing_figure(summary: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="did you mean 'energy_breakdown_j.dram'"):
        Requirement.parse("energy_breakdown_j.drum<1").met(summary)
    with pytest.raises(ConfigError, match="no figure for this chip"):
        Requirement.parse("die_cost_usd<1").met(summary)


def test_every_scalar_is_a_number_or_missing(summary: dict[str, Any]) -> None:
    found = scalars(summary)
    assert {"latency_s", "dram.read_bytes", "mac_breakdown.useful", "workload.macs"} <= set(found)
    assert "provenance.seed" not in found and "layers" not in public_keys()
    assert all(value is None or isinstance(value, int | float) for value in found.values())


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("ARCHSIM_CACHE", str(tmp_path))
    monkeypatch.delenv("ARCHSIM_NO_CACHE", raising=False)
    assert folder() == tmp_path
    monkeypatch.setenv("ARCHSIM_NO_CACHE", "1")
    assert folder() is None


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--help") == 0
    words = capsys.readouterr().out.split()
    commands = ("run", "map", "asm", "verify", "compare", "report", "validate", "show", "check", "dram", "noc", "sweep")
    assert set(commands) <= set(words)


@pytest.mark.parametrize(
    "arguments",
    [
        ("rum",),
        ("run",),
        ("run", "m"),
        ("run", "m", "--on", "c", "--batch", "0"),
        ("run", "m", "--on", "c", "--objective", "speed"),
        ("run", "m", "--on", "c", "--trace"),
        ("run", "m", "--on", "c", "--warm", "0"),
        ("run", "m", "--on", "c", "--refine", "0"),
        ("run", "m", "--on", "c", "--refine", "4", "-j", "2"),
        ("map", "m", "--on", "c", "-j", "0"),
        ("run", "m", "--on", "c", "--fidelity", "exakt"),
        ("show", "models", "x"),
    ],
)
def test_bad_usage_exits_2_with_nothing_on_stdout(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err and "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "m", "--on", "edge_npuu"), "did you mean 'edge_npu'"),
        (("run", "m", "--on", "edge_npu", "--set", "l1.sise=4 MiB"), "l1.size"),
        (("run", "m", "--on", "edge_npu", "--set", "clock"), "allowed KEY.PATH=VALUE"),
        (("run", "m", "--on", "edge_npu", "--require", "latncy_s<1"), "did you mean 'latency_s'"),
        (("run", "m", "--on", "edge_npu", "--dtype", "int7"), "unknown dtype 'int7'"),
        (("run", "nowhere.asm", "--on", "edge_npu"), "nowhere.asm: cannot be read"),
        (("run", "squeezenet", "--on", "edge_npu", "--mapping", "no.yaml"), "no.yaml: cannot be read"),
        (("run", "squeezenet", "--on", "edge_npu", "--mapping", "no.csv"), "allowed mapping files end in .yaml"),
        (("run", "x.asm", "--on", "edge_npu", "--mapping", "m.yaml"), "--mapping: the Program x.asm is compiled"),
        (("run", "x.asm", "--on", "edge_npu", "--batch", "2"), "--batch: the Program x.asm is compiled already"),
        (("report", "no_such_dir"), "archsim run MODEL --on CHIP --out DIR"),
        (("validate", "systolik"), "did you mean 'systolic'"),
        (("validate", "silicon", "--set", "no_such_set"), "no set 'no_such_set'"),
        (("validate", "silicon", "--reference", "nowhere"), "needs a directory with sets.json"),
        (("validate", "systolic", "--set", "mine"), "is an option of the suite silicon"),
        (("show", "chipz"), "did you mean 'chips'"),
        (("show", "topologys"), "did you mean 'topologies'"),
        (("show", "chips", "tpu"), "did you mean"),
        (("check", "nix.yaml"), "nix.yaml: no such file"),
    ],
)
def test_bad_input_exits_2_with_one_message(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and "Traceback" not in err


def test_internal_errors_exit_1_and_debug_shows_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: str) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(show, "listing", broken)
    assert status("show", "chips") == 1
    err = capsys.readouterr().err
    assert err.startswith("internal error: KeyError") and "--debug" in err and "Traceback" not in err
    assert status("show", "chips", "--debug") == 1
    assert "Traceback" in capsys.readouterr().err


def test_errors_on_purpose_show_their_traceback_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--debug", "show", "chipz") == 2
    assert "Traceback" in capsys.readouterr().err


def test_validate_prints_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("validate", "systolic", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cases"] == found["exact"] == 174 and found["failed"] == []


def test_validate_exits_1_when_a_threshold_is_missed(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    header = "case,kind,M,N,K,dataflow,rows,cols,cycles\n"
    (tmp_path / "cases.csv").write_text(header + "wrong,gemm,12,21,8,os,3,8,999\n")
    assert status("validate", "systolic", "--reference", str(tmp_path)) == 1
    assert "wrong: expected 999" in capsys.readouterr().out


def test_validate_exits_1_when_a_row_is_not_scored(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    header = "case,kind,M,N,K,dataflow,rows,cols,cycles\n"
    good, bad = "good,gemm,12,21,8,os,3,8,{}\n", "bad,gemm,x,21,8,os,3,8,1\n"
    data = tmp_path / "cases.csv"
    data.write_text(header + good.format(1))
    status("validate", "systolic", "--reference", str(tmp_path), "--format", "json")
    (cycles,) = [case["got"] for case in json.loads(capsys.readouterr().out)["failed"]]

    def asked(text: str, *options: str) -> tuple[int, str, str]:
        data.write_text(text)
        code = status("validate", "systolic", "--reference", str(tmp_path), *options)
        return code, *capsys.readouterr()

    whole = header + good.format(int(cycles))
    assert asked(whole)[0] == 0
    code, out, err = asked(whole + bad + bad)
    assert code == 1 and "systolic: passed, incomplete: 2 of 3 not scored, 1 of 1" in out
    assert "incomplete: 2 of 3 not scored; --allow-skipped accepts that" in err
    code, out, err = asked(whole + bad, "--allow-skipped")
    assert (code, err) == (0, "") and "incomplete: 1 of 2 not scored" in out
    assert asked(header + good.format(1) + bad, "--allow-skipped")[0] == 1
    code, out, err = asked(whole + bad, "--format", "json")
    assert code == 1 and json.loads(out)["not_scored"] == 1 and "1 of 2 not scored" in err


def test_a_skipped_row_without_a_threshold_leaves_a_suite_complete() -> None:
    scored, beside = [ScoredCase("a", 1.0, 1.0)], SkippedCase("b", "unknown pattern", has_threshold=False)
    assert summarize("dram", scored, threshold=0.0, speed={}, skipped=[beside]).incomplete == ""
    both = summarize("dram", scored, threshold=0.0, speed={}, skipped=[beside, SkippedCase("c", "unknown pattern")])
    assert both.met and both.incomplete == "incomplete: 1 of 2 not scored"


def test_every_command_takes_from_the_cache_unless_told_otherwise() -> None:
    callbacks = [command.callback for command in app.registered_commands if command.callback is not None]
    found = [signature(each).parameters for each in callbacks]
    assert [each["no_cache"].default for each in found if "no_cache" in each] == [False] * 4


def test_links_of_a_network_are_pairs() -> None:
    assert _links("0-1, 12 - 3") == ((0, 1), (12, 3)) and _links(None) is None
    for wrong in ("", "0", "0-1-2", "0-1,", "a-b"):
        with pytest.raises(ConfigError, match="allowed pairs of nodes"):
            _links(wrong)


@pytest.mark.parametrize("kind", ["chips", "dram", "technologies", "dataflows"])
def test_show_lists_one_line_each(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("show", kind) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(show.listing(kind)) >= 2
    assert all(len(line.split()) > 1 for line in lines)


def test_passes_of_a_model_say_what_they_put_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("show", "models", "squeezenet", "--passes") == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert list(lines)[0] == "infer" and list(lines)[-1] == "layers"
    assert lines["swish"].endswith("nodes: as before")
    assert "gone 26 Relu" in lines["fuse"]
    for words in (["models", "--passes"], ["chips", "edge_npu", "--passes"]):
        assert status("show", *words) == 2
        assert "show models NAME --passes" in capsys.readouterr().err


def test_the_graph_of_a_model_has_its_nodes_with_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("show", "models", "squeezenet", "--graph") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split(maxsplit=1) == ["data_0", "input [1, 3, 224, 224]"]
    assert lines[1].split(maxsplit=1)[1] == (
        "Conv(data_0 [1, 3, 224, 224], conv1_w_0 [64, 3, 3, 3], conv1_b_0 [64]) -> r1 [1, 64, 111, 111], "
        "with relu_2_111x111x64 (Relu)"
    )
    assert lines[-1].split(maxsplit=1)[1] == "output [1, 1000, 1, 1]"
    for option in ("--graph", "--passes"):  # of a format that has no operators without a rule
        assert status("show", "models", "gpt2:decode", option) == 0
    capsys.readouterr()
    for words in (["models", "--graph"], ["chips", "edge_npu", "--graph"], ["models", "vgg19", "--graph", "--passes"]):
        assert status("show", *words) == 2
        assert "of one model: show models NAME" in capsys.readouterr().err


def test_a_shown_chip_is_a_chip_file(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    assert status("show", "chips", "tpu_v1") == 0
    path = tmp_path / "again.yaml"
    path.write_text(capsys.readouterr().out)
    assert status("check", str(path)) == 0
    assert "chip 'tpu_v1'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("edge_npu", {"accelerators/edge_npu.yaml": "chip 'edge_npu'"}),
        ("eye_tracking", {"workloads/eye_tracking.yaml": "workload 'eye_tracking'"}),
        ("ddr4", {"dram/ddr4.yaml": "DRAM energy table 'ddr4'"}),
        ("ar_glasses", {"scenarios/ar_glasses.yaml": "scenario 'ar_glasses'"}),
        ("resnet50", {"light_resnet50.onnx": "73 layers"}),
    ],
)
def test_check_takes_names_of_what_is_shipped(
    name: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("check", name) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(files)
    for line, (path, said) in zip(lines, files.items(), strict=True):
        assert path in line.partition(": ")[0] and said in line


def test_check_knows_two_files_of_one_name_and_none_of_another(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "accelerators").mkdir()
    (tmp_path / "accelerators" / "eye_tracking.yaml").write_text("name: eye_tracking\nextends: edge_npu\n")
    monkeypatch.setenv("ARCHSIM_CONFIGS", str(tmp_path))
    assert status("check", "eye_tracking") == 0
    out = capsys.readouterr().out
    assert "chip 'eye_tracking'" in out and "workload 'eye_tracking'" in out
    assert status("check", "edge_npuu") == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "edge_npuu: no such file, and nothing of that name comes with archsim" in err
    assert "(did you mean 'edge_npu'?)" in err


def test_a_chip_is_listed_under_the_name_that_finds_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "accelerators").mkdir()
    (tmp_path / "accelerators" / "mine.yaml").write_text("name: other\nextends: edge_npu\n")
    monkeypatch.setenv("ARCHSIM_CONFIGS", str(tmp_path))
    assert status("show", "chips") == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert "mine" in names and "other" not in names


def test_check_reports_every_file_and_exits_2(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    bad, other = tmp_path / "bad.yaml", tmp_path / "other.csv"
    bad.write_text("schema: archsim.recipe/1\n")
    other.write_text("x")
    assert status("check", str(bad), str(other)) == 2
    err = capsys.readouterr().err
    assert "archsim.recipe/1" in err and "'.csv' file" in err


def test_the_suite_of_sets_is_asked_for_by_itself() -> None:
    for name in suites.BESIDE:
        said = f"suite '{name}' has no thresholds: archsim.lab.validate.{name}.suite runs it"
        with pytest.raises(ConfigError, match=said):
            suites.run(name)


@pytest.mark.parametrize("statement", ["import archsim", "import archsim.cli.app", "import archsim.lab.api"])
def test_heavy_libraries_wait_until_they_are_used(statement: str) -> None:
    heavy = ("numba", "pandas", "matplotlib", "onnx", "scipy", "ortools", "pydantic", "jinja2")
    script = f"import sys; {statement}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_front_door_has_few_names_and_all_of_them_work() -> None:
    assert len(archsim.__all__) <= 25
    for name in archsim.__all__:
        assert getattr(archsim, name) is not None
    with pytest.raises(AttributeError):
        getattr(archsim, "explore")  # noqa: B009  (no name of the front door)


@pytest.mark.parametrize("module", ["archsim", "archsim.cli.app"])
def test_the_command_is_a_module_too(module: str) -> None:
    command = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == (f"archsim {archsim.__version__}\n", "")


def test_shells_complete_commands() -> None:
    environment = {**os.environ, "_ARCHSIM_COMPLETE": "complete_bash", "COMP_WORDS": "archsim comp", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "archsim"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    assert done.stdout.split() == ["compare"]


def test_refinement_is_the_work_of_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("run", "alexnet", "--on", "edge_npu", "--refine", "2", "-j", "2") == 2
    assert "one process simulates and searches" in " ".join(capsys.readouterr().err.split())
