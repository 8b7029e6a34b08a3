"""The result of generation as plain data: what the first token takes, what each further one does, and the steps.

Of each sample 1 + tokens x width rows come out: the first with the last logits of the prompt, the others by the steps,
all of whose new rows are taken as wanted. Without prefill there is no first token of its own. The chip does nothing
else, and each run begins where the one before it ended; states stay where they are in DRAM, all else comes in again.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import fsum
from typing import Any

from archsim.base.units import PS_PER_S
from archsim.base.version import __version__
from archsim.frontend.decode_steps import DecodeSteps
from archsim.lab.generation.sampled_steps import SampledSteps
from archsim.lab.run.job import Job
from archsim.lab.run.run import RunResult
from archsim.report.generation.words import SCHEMA

PJ_PER_J = 10**12
OF_ROWS = ("batch", "prompt", "tokens", "width", "context", "logits")


def figures_of(run: RunResult) -> tuple[Fraction, Fraction, Fraction]:
    """What is interpolated of a step: its cycles, its time in ps, its energy in pJ."""
    found = run.result
    return (
        Fraction(found.cycles_total),
        Fraction(round(found.latency_s * PS_PER_S)),
        Fraction(round(found.energy_j * PJ_PER_J)),
    )


def summary(
    job: Job, name: str, asked: DecodeSteps, prefill: RunResult | None, runs: Mapping[int, RunResult],
    steps: SampledSteps,
) -> dict[str, Any]:  # fmt: skip
    """Everything of it; ``runs``: of the steps that were run, by number."""
    some = next(iter(runs.values())).result
    cycles, time_ps, energy_pj = steps.total()
    decode = _row(float(time_ps) / PS_PER_S, float(energy_pj) / PJ_PER_J, round(cycles))
    first = None if prefill is None else _of_run(prefill)
    parts = [part for part in (first, decode) if part is not None]
    latency_s, energy_j = (fsum(part[key] for part in parts) for key in ("latency_s", "energy_j"))
    behind = asked.tokens * asked.width
    tokens = asked.batch * (behind + asked.with_prefill)
    return {
        "schema": SCHEMA,
        "model": name,
        "architecture": dict(some.architecture),
        "asked": {
            "batch": asked.batch, "prompt": asked.prompt, "tokens": asked.tokens, "width": asked.width,
            "context": asked.context, "logits": asked.logits, **_others(job),
        },
        "generation": {
            "ttft_s": None if first is None else first["latency_s"],
            "tpot_s": decode["latency_s"] / behind,
            "tokens_per_s": tokens / latency_s,
            "energy_per_token_j": energy_j / tokens,
        },
        "output_tokens": tokens,
        "latency_s": latency_s,
        "energy_j": energy_j,
        "power_avg_w": energy_j / latency_s,
        "area_mm2": some.area_mm2,
        "bounds": dict(some.bounds),
        "prefill": first,
        "decode": decode,
        "steps": [{"step": step, "past": asked.past(step), **_of_run(runs[step])} for step in sorted(runs)],
        "provenance": _provenance(job, prefill, runs, steps),
    }  # fmt: skip


def _others(job: Job) -> dict[str, Any]:
    """Parameters of the model that have nothing to do with rows of the decoder."""
    return {key: value for key, value in sorted(job.parameters.items()) if key not in OF_ROWS}


def _row(latency_s: float, energy_j: float, cycles: int) -> dict[str, Any]:
    return {"cycles": cycles, "latency_s": latency_s, "energy_j": energy_j, "power_avg_w": energy_j / latency_s}


def _of_run(run: RunResult) -> dict[str, Any]:
    found = run.result
    kv = found.dram.get("roles", {}).get("kv", {})
    return {
        **_row(found.latency_s, found.energy_j, found.cycles_total),
        "utilization": found.utilization,
        "dram_share": found.dram.get("bandwidth_utilization"),
        "kv_read_bytes": kv.get("read_bytes", 0),
    }


def _provenance(
    job: Job, prefill: RunResult | None, runs: Mapping[int, RunResult], steps: SampledSteps
) -> dict[str, Any]:
    """What it follows from: that of the runs where they agree, the steps that were run, and all that was warned of."""
    named = {**({} if prefill is None else {"prefill": prefill}), **{f"step {step}": runs[step] for step in runs}}
    some = next(iter(runs.values())).result.provenance
    warned: dict[str, list[str]] = {}
    for place, run in named.items():
        for text in run.result.provenance["warnings"]:
            warned.setdefault(text, []).append(place)
    return {
        "archsim_version": __version__,
        "chip_sha256": some["chip_sha256"],
        "model_sha256": some["model_sha256"],
        "options": {**some["options"], "batch": job.batch, "repeat": job.repeat},
        "seed": job.seed,
        "fidelity": some["fidelity"],
        "steps_simulated": sorted(runs),
        "line_error": float(steps.worst),
        "warnings": [f"{_places(places)}: {text}" for text, places in warned.items()],
    }


def _places(places: list[str]) -> str:
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"
