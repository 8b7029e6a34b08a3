"""The commands that take a model and a chip: run, map, asm, verify. They read options, call the lab and print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from archsim.base.writable import check_directory
from archsim.cli import both, generation, scenario
from archsim.cli import options as opt
from archsim.cli.printing import put, say_error, say_missed, work

if TYPE_CHECKING:
    from archsim.lab.run.job import Job


def run(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A model, its phase as in NAME:decode, a scenario, or a Program text (.asm)."
        ),
    ],
    on: opt.ChipOption,
    batch: opt.BatchOption = None,
    objective: opt.ObjectiveOption = opt.ObjectiveChoice.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    require: Annotated[
        list[str] | None, typer.Option(metavar="'KEY<=NUMBER'", help="Exit 1 unless this holds; repeatable.")
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="What would help? Simulate again with each part enlarged.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write results and reports into DIR.")] = None,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
    trace: Annotated[bool, typer.Option("--trace", help="Also write trace.json (Perfetto) into DIR.")] = False,
    no_cache: opt.CacheOption = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is drawn at random.")] = 0,
    on_unsupported: opt.UnsupportedOption = opt.UnsupportedChoice.ERROR,
    fidelity: Annotated[
        opt.FidelityChoice | None,
        typer.Option(
            help="exact: DRAM by commands, network by flits; fast: by measured rates and by links. Default: the chip's."
        ),
    ] = None,
    warm: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Run N times, then once more, whose interval gives the throughput."),
    ] = None,
    repeat: Annotated[
        opt.RepeatChoice,
        typer.Option(
            help="exact: simulate all; steady: of equal blocks of layers (with --warm: of equal runs) a few; auto: "
            "steady where that spares most of a large model."
        ),
    ] = opt.RepeatChoice.AUTO,
    lookups: opt.LookupsOption = None,
    parameter: opt.ParameterOption = None,
    mapping: opt.MappingOption = None,
    refine: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Simulate up to K mappings of each layer and take the fastest."),
    ] = None,
    workers: opt.WorkersOption = 1,
    search: opt.SearchOption = "exhaustive",
    schedule: opt.ScheduleOption = "best",
    platform: opt.PlatformOption = None,
    no_net: opt.NetOption = False,
    limit_memory: opt.MemoryOption = None,
) -> None:
    """Map, simulate and account for a model, or a scenario of several, on a chip."""
    if trace and out is None:
        raise typer.BadParameter("trace.json goes into a directory: add --out DIR", param_hint="--trace")
    if refine is not None and workers > 1:
        raise typer.BadParameter("one process simulates and searches; leave out --jobs", param_hint="--refine")
    from archsim.lab.kit.options import Requirement, public_keys
    from archsim.lab.run.run import execute
    from archsim.lab.scenario.find import is_scenario

    job = opt.JobOptions(
        model=model, on=on, batch=batch, objective=objective, dtype=dtype, set_=set_, no_cache=no_cache, seed=seed,
        on_unsupported=on_unsupported, fidelity=fidelity, warm=warm, repeat=repeat, lookups=lookups,
        parameter=parameter, mapping=mapping, refine=refine, workers=workers, search=search, schedule=schedule,
        platform=platform, net=not (no_net or is_scenario(model)),
    ).job()  # fmt: skip
    several = _several(job)
    if several is not None:
        if why or trace:
            raise typer.BadParameter(several[0], param_hint="--why" if why else "--trace")
        several[1](job, require or [], out, format_, limit_memory)
        return
    requirements = [Requirement.parse(text, public_keys()) for text in require or []]
    if out is not None:
        check_directory(out)
    with work(limit_memory, workers) as say:
        done = execute(job, say)
        if why:
            done = done.explained(job)
    missed = [item for item in requirements if not item.met(done.summary)]
    paths = done.save(out, trace=trace) if out is not None else []
    _print_run(done.summary, format_, paths)
    say_missed(missed, done.summary)


Several = Callable[["Job", Sequence[str], Path | None, opt.OutputFormat, str | None], None]


def _several(job: Job) -> tuple[str, Several] | None:
    """What runs a job that is several runs, and why that has neither what-ifs nor a trace; None for one run."""
    from archsim.lab.generation.run import asked_steps
    from archsim.lab.scenario.find import is_scenario

    steps = asked_steps(job)
    if job.schedule == both.SCHEDULE and (is_scenario(job.model) or steps is not None):
        raise typer.BadParameter(
            f"both are two runs of one model, and {job.model} is several runs; allowed best, layers, platform",
            param_hint="--schedule",
        )
    if is_scenario(job.model):
        return "a scenario has none; run its models", scenario.run
    if steps is not None:
        return f"{job.model} is several runs; run one", generation.run
    return ("both are two runs; run one", both.run) if job.schedule == both.SCHEDULE else None


def map_(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A name of 'show models' or a file.")] = "",
    on: Annotated[str, typer.Option("--on", metavar="CHIP", help="A name of 'show chips' or a file.")] = "",
    layer: Annotated[str | None, typer.Option(metavar="NAME", help="Only this layer.")] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the mapping as .yaml, or as .txt with a line per level.")
    ] = None,
    batch: opt.BatchOption = None,
    objective: opt.ObjectiveOption = opt.ObjectiveChoice.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    no_cache: opt.CacheOption = False,
    on_unsupported: opt.UnsupportedOption = opt.UnsupportedChoice.ERROR,
    lookups: opt.LookupsOption = None,
    parameter: opt.ParameterOption = None,
    mapping: opt.MappingOption = None,
    workers: opt.WorkersOption = 1,
    search: opt.SearchOption = "exhaustive",
    schedule: opt.ScheduleOption = "best",
    platform: opt.PlatformOption = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what a search draws at random.")] = 0,
    explain: Annotated[
        str | None, typer.Option(metavar="LAYER", help="What bounds a layer, what came second, what would help it.")
    ] = None,
    gap: Annotated[
        bool, typer.Option("--gap", help="Expected against simulated cycles of each layer, worst first.")
    ] = False,
    census: Annotated[
        bool, typer.Option("--census", help="With --gap: the gap, and who beats whom, over many models and chips.")
    ] = False,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
    no_net: opt.NetOption = False,
    limit_memory: opt.MemoryOption = None,
) -> None:
    """Only map: loop nests, bounds, and how far the search went."""
    from archsim.lab.run.map_only import mapped, texts
    from archsim.lab.run.mapping_file import check_writable, write

    if census:
        if not gap or explain is not None or layer is not None or export is not None or mapping is not None:
            raise typer.BadParameter("goes with --gap, and with options of all models alone", param_hint="--census")
    elif not model or not on:
        raise typer.BadParameter("needed, but for --gap --census", param_hint="--on CHIP" if model else "MODEL")
    _check_told(layer, explain, gap, format_, search)
    if export is not None:
        check_writable(export)
    with work(limit_memory, workers) as say:
        job = opt.JobOptions(
            model=model, on=on, batch=batch, objective=objective, dtype=dtype, set_=set_, no_cache=no_cache,
            seed=seed, on_unsupported=on_unsupported, lookups=lookups, parameter=parameter, mapping=mapping,
            workers=workers, search=search, schedule=schedule, platform=platform,
            net=not (no_net or gap or explain is not None),
        ).job()  # fmt: skip
        if census:
            put(_census(job, format_))
            return
        found = mapped(job, say)
        told = _explained(job, explain, format_, say) if explain is not None else None
        told = _gap(job, format_, say) if gap else told
    for warning in found.warnings:
        say_error(f"warning: {warning}")
    for text in texts(found.mapping, found.dataflows, layer) if told is None else (told,):
        put(text)
    if export is not None:
        write(found.mapping, found.workload, export)


def _check_told(layer: str | None, explain: str | None, gap: bool, format_: opt.OutputFormat, search: str) -> None:
    """Refuse options of ``map`` that do not go together."""
    if explain is None and not gap and format_ is opt.OutputFormat.JSON:
        raise typer.BadParameter("loop nests are text; JSON is what --explain and --gap print", param_hint="--format")
    if gap and (explain is not None or layer is not None):
        raise typer.BadParameter("tells of all layers; leave out --layer and --explain", param_hint="--gap")
    if explain is not None and layer is not None:
        raise typer.BadParameter("give the layer to one of --layer and --explain", param_hint="--explain")
    if explain is not None and search != "exhaustive":
        raise typer.BadParameter("tells what the exhaustive search finds; leave out --search", param_hint="--explain")


def _explained(job: Job, layer: str, format_: opt.OutputFormat, say: Callable[[str], None]) -> str:
    from archsim.lab.what_if.explain import explained
    from archsim.report.kit.console import columns, folded
    from archsim.report.run import explanation

    told = explained(job, layer, say).to_json()
    if format_ is opt.OutputFormat.JSON:
        return explanation.to_json(told)
    width = columns()
    return folded(explanation.to_table(told, width), width)


def _census(job: Job, format_: opt.OutputFormat) -> str:
    from archsim.lab.what_if.census import CHIPS, MODELS, census
    from archsim.report.kit.console import columns, folded
    from archsim.report.run import census as tables
    from archsim.report.run import explanation

    models, chips = ((str(given),) if given else usual for given, usual in ((job.model, MODELS), (job.chip, CHIPS)))
    told = census(job, models, chips).to_json()
    if format_ is opt.OutputFormat.JSON:
        return explanation.to_json(told)
    width = columns()
    return folded(tables.to_table(told, width), width)


def _gap(job: Job, format_: opt.OutputFormat, say: Callable[[str], None]) -> str:
    from archsim.lab.what_if.gap import mapping_gap
    from archsim.report.kit.console import columns, folded
    from archsim.report.run import explanation, gap

    told = mapping_gap(job, say).to_json()
    if format_ is opt.OutputFormat.JSON:
        return explanation.to_json(told)
    width = columns()
    return folded(gap.to_table(told, width), width)


def asm(
    model: opt.ModelArgument,
    on: opt.ChipOption,
    batch: opt.BatchOption = None,
    objective: opt.ObjectiveOption = opt.ObjectiveChoice.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    no_cache: opt.CacheOption = False,
    on_unsupported: opt.UnsupportedOption = opt.UnsupportedChoice.ERROR,
    lookups: opt.LookupsOption = None,
    parameter: opt.ParameterOption = None,
    mapping: opt.MappingOption = None,
    search: opt.SearchOption = "exhaustive",
    schedule: opt.ScheduleOption = "best",
    platform: opt.PlatformOption = None,
    no_net: opt.NetOption = False,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="State what elements stand for: calibrates the model on seeded inputs.")
    ] = False,
    limit_memory: opt.MemoryOption = None,
) -> None:
    """Print the Program as an assembly listing, which 'run' and 'verify' accept as MODEL."""
    from archsim.ir.asm.printer import print_program
    from archsim.lab.run.job import build
    from archsim.lab.run.net import settled
    from archsim.lab.verify.model import with_numbers

    with work(limit_memory) as say:
        job = opt.JobOptions(
            model=model, on=on, batch=batch, objective=objective, dtype=dtype, set_=set_, no_cache=no_cache,
            on_unsupported=on_unsupported, lookups=lookups, parameter=parameter, mapping=mapping, search=search,
            schedule=schedule, platform=platform, net=not no_net,
        ).job()  # fmt: skip
        job = settled(job, say)
        program = with_numbers(job, say) if numbers else build(job, say).program
    put(print_program(program), end="")


def verify(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model, or a Program text (.asm).")],
    on: opt.ChipOption,
    layers: Annotated[
        str | None, typer.Option(metavar="A,B", help="Compare only these layers; stop when they are done.")
    ] = None,
    interleavings: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Orders of commands to try. Default: 1, or 20 for a Program text."),
    ] = None,
    numbers: Annotated[
        opt.VerifyNumbers, typer.Option(help="Compute in real numbers, in the chip's integers, or both.")
    ] = opt.VerifyNumbers.BOTH,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Inputs and weights by name; the others are drawn.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="What a Program text computes; tensors are matched by name.")
    ] = None,
    objective: opt.ObjectiveOption = opt.ObjectiveChoice.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
    no_cache: opt.CacheOption = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is drawn at random.")] = 0,
    lookups: opt.LookupsOption = None,
    parameter: opt.ParameterOption = None,
    mapping: opt.MappingOption = None,
    search: opt.SearchOption = "exhaustive",
    schedule: opt.ScheduleOption = "best",
    platform: opt.PlatformOption = None,
    limit_memory: opt.MemoryOption = None,
) -> None:
    """Execute the Program in numbers and hold every layer against the model; exit 1 where they differ."""
    from archsim.lab.verify.ask import ask, verified
    from archsim.report.checks import verification
    from archsim.report.kit.console import columns, folded

    with work(limit_memory) as say:
        job = opt.JobOptions(
            model=model, on=on, objective=objective, dtype=dtype, set_=set_, no_cache=no_cache, seed=seed,
            lookups=lookups, parameter=parameter, mapping=mapping, search=search, schedule=schedule,
        platform=platform,
        ).job()  # fmt: skip
        asked = ask(job, layers, interleavings, numbers.value, inputs, against)
        outcome = verified(asked, say)
    table = folded(verification.to_table(outcome), columns())
    put(verification.to_json(outcome) if format_ is opt.OutputFormat.JSON else table)
    if not outcome.met:
        raise typer.Exit(1)


def _print_run(summary: dict[str, Any], format_: opt.OutputFormat, paths: Sequence[Path]) -> None:
    if format_ is opt.OutputFormat.JSON:
        from archsim.report.run.summary import to_text

        put(to_text(summary), end="")
        return
    from archsim.report.run import terminal

    terminal.show(summary, terminal.console())
    for path in paths:
        put(str(path))
