"""The time that a run predicts for a measured row: that of the command ``archsim run`` which ``command`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from archsim.base.errors import ArchsimError, ConfigError
from archsim.base.units import PS_PER_S
from archsim.ir.dtypes import size_bytes
from archsim.lab.run.job import Job, build, load_chip
from archsim.lab.validate.silicon.baselines import BaselineRow
from archsim.lab.validate.silicon.operators import operator_of
from archsim.lab.validate.silicon.sets import SiliconRow, SiliconSet
from archsim.repetition import repeat
from archsim.spec.architecture import Architecture
from archsim.spec.peaks import dram_bytes_per_s

US_PER_S = 10**6
CALIBRATED = "calibrated:"
WARM = 1  # runs before the one that is measured
MOST_EXACT_BYTES = 1 << 30  # of operands and results, up to which the DRAM is simulated command by command
_NOTHING_LAUNCHED = {"launch": "0 s", "issue": "0 s"}  # where the kernel alone was timed


@dataclass(frozen=True, slots=True)
class SiliconPrediction:
    """A row with what was predicted, in microseconds, and ``command``, which prints it; ``reason`` why it could not be
    run, '' where it was."""

    row: SiliconRow
    command: str = ""
    time_us: float = 0.0
    reason: str = ""

    @property
    def error(self) -> float:
        """Predicted by measured, less 1."""
        return self.time_us / self.row.time_us - 1


@dataclass(frozen=True, slots=True)
class SetOnChip:
    """A set with the chip that runs it; ``keys``: of the chip, as the set was timed."""

    measured: SiliconSet
    chip: Architecture
    keys: Mapping[str, object]


def on_chip(measured: SiliconSet, *, calibrated: bool = True) -> SetOnChip:
    """The chip of a set on its platform; without ``calibrated`` the keys that were fitted to measured rows have their
    defaults. Raises ConfigError where there is no such chip or platform."""
    keys: dict[str, object] = {"platform": measured.platform, **measured.keys}
    chip = load_chip(Job("", measured.chip, values=keys))
    if measured.timed == "device":
        launched = chip.platforms[measured.platform].host.stated
        stated = (key for key in _NOTHING_LAUNCHED if launched.get(f"{key}_ps"))
        keys |= {f"platforms.{measured.platform}.host.{key}": _NOTHING_LAUNCHED[key] for key in stated}
    if not calibrated:
        keys |= _without_calibration(chip)
    return SetOnChip(measured, load_chip(Job("", measured.chip, values=keys)), keys)


def _without_calibration(chip: Architecture) -> dict[str, object]:
    """The keys of the chip's platform whose source says that they were calibrated, at what they do nothing at."""
    neutral = {"host.floor": "0 s", "host.launch": "0 s", "host.issue": "0 s", "clock_share": 1}
    prefix = f"platforms.{chip.platform}."
    fitted = [path.removeprefix(prefix) for path, source in chip.sources.items() if source.startswith(CALIBRATED)]
    return {f"{prefix}{key}": neutral[key] for key in fitted if key in neutral}


def job_of(on: SetOnChip, row: SiliconRow) -> Job:
    """The job of a row; raises ModelError for an operator or sizes that no workload stands for."""
    operator = operator_of(row)
    sizes = operator.sizes(row)
    job = Job(
        operator.model, on.measured.chip, parameters=sizes, values=on.keys, schedule="platform", warm=WARM,
        dtype=row.format if row.format != on.chip.dtypes["inputs"] else None,
    )  # fmt: skip
    moved = operator.work(sizes).elements * size_bytes(row.format)
    return replace(job, fidelity="fast") if moved > MOST_EXACT_BYTES else job


def command_of(job: Job) -> str:
    """What a user types for a job."""
    words = ["archsim", "run", str(job.model), "--on", str(job.chip)]
    words += [f"--parameter {name}={value}" for name, value in job.parameters.items()]
    words += [f"--dtype {job.dtype}"] if job.dtype else []
    words += [f"--fidelity {job.fidelity}"] if job.fidelity else []
    words += [f"--schedule {job.schedule}", f"--platform {job.values['platform']}", f"--warm {job.warm}"]
    words += [f"--set {key}='{value}'" for key, value in job.values.items() if key != "platform"]
    return " ".join(words)


def predicted(on: SetOnChip, row: SiliconRow) -> SiliconPrediction:
    """The row with what a run of it predicts, or with the reason why it cannot be run."""
    try:
        job = job_of(on, row)
        built = build(job)
        found = repeat(built.program, built.architecture, WARM + 1)
    except ArchsimError as error:
        return SiliconPrediction(row, reason=str(error))
    return SiliconPrediction(row, command_of(job), found.interval_ps * US_PER_S / PS_PER_S)


def least(on: SetOnChip, row: SiliconRow) -> BaselineRow:
    """The row as rooflines see it; raises ModelError as ``job_of``, ConfigError for a format without a peak."""
    operator = operator_of(row)
    work = operator.work(operator.sizes(row))
    peaks = _macs_per_s(on.chip, row.format), _bytes_per_s(on.chip)
    macs_us, bytes_us = work.macs * US_PER_S / peaks[0], work.elements * size_bytes(row.format) * US_PER_S / peaks[1]
    return BaselineRow(row.case, row.time_us, float(macs_us), float(bytes_us))


def _macs_per_s(chip: Architecture, dtype: str) -> Fraction:
    """Of all arrays at the chip's own clock, whatever a platform sustains."""
    stated = chip.base or chip
    return sum((a.rows * a.cols * a.rate(dtype, dtype) * a.copies * a.clock_hz for a in stated.arrays), Fraction(0))


def _bytes_per_s(chip: Architecture) -> Fraction:
    rates = [dram_bytes_per_s(memory) for memory in chip.memories if memory.kind == "dram"]
    known = [rate for rate in rates if rate is not None]
    if len(known) != len(rates) or not known:
        raise ConfigError(f"chip '{chip.name}': no DRAM whose peak is known")
    return sum(known, Fraction(0))
