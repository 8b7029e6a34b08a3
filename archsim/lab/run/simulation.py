"""A compiled job to its Result: the Program is checked and simulated, and what it did is accounted for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from archsim.base.errors import ProgramError
from archsim.base.memory import give_back
from archsim.energy.bands import add_bands
from archsim.ir.columns import ProgramColumns
from archsim.ir.program import Program
from archsim.ir.result import Result
from archsim.ir.result_parts import Bands
from archsim.lab.kit.gc_pause import collect_stopped, uncollected
from archsim.lab.run.computed_pairs import computed_pairs
from archsim.lab.run.fidelity import affordable
from archsim.lab.run.job import BuiltJob, Job, Progress, quiet
from archsim.lab.run.memory_map import memory_map
from archsim.lab.run.replay_blocks import replay, sentences
from archsim.lab.run.schedule_facts import schedule_facts
from archsim.lab.run.silicon_band import time_band
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from archsim.repetition import Repetition


def simulated(job: Job, built: BuiltJob, say: Progress = quiet) -> Result:
    """Check and simulate the Program, and account for what it did."""
    from archsim.ir.check.program import check
    from archsim.lab.run.account import assemble
    from archsim.lab.run.least_of_network import least_of
    from archsim.repetition import check_choice
    from archsim.system import simulate

    check_choice(job.repeat)
    say("checking the Program")
    collect_stopped()
    with uncollected():
        columns = ProgramColumns(built.program)
        try:
            check(built.program, built.architecture, columns)
        except ProgramError as error:
            if not job.is_program and job.mapping is None:
                error.exit_code = 1  # our own compiler made it
            raise
        give_back()
        insisted = job.fidelity is not None
        architecture, lowered = (built.architecture, ()) if insisted else affordable(built.architecture, built.program)
        say("simulating")
        done = replay(simulate(built.program, architecture, columns=columns), built.left_out)
    repetition = _repeated(job, built.program, architecture, say)
    say("accounting")
    with uncollected():
        result = assemble(
            built.workload,
            architecture,
            done.activity,
            built.mapping,
            options=built.options(job),
            seed=job.seed,
            warnings=(*built.warnings, *lowered, *sentences(done.facts)),
            repetition=repetition,
            pairs=computed_pairs(built),
            least=least_of(built),
            steady={"mode": "steady", "blocks": done.facts} if _is_steady(job, built) else None,
        )
        bands: Bands = {"interval_s": time_band(job, built, result)}
        bands = add_bands(bands, built.architecture, result.area_mm2, result.power_avg_w)
        result = replace(result, memory_map=memory_map(built), schedule=schedule_facts(job, built), bands=bands)
    if not built.text_sha256:
        return result
    return replace(result, provenance={**result.provenance, "model_sha256": built.text_sha256})


def _is_steady(job: Job, built: BuiltJob) -> bool:
    """Whether equal blocks of layers were left out, or would have been."""
    return job.spares_blocks and (bool(built.left_out) or job.repeat == "steady")


def _repeated(job: Job, program: Program, architecture: Architecture, say: Progress) -> Repetition | None:
    """The steady interval, when it is asked for."""
    from archsim.repetition import repeat

    if job.warm is None:
        return None
    say(f"simulating {job.warm + 1} runs")
    return repeat(program, architecture, job.warm + 1, "steady" if job.repeat == "steady" else "exact")
