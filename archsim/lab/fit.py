"""Whether a chip can run a model, before anything is mapped: the compiler's complaints, with the place to mend each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.ir.workload import Workload
from archsim.report.format import counted
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from archsim.lab.job import Job
    from mapper.judge import Complaint


def check_fit(
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    chip: object,
    values: Mapping[str, object],
) -> None:
    """Accept what the chip can run as far as is known without a search.

    ``chip``: the name or path of its file, or what was made of one; ``values``: what was set. Raises
    ``mapper.judge.UnfitError`` with every complaint, the layer, and the line to paste with its place.
    """
    from mapper.judge import UnfitError, judge
    from mapper.options import resolve_dtypes

    def place(complaint: Complaint) -> str:
        from archsim.spec import load

        if not isinstance(chip, str | Path) or not complaint.line:
            return ""
        return load.where(chip, values, f"{complaint.part}.{complaint.key}")

    try:
        judge(workload, architecture, resolve_dtypes(architecture, dtypes))
    except UnfitError as error:
        raise UnfitError(error.complaints, place) from None


def fits(job: Job) -> str:
    """That the chip of a job can run its model, a scenario's models or a Program, in a few words; raises ArchsimError's
    children where it cannot."""
    from archsim.ir.check.program import check
    from archsim.lab.job import load_chip, load_workload, read_program
    from archsim.lab.options import parse_dtypes
    from archsim.lab.scenario.find import is_scenario, load

    architecture = load_chip(job)
    if job.is_program:
        program, _ = read_program(job)
        check(program, architecture)
        return f"Program '{program.name}' can run on '{architecture.name}'"
    if is_scenario(job.model):
        found = load(str(job.model))
        for stream in found.scenario.streams:
            asked = parse_dtypes(stream.dtype)
            check_fit(found.workloads[stream.name], architecture, asked, job.chip, job.values)
        return (
            f"scenario '{found.scenario.name}', {len(found.workloads)} streams: '{architecture.name}' has all it needs"
        )
    workload = load_workload(job)
    check_fit(workload, architecture, parse_dtypes(job.dtype), job.chip, job.values)
    return f"'{workload.name}', {counted(len(workload.layers), 'layer')}: '{architecture.name}' has all that they need"
