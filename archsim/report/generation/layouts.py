"""The tables of generated tokens, each laid out once: what a user waits for, the phases, the steps that were run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from archsim.report.kit.number_format import count, number, percent, si
from archsim.report.kit.table import ReportTable, TableColumn
from archsim.report.run.headline import bound_of

Found = Mapping[str, Any]


def tables(found: Found) -> dict[str, ReportTable]:
    """Every table by its name, in the order of the report."""
    return {"tokens": tokens(found), "phases": phases(found), "steps": steps(found)}


def tokens(found: Found) -> ReportTable:
    """Time to the first token and between tokens, tokens a second, energy a token."""
    told, asked = found["generation"], found["asked"]
    bound = bound_of(found, "power_avg_w")
    power = f"{si(found['power_avg_w'], 'W')} on average{f', {bound}' if bound else ''}"
    samples = f"{asked['batch']} samples together" if asked["batch"] > 1 else "one sample"
    rows = [
        ("time to first token", si(told["ttft_s"], "s"), f"prompt of {count(asked['prompt'])} rows"),
        ("time per output token", si(told["tpot_s"], "s"), f"mean of {count(asked['tokens'] * asked['width'])}"),
        ("tokens per second", number(told["tokens_per_s"]), f"{samples}, from the first run to the last"),
        ("energy per token", si(told["energy_per_token_j"], "J"), "of all runs, over the tokens that come out"),
        ("whole time", si(found["latency_s"], "s"), f"{count(found['output_tokens'])} tokens"),
        ("whole energy", si(found["energy_j"], "J"), power),
    ]
    if told["ttft_s"] is None:
        del rows[0]
    columns = TableColumn("figure", "name"), TableColumn("value"), TableColumn("of", "text")
    return ReportTable("Tokens", columns, rows)


def phases(found: Found) -> ReportTable:
    """A row for the prompt, and one for all steps."""
    named = (("prefill", found["prefill"]), ("decode", found["decode"]))
    rows = [
        (name, row["cycles"], row["latency_s"], row["latency_s"] / found["latency_s"], row["energy_j"],
         row["energy_j"] / found["energy_j"], row["power_avg_w"])
        for name, row in named
        if row is not None
    ]  # fmt: skip
    columns = (
        TableColumn("phase", "name"),
        TableColumn("cycles", show=count),
        TableColumn("time", show=partial(si, unit="s")),
        TableColumn("of the time", show=percent),
        TableColumn("energy", show=partial(si, unit="J")),
        TableColumn("of the energy", show=percent, rank=1),
        TableColumn("power", show=partial(si, unit="W"), rank=2),
    )
    return ReportTable("Phases", columns, rows)


def steps(found: Found) -> ReportTable:
    """A row for each step that was run."""
    rows = [
        (step["step"], step["past"], step["cycles"], step["latency_s"], step["energy_j"], step["dram_share"],
         step["kv_read_bytes"])
        for step in found["steps"]
    ]  # fmt: skip
    columns = (
        TableColumn("step", "name", show=count),
        TableColumn("rows before it", show=count),
        TableColumn("cycles", show=count),
        TableColumn("time", show=partial(si, unit="s")),
        TableColumn("energy", show=partial(si, unit="J")),
        TableColumn("of DRAM bandwidth", show=percent, rank=2),
        TableColumn("keys and values read", show=partial(si, unit="B"), rank=1),
    )
    return ReportTable("Steps that were run", columns, rows, note(found))


def note(found: Found) -> str:
    """How the other steps are known."""
    run, all_ = len(found["steps"]), found["asked"]["tokens"]
    if run == all_:
        return "Every step was run."
    error = found["provenance"]["line_error"]
    return (
        f"{count(run)} of {count(all_)} steps were run; the others lie on the lines between them. Midway between "
        f"neighbours these lines missed what was run there by {percent(error, digits=2)} at most."
    )
