"""The time that a run predicts for a measured row: that of the command ``archsim run`` which ``command`` prints."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple, TypeVar

from archsim.base.errors import ArchsimError
from archsim.base.progress import each
from archsim.base.units import PS_PER_S
from archsim.facts.number_formats import element_format
from archsim.ir.dtypes import size_bytes
from archsim.ir.unroll import count_commands
from archsim.lab.run.job import Job, build
from archsim.lab.validate.silicon.baselines import BaselineRow
from archsim.lab.validate.silicon.measured_chip import SetOnChip
from archsim.lab.validate.silicon.operators import operator_of
from archsim.lab.validate.silicon.sets import SiliconRow
from archsim.repetition import repeat
from archsim.spec.architecture import Architecture
from archsim.spec.peaks import dram_bytes_per_s
from mapper.problem.formats import lanes_of, pair_of

Asked = TypeVar("Asked")
Found = TypeVar("Found")

US_PER_S = 10**6
WARM = 1  # runs before the one that is measured
MOST_COMMANDS = 1 << 22  # of a row's Program; a run of so many takes some ten minutes
MOST_EXACT_BYTES = 1 << 30  # of operands and results, up to which the DRAM is simulated command by command


@dataclass(frozen=True, slots=True)
class SiliconPrediction:
    """A row with what was predicted, in microseconds, and ``command``, which prints it; ``reason`` why it could not be
    run, '' where it was. ``bound_by``: the cause that it is bound by (``causes``), '' where nobody asked."""

    row: SiliconRow
    command: str = ""
    time_us: float = 0.0
    reason: str = ""
    bound_by: str = ""

    @property
    def error(self) -> float:
        """Predicted by measured, less 1."""
        return self.time_us / self.row.time_us - 1


class RowWork(NamedTuple):
    """The least that a row does: multiply-accumulates, and bytes of operands and results, each once."""

    macs: int
    bytes: int


def least_work(row: SiliconRow) -> RowWork:
    """Of a row; raises ModelError for an operator or sizes that no workload stands for."""
    operator = operator_of(row)
    work = operator.work(operator.sizes(row))
    return RowWork(work.macs, work.elements * size_bytes(row.format))


def job_of(on: SetOnChip, row: SiliconRow) -> Job:
    """The job of a row; raises ModelError for an operator or sizes that no workload stands for."""
    operator = operator_of(row)
    sizes = operator.sizes(row)
    job = Job(
        operator.model, on.measured.chip, parameters=sizes, values=on.keys, schedule="platform", warm=WARM,
        dtype=row.format if row.format != on.chip.dtypes["inputs"] else None,
    )  # fmt: skip
    return replace(job, fidelity="fast") if least_work(row).bytes > MOST_EXACT_BYTES else job


def command_of(job: Job) -> str:
    """What a user types for a job, quoted for a shell."""
    words = ["archsim", "run", str(job.model), "--on", str(job.chip)]
    for name, value in job.parameters.items():
        words += ["--parameter", f"{name}={value}"]
    words += ["--dtype", job.dtype] if job.dtype else []
    words += ["--fidelity", job.fidelity] if job.fidelity else []
    words += ["--schedule", job.schedule, "--platform", str(job.values["platform"]), "--warm", str(job.warm)]
    chip_keys = {key: value for key, value in job.values.items() if key != "platform"}
    for key, found in chip_keys.items():
        words += ["--set", f"{key}={found if isinstance(found, str) else json.dumps(found)}"]
    return shlex.join(words)


def predicted(on: SetOnChip, row: SiliconRow) -> SiliconPrediction:
    """The row with what a run of it predicts, or with the reason why it cannot be run."""
    try:
        job = job_of(on, row)
        built = build(job)
        commands = sum(map(count_commands, built.program.queues))
        if commands > MOST_COMMANDS:
            return SiliconPrediction(row, reason=f"its Program runs more than {MOST_COMMANDS:,} commands")
        found = repeat(built.program, built.architecture, WARM + 1)
    except ArchsimError as error:
        return SiliconPrediction(row, reason=str(error))
    return SiliconPrediction(row, command_of(job), found.interval_ps * US_PER_S / PS_PER_S)


def each_predicted(on: SetOnChip, rows: Sequence[SiliconRow], jobs: int, name: str) -> tuple[SiliconPrediction, ...]:
    """All rows in their order, in so many processes; ``name``: of the set, for people."""
    return in_processes(partial(predicted, on), rows, jobs, name)


def in_processes(work: Callable[[Asked], Found], asked: Sequence[Asked], jobs: int, name: str) -> tuple[Found, ...]:
    """What ``work`` makes of all rows, in their order, in so many processes; ``name``: of what is done, for people."""
    if jobs == 1:
        return tuple(map(work, each(list(asked), name, "rows")))
    from multiprocessing import get_context

    with get_context("spawn").Pool(jobs) as pool:
        done = pool.imap(work, asked)
        return tuple(next(done) for _ in each(list(asked), name, "rows"))


def least(on: SetOnChip, row: SiliconRow) -> BaselineRow | None:
    """The row as rooflines see it; None where the chip has no peak that it would need."""
    work = least_work(row)
    bytes_per_s, macs_per_s = _bytes_per_s(on.chip), _macs_per_s(on.chip, row.format)
    if bytes_per_s is None or (work.macs and not macs_per_s):
        return None
    macs_us = work.macs * US_PER_S / macs_per_s if work.macs else Fraction(0)
    bytes_us = work.bytes * US_PER_S / bytes_per_s
    return BaselineRow(row.case, row.time_us, float(macs_us), float(bytes_us))


def _macs_per_s(chip: Architecture, dtype: str) -> Fraction:
    """Of all arrays that have the format, or one that the vector unit makes of it, at the chip's own clock, whatever a
    platform sustains."""
    own, stored = chip.base or chip, element_format(dtype)
    pairs = [(array, pair_of(array, lanes_of(own), stored, stored)) for array in own.arrays]
    rates = (a.rows * a.cols * a.rate(*pair) * a.copies * a.clock_hz for a, pair in pairs if pair is not None)
    return sum(rates, Fraction(0))


def _bytes_per_s(chip: Architecture) -> Fraction | None:
    """Of all DRAM; None where there is none, or one whose peak is not known."""
    rates = [dram_bytes_per_s(memory) for memory in chip.memories if memory.kind == "dram"]
    known = [rate for rate in rates if rate is not None]
    return sum(known, Fraction(0)) if known and len(known) == len(rates) else None
