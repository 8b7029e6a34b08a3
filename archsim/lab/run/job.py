"""A job: what is asked of a run, resolved step by step into workload, chip and compiled Program."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.caches import folder
from archsim.base.errors import ArchsimError, ConfigError, MappingError
from archsim.ir.activity import to_cycles
from archsim.ir.check.mapping import check_mapping
from archsim.ir.mapping import ModelMapping
from archsim.ir.program import Program
from archsim.ir.result_parts import BEST, IN_TURN, LAYERS, PLATFORM, RunOptions
from archsim.ir.workload import Workload
from archsim.lab.kit import options
from archsim.lab.kit.gc_pause import collect_stopped, uncollected
from archsim.lab.kit.platforms import check_platforms
from archsim.lab.kit.text import read_text
from archsim.lab.run.fidelity import affordable, with_fidelity
from archsim.lab.run.fits import check_fit
from archsim.lab.run.network_shares import network_shares
from archsim.lab.run.offchip import outer_rates
from archsim.lab.run.replay_blocks import LeftOut, leave_out, lengthened
from archsim.report.kit.number_format import counted
from archsim.spec import load
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from archsim.graph.lowering.lower import LoweredModel
    from mapper.compile import Compiled
    from mapper.options import Options

ModelLike = str | Path | Workload
ChipLike = str | Path | Architecture
Progress = Callable[[str], None]

ASM = ".asm"
_MOST_KEPT = 0.5  # of the layers, where equal blocks are left out without being asked for
_LEAST_LEFT_OUT = 10**9  # multiply-accumulates
_NETTED = (LAYERS, BEST)  # schedules of which what other objectives find is simulated too
FLAGS = {"parameters": "parameter"}  # of fields whose option is called otherwise


class BlocksApartError(ConfigError):
    """Equal blocks of layers are asked to be repeated, and run otherwise."""


def quiet(_: str) -> None:
    """A Progress that says nothing."""


@dataclass(frozen=True)
class Job:
    """``model`` and ``chip`` by name, path or object; ``values``: chip keys to set; ``dtype`` as typed; ``batch`` None
    = as the model states, 1 where it leaves it open; ``numbers``: (scale, zero) of tensors; ``fidelity`` of DRAM and
    network, None = the chip's as far as it is affordable; ``warm``: runs before the one that gives the throughput;
    ``repeat``: exact, or steady: equal ones of these runs (see repetition), without ``warm`` equal blocks of
    layers (see replay_blocks), are not simulated again, or auto: steady where that spares half of the layers of a
    single run, of which many MACs, and no mapping file is stated; ``lookups``: access patterns of nodes that look
    rows up, by name; ``parameters``: of the model, by name; ``mapping``: a mapping file whose layers are taken
    instead of searched; ``refine``: candidates of each layer that the simulator may rank (0: the analytic best is
    taken); ``workers``: processes that search; ``search``: the mapping search by its name, which draws by
    ``seed``; ``schedule``: layers, best, which has groups of them too, platform or a schedule policy by its name;
    ``net``: what other objectives find is simulated too, and the best is kept (``archsim.lab.run.net``); ``kept``:
    whose mappings are taken, where those of the objective are not: another one's, or ``in turn``.
    """

    model: ModelLike
    chip: ChipLike
    batch: int | None = None
    objective: str = "latency"
    dtype: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0
    on_unsupported: str = "error"
    numbers: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    fidelity: str | None = None
    warm: int | None = None
    repeat: str = "exact"
    lookups: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    mapping: Path | None = None
    refine: int = 0
    workers: int = 1
    search: str = "exhaustive"
    schedule: str = BEST
    net: bool = False
    kept: str = ""

    @property
    def is_program(self) -> bool:
        """Whether the model is a Program as text."""
        return not isinstance(self.model, Workload) and Path(self.model).suffix == ASM

    def on(self, chip: Architecture) -> Job:
        """The same job on another chip, once."""
        repeat = self.repeat if self.spares_blocks else "exact"
        return replace(self, chip=chip, values={}, fidelity=None, warm=None, repeat=repeat, net=False)

    @property
    def has_net(self) -> bool:
        """Whether what other objectives find is simulated too: not where a file or a search is stated, or the simulator
        ranks."""
        stated = (
            self.is_program or self.mapping is not None or self.search != Job.search or self.schedule not in _NETTED
        )
        return self.net and not stated and not self.refine

    @property
    def spares_blocks(self) -> bool:
        """Whether of equal blocks of layers only some may be simulated."""
        return self.repeat != "exact" and self.warm is None


@dataclass(frozen=True)
class BuiltJob:
    """What the machine needs, and where it comes from; no workload and no mapping for a Program as text.

    ``text_sha256`` is the Program's text's, ``mapping_sha256`` the mapping file's, ``warnings`` are the compiler's.
    ``left_out``: blocks of layers of the workload that the Program does without; ``lowered``: the mapping that it comes
    from, which has no layers of these blocks, but places; None where that is the whole ``mapping``.
    """

    architecture: Architecture
    program: Program
    workload: Workload | None = None
    mapping: ModelMapping | None = None
    warnings: tuple[str, ...] = ()
    text_sha256: str = ""
    mapping_sha256: str = ""
    left_out: tuple[LeftOut, ...] = ()
    lowered: ModelMapping | None = None

    def options(self, job: Job) -> RunOptions:
        """The options that the result depends on, with what they resolved to; the seed has its own place."""
        found: RunOptions = {
            "objective": job.objective,
            "batch": self.workload.batch if self.workload is not None else None,
            "dtypes": {**self.mapping.dtypes, **options.parse_dtypes(job.dtype)} if self.mapping is not None else None,
            "set": {key: str(value) for key, value in sorted(job.values.items())},
            "on_unsupported": job.on_unsupported,
            "fidelity": job.fidelity,
        }
        if job.mapping is not None:
            found["mapping"] = self.mapping_sha256
        if job.refine:
            found["refine"] = job.refine
        if job.search != Job.search:
            found["search"] = job.search
        if job.schedule != Job.schedule:
            found["schedule"] = job.schedule
        if job.lookups:
            found["lookups"] = dict(sorted(job.lookups.items()))
        if job.parameters:
            found["parameters"] = dict(sorted(job.parameters.items()))
        words = [*job.lookups.values(), *(value for value in job.parameters.values() if isinstance(value, str))]
        digest = traces_sha256(self.workload) if words and self.workload is not None else ""
        if digest:
            found["traces_sha256"] = digest
        return found


def build(job: Job, say: Progress = quiet, keep: ModelMapping | None = None) -> BuiltJob:
    """Load model and chip, map, check the mapping and lower; raises Config-, Model-, Mapping- and (.asm) ProgramError.

    ``keep``: a mapping of the same model that is taken instead of searching one; refused where the chip cannot run it.
    """
    options.check_objective(job.objective)
    options.parse_dtypes(job.dtype)
    architecture = load_chip(job)
    if job.is_program:
        program, digest = read_program(job)
        return BuiltJob(architecture, program, text_sha256=digest)
    asked = prepare(job, architecture, say)
    return compiled(job, architecture, asked if keep is None else asked.keeping(keep))


def compiled(job: Job, architecture: Architecture, asked: CompileRequest) -> BuiltJob:
    """What a job that is no Program asks of the compiler, mapped, checked and lowered; raises Config- and
    MappingError."""
    left_out = _left_out(job, asked.workload)
    found = _compiled(job, architecture, asked.without(left_out))
    mapping = lengthened(found.mapping, left_out)
    if mapping is None:
        if job.repeat == "steady":
            raise BlocksApartError(
                "--repeat steady: groups of layers tell equal blocks apart; allowed with --schedule layers, or with "
                "--repeat exact"
            )
        return compiled(replace(job, repeat="exact"), architecture, asked)
    warnings = (*asked.strangers, *found.warnings)
    return BuiltJob(
        architecture, found.program, asked.workload, mapping, warnings, mapping_sha256=asked.mapping_sha256,
        left_out=left_out, lowered=found.mapping if left_out else None,
    )  # fmt: skip


def _compiled(job: Job, architecture: Architecture, asked: CompileRequest) -> Compiled:
    """What the compiler makes of it; raises Config- and MappingError."""
    from mapper.compile import compile_model

    try:
        with uncollected():
            found = compile_model(asked.workload, architecture, asked.options)
            _check(found.mapping, asked.workload, architecture, job)
    except (ConfigError, MappingError) as error:
        raise asked.explained(error) from None
    return found


def _left_out(job: Job, workload: Workload) -> tuple[LeftOut, ...]:
    """The equal blocks of layers that are not simulated; raises ConfigError for ``steady`` beside a mapping file."""
    if not job.spares_blocks or (job.mapping is not None and job.repeat == "auto"):
        return ()
    if job.mapping is not None:
        raise ConfigError(
            f"--repeat steady: {job.mapping} states a mapping, which may tell equal blocks of layers apart; allowed "
            "with --repeat exact"
        )
    found = leave_out(workload)
    return () if job.repeat == "auto" and not _is_worth_it(workload, found) else found


def _is_worth_it(workload: Workload, left_out: Sequence[LeftOut]) -> bool:
    """Whether what is left out is most of a model and takes long to simulate.

    In small models blocks of layers take less time than there is between refreshes: none stands for the others.
    """
    if not left_out:
        return False
    short = left_out[-1].short
    return len(short.layers) <= _MOST_KEPT * len(workload.layers) and workload.macs - short.macs >= _LEAST_LEFT_OUT


def _check(mapping: ModelMapping, workload: Workload, architecture: Architecture, job: Job) -> None:
    """Refuse a mapping that speaks of what layer or chip lack; that is our own fault where no file states it."""
    try:
        check_mapping(mapping, workload, architecture)
    except MappingError as error:
        if job.mapping is None:
            error.exit_code = 1
        raise


@dataclass(frozen=True)
class CompileRequest:
    """What the compiler is asked; ``strangers``: what a mapping file was made for, where that is something else;
    ``policy``: of the chip's platform."""

    workload: Workload
    options: Options
    strangers: tuple[str, ...] = ()
    mapping_sha256: str = ""
    policy: str = ""

    def keeping(self, mapping: ModelMapping) -> CompileRequest:
        """The same with every layer and placement of a mapping stated, but for layers of the host, which have none."""
        from mapper.options import Given

        layers = {layer.layer: layer for layer in mapping.layers if layer.kind != "host"}
        given = Given(layers, {item.tensor: item for item in mapping.placements}, groups=mapping.groups)
        policy = mapping.schedule or self.options.policy
        return replace(self, options=replace(self.options, given=given, fences=mapping.fences, policy=policy))

    def by(self, kept: str) -> CompileRequest:
        """The same where the mappings of another objective are taken, layers run one by one (``layers``) or each by
        itself ``in turn``; '' as it is."""
        if kept == IN_TURN:
            return replace(self, options=replace(self.options, fences="all"))
        if kept == LAYERS:
            return replace(self, options=replace(self.options, schedule=LAYERS))
        if kept == PLATFORM:
            return replace(self, options=replace(self.options, schedule=LAYERS, policy=self.policy))
        return replace(self, options=replace(self.options, objective=kept)) if kept else self

    def without(self, left_out: Sequence[LeftOut]) -> CompileRequest:
        """The same of the network in which blocks are left out."""
        if not left_out:  # nothing changes
            return self
        short, given = left_out[-1].short, self.options.given
        names = {layer.name for layer in short.layers}
        layers = {name: layer for name, layer in given.layers.items() if name in names}
        groups = tuple(group for group in given.groups if names.issuperset(each.layer for each in group.members))
        given = replace(given, layers=layers, groups=groups)
        return replace(self, workload=short, options=replace(self.options, given=given))

    def explained(self, error: ArchsimError) -> ArchsimError:
        """The error, with what the mapping file was made for behind it."""
        if not self.strangers:
            return error
        kind = ConfigError if isinstance(error, ConfigError) else MappingError
        return kind("; ".join([str(error), *self.strangers]))


def prepare(job: Job, architecture: Architecture, say: Progress = quiet) -> CompileRequest:
    """Read the model and the mapping file of a job that is no Program; raises Config-, Model- and MappingError."""
    from mapper.compile import Options, formatted, resolve_dtypes

    objective, dtypes = options.check_objective(job.objective), options.parse_dtypes(job.dtype)
    policy = options.policy_of(job.schedule, architecture)
    _check_mappable(job, architecture)
    say("reading the model")
    workload = formatted(load_workload(job), architecture, dtypes)
    check_fit(workload, architecture, dtypes, job.chip, job.values)
    say(f"mapping {counted(len(workload.layers), 'layer')}")
    asked = Options(
        objective, dtypes, folder(), outer_rates(architecture), network_shares(architecture), numbers=job.numbers,
        workers=job.workers, refine=job.refine, simulate=_alone(job, architecture, say) if job.refine else None,
        search=job.search, seed=str(job.seed), schedule=LAYERS if policy else job.schedule, policy=policy,
    )  # fmt: skip
    if job.mapping is None:
        platform = architecture.platforms.get(architecture.platform)
        return CompileRequest(workload, asked, policy=platform.policy if platform is not None else "").by(job.kept)
    from archsim.lab.run import mapping_file

    pinned = mapping_file.load(job.mapping)
    found = CompileRequest(workload, asked, pinned.strangers(workload, architecture), pinned.sha256)
    try:
        given = pinned.given(workload, resolve_dtypes(architecture, dtypes))
    except (ConfigError, MappingError) as error:
        raise found.explained(error) from None
    mapping = pinned.file.mapping
    policy = pinned.policy(job.schedule, policy)
    schedule = LAYERS if policy else asked.schedule
    asked = replace(asked, given=given, fences=mapping.fences, schedule=schedule, policy=policy)
    return replace(found, options=asked)


def _check_mappable(job: Job, architecture: Architecture) -> None:
    """Refuse what only Programs as text may use, before anything is searched."""
    if not architecture.dma.merged:
        return
    key = f"{architecture.dma.name}.merged"
    place = job.chip.name if isinstance(job.chip, Architecture) else load.where(job.chip, job.values, key)
    raise ConfigError(
        f"{place}: {key}: found true; the mapper cannot order loads and stores in one queue yet; allowed false, or a "
        f"Program ({ASM}) as the model, which the machine runs on such a chip"
    )


def _alone(job: Job, architecture: Architecture, say: Progress) -> Callable[[Program], int]:
    """What gives the compiler the cycles of a layer's Program, at the fidelity of a run of it."""
    from archsim.system import simulate

    def cycles(program: Program) -> int:
        say(f"simulating mappings of {program.layers[0]}")
        chip = architecture if job.fidelity is not None else affordable(architecture, program)[0]
        collect_stopped()
        with uncollected():
            return to_cycles(simulate(program, chip).total_ps, architecture.clock_hz)

    return cycles


def traces_sha256(workload: Workload) -> str:
    """SHA-256 of the rows that layers look up by a trace, which may have come from files; '' where none does."""
    operands = ((layer.name, operand) for layer in workload.layers for operand in (*layer.inputs, layer.output))
    traces = [(name, op.rows.indices.trace) for name, op in operands if op.rows and op.rows.indices.kind == "trace"]
    return hashlib.sha256(repr(traces).encode()).hexdigest() if traces else ""


def load_chip(job: Job, origin: str = "") -> Architecture:
    """The job's chip with its values set; ``origin`` names them in messages, where they are no options."""
    if isinstance(job.chip, Architecture):
        found = load.replace(job.chip, job.values, origin=origin or "replace") if job.values else job.chip
    else:
        found = load.load(job.chip, job.values or None, origin=origin or "--set")
    check_platforms(found, lambda path: _place(job, path, origin))
    return with_fidelity(found, job.fidelity) if job.fidelity is not None else found


def _place(job: Job, key_path: str, origin: str) -> str:
    """The place that states a key of the job's chip: the chip's name where it was made of no file."""
    if isinstance(job.chip, Architecture):
        return f"chip '{job.chip.name}'"
    return load.where(job.chip, job.values, key_path, origin=origin or "--set")


def load_workload(job: Job) -> Workload:
    """The model of a job that is no Program; raises ConfigError for options that it has no use for, ModelError."""
    if isinstance(job.model, Workload):
        if job.batch not in (None, job.model.batch):
            raise ConfigError(f"batch: found {job.batch}; the model was loaded with batch={job.model.batch}")
        if job.lookups:
            raise ConfigError("lookups: the model was loaded with its access patterns; state them when loading it")
        if job.parameters:
            raise ConfigError("parameters: the model was loaded with its parameters; state them when loading it")
        return job.model
    return imported(job).workload


def imported(job: Job) -> LoweredModel:
    """The model of a job that names one, as a Workload with the graph it comes from."""
    from archsim.frontend.load import import_model

    assert not isinstance(job.model, Workload)
    return import_model(
        job.model,
        batch=job.batch,
        on_unsupported=job.on_unsupported,
        parameters=job.parameters,
        lookups=job.lookups,
    )


def read_program(job: Job) -> tuple[Program, str]:
    """The Program of a job as text, and the hash of it; raises ConfigError for options of what is compiled."""
    from archsim.ir.asm.parser import parse_program

    plain = Job(job.model, job.chip)
    if job.repeat == "steady" and job.warm is None:
        raise ConfigError(
            f"--repeat steady: the Program {job.model} has commands and no blocks of layers; with --warm equal runs "
            "of it are simulated once"
        )
    for name in (
        "batch",
        "objective",
        "dtype",
        "on_unsupported",
        "lookups",
        "parameters",
        "mapping",
        "refine",
        "search",
        "schedule",
    ):
        if getattr(job, name) != getattr(plain, name):
            flag = "--" + FLAGS.get(name, name.replace("_", "-"))
            raise ConfigError(f"{flag}: the Program {job.model} is compiled already; compile the model anew instead")
    path = Path(str(job.model))
    text = read_text(path)
    return parse_program(text, str(path)), hashlib.sha256(text.encode()).hexdigest()
