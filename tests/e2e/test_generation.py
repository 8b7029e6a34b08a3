"""Tokens one after another, as a user asks for them: time to the first, time and energy of each further one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import archsim as ax
from tests.tools.commands import Archsim

CONFIG: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 500, "rms_norm_eps": 1e-5,
    "hidden_act": "silu", "max_position_embeddings": 4096,
}  # fmt: skip
CHIP = "edge_npu"


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(CONFIG))
    return str(path)


def test_phases_add_up_to_the_whole_and_are_the_runs_of_their_own(model: str) -> None:
    asked = {"prompt": 24, "tokens": 5, "width": 2, "batch": 2}
    done = ax.generate(f"{model}:generate", on=CHIP, parameters=asked)
    found = done.summary
    alone = {"prompt": 24, "context": 34, "batch": 2}
    first = ax.run(f"{model}:prefill", on=CHIP, parameters={**alone, "logits": "last"}).summary
    assert found["prefill"]["cycles"] == first["cycles_total"]
    assert found["generation"]["ttft_s"] == first["latency_s"]
    behind = {**alone, "width": 2}  # all of whose logits are wanted
    every = [
        ax.run(f"{model}:decode", on=CHIP, parameters={**behind, "prompt": 24 + 2 * step}).summary for step in range(5)
    ]
    for step in found["steps"]:
        assert step["past"] == 24 + 2 * step["step"]
        assert step["cycles"] == every[step["step"]]["cycles_total"]
        assert step["kv_read_bytes"] == every[step["step"]]["dram"]["roles"]["kv"]["read_bytes"]
    assert found["decode"]["latency_s"] == pytest.approx(sum(run["latency_s"] for run in every), rel=0.01)
    assert found["decode"]["energy_j"] == pytest.approx(sum(run["energy_j"] for run in every), rel=0.01)
    told, tokens = found["generation"], 2 * (1 + 5 * 2)
    assert found["output_tokens"] == tokens
    assert told["tpot_s"] == pytest.approx(found["decode"]["latency_s"] / 10)
    assert told["tokens_per_s"] == pytest.approx(tokens / found["latency_s"])
    assert told["energy_per_token_j"] == pytest.approx(found["energy_j"] / tokens)
    assert found["latency_s"] == pytest.approx(found["prefill"]["latency_s"] + found["decode"]["latency_s"])
    assert list(done.table.index) == sorted(done.steps) and "tokens" in done._repr_html_()


def test_decode_alone_has_no_first_token(model: str) -> None:
    found = ax.generate(f"{model}:decode", on=CHIP, parameters={"context": 64, "tokens": 8}).summary
    assert found["prefill"] is None and found["generation"]["ttft_s"] is None
    assert (found["steps"][0]["past"], found["steps"][-1]["past"], found["output_tokens"]) == (56, 63, 8)


def test_table_json_files_and_requirements(archsim: Archsim, model: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = [f"{model}:generate", "--on", CHIP, "--parameter", "prompt=16", "tokens=40"]
    good = ["--require", "generation.tpot_s<=1", "--require", "output_tokens==41"]
    done = archsim("run", *asked, *good, "--out", str(out))
    assert done.returncode == 0 and done.stderr == ""
    assert "The first token is there after" in done.stdout and "time per output token" in done.stdout
    names = ["first_step", "generation.json", "last_step", "prefill", "report.html", "report.md", "steps.csv"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert (out / "last_step" / "report.html").is_file()
    (out / "report.html").unlink()
    assert archsim("report", str(out)).returncode == 0 and (out / "report.html").is_file()
    told = archsim("run", *asked, "--format", "json")
    assert json.loads(told.stdout) == json.loads((out / "generation.json").read_text())
    missed = archsim("run", *asked, "--require", "generation.ttft_s<=1e-12")
    assert missed.returncode == 1 and "requirement missed: generation.ttft_s" in missed.stderr


@pytest.mark.parametrize(
    ("phase", "options", "message"),
    [
        (":generate", ["--warm", "2"], "--warm: {0}:generate is several runs; allowed for one"),
        (":generate", ["--why"], "Invalid value for --why"),
        (":generate", ["--parameter", "tokens=0"], "parameter tokens: found 0; allowed 1 to"),
        (":generate", ["--parameter", "context=8", "tokens=9"], "parameter context: found 8; has no room for"),
        (":generate", ["--parameter", "context=9", "tokens=9"], "found 9; has no room for 1 older and 9 new rows"),
        (":generate", ["--require", "tpot<=1"], "no 'tpot' in a result"),
        (
            ":prefill",
            ["--parameter", "tokens=3"],
            "parameter tokens: found 3; allowed in the phases decode and generate",
        ),
    ],
)
def test_mistakes(archsim: Archsim, model: str, phase: str, options: list[str], message: str) -> None:
    done = archsim("run", f"{model}{phase}", "--on", CHIP, *options)
    assert done.returncode == 2 and done.stdout == ""
    assert message.format(model) in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["map", "verify", "asm"])
def test_commands_of_one_run_say_so(archsim: Archsim, model: str, command: str) -> None:
    done = archsim(command, f"{model}:generate", "--on", CHIP)
    assert done.returncode == 2 and "prefill and a step of decode are several runs" in done.stderr


def test_a_function_for_one_run_says_so(model: str) -> None:
    with pytest.raises(ax.ConfigError, match="several runs; allowed in archsim run and archsim.generate"):
        ax.run(f"{model}:generate", on=CHIP)
    with pytest.raises(ax.ConfigError, match="is one run; allowed NAME:generate"):
        ax.generate(f"{model}:decode", on=CHIP)
