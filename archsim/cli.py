"""The command line. Commands are thin: they read options, call the lab and print; libraries load when needed.

Exit codes: 0 good; 1 a threshold missed or a simulation failed; 2 bad usage or bad input, with one message.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from archsim import cli_options as opt
from archsim.errors import ArchsimError

if TYPE_CHECKING:
    from archsim.lab.job import Job

_COLLECT = (200_000, 50, 100)  # a run keeps nearly all it makes: looking for garbage less often saves 8 % of it

app = typer.Typer(cls=opt.Group, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; works anywhere.")] = False,
) -> None:
    """From a model and a chip to cycles, joules and mm2, with every lost cycle explained."""


@app.command(cls=opt.RunCommand)
def run(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model, or a Program text (.asm).")],
    on: opt.ChipOption,
    batch: opt.BatchOption = None,
    objective: opt.ObjectiveOption = opt.Objective.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    require: Annotated[
        list[str] | None, typer.Option(metavar="'KEY<=NUMBER'", help="Exit 1 unless it holds; repeatable.")
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="What would help? Simulate again with each part enlarged.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write results and reports into DIR.")] = None,
    format_: opt.FormatOption = opt.Format.TABLE,
    trace: Annotated[bool, typer.Option("--trace", help="Also write trace.json (Perfetto) into DIR.")] = False,
    no_cache: opt.CacheOption = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is drawn at random.")] = 0,
    on_unsupported: opt.UnsupportedOption = opt.Unsupported.ERROR,
    fidelity: Annotated[
        opt.Fidelity | None, typer.Option(help="DRAM command by command, or at measured rates. Default: the chip's.")
    ] = None,
    warm: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Run N times; the last interval gives the throughput.")
    ] = None,
    repeat: Annotated[
        opt.Repeat, typer.Option(help="With --warm: simulate every run, or reuse equal ones.")
    ] = opt.Repeat.EXACT,
    lookups: opt.LookupsOption = None,
) -> None:
    """Map, simulate and account for a model on a chip."""
    if trace and out is None:
        raise typer.BadParameter("trace.json goes into a directory: add --out DIR", param_hint="--trace")
    from archsim.lab.options import Requirement
    from archsim.lab.run import execute

    requirements = [Requirement.parse(text) for text in require or []]
    with _progress() as say:
        job = _job(no_cache, model, on, batch, objective, dtype, set_, seed, on_unsupported, lookups)
        job = replace(job, fidelity=fidelity.value if fidelity else None, warm=warm, repeat=repeat.value)
        done = execute(job, say)
        if why:
            say("simulating what would help")
            done = done.explained(job)
    missed = [item for item in requirements if not item.met(done.summary)]
    paths = done.save(out, trace=trace) if out is not None else []
    _print_run(done.summary, format_, paths)
    for item in missed:
        _say(f"requirement missed: {item}; found {item.value(done.summary):.6g}")
    if missed:
        raise typer.Exit(1)


@app.command("map")
def map_(
    model: opt.ModelArgument,
    on: opt.ChipOption,
    layer: Annotated[str | None, typer.Option(metavar="NAME", help="Only this layer.")] = None,
    export: Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="Write the mapping as YAML.")] = None,
    batch: opt.BatchOption = None,
    objective: opt.ObjectiveOption = opt.Objective.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    no_cache: opt.CacheOption = False,
    on_unsupported: opt.UnsupportedOption = opt.Unsupported.ERROR,
    lookups: opt.LookupsOption = None,
) -> None:
    """Only map: loop nests, bounds, and how far the search went."""
    from archsim.lab.mapping import mapped, texts, write

    with _progress() as say:
        job = _job(no_cache, model, on, batch, objective, dtype, set_, 0, on_unsupported, lookups)
        mapping = mapped(job, say)
    for text in texts(mapping, layer):
        print(text)
    if export is not None:
        write(mapping, export)


@app.command()
def asm(
    model: opt.ModelArgument,
    on: opt.ChipOption,
    batch: opt.BatchOption = None,
    objective: opt.ObjectiveOption = opt.Objective.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    no_cache: opt.CacheOption = False,
    on_unsupported: opt.UnsupportedOption = opt.Unsupported.ERROR,
    lookups: opt.LookupsOption = None,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="State what elements stand for: calibrates the model on seeded inputs.")
    ] = False,
) -> None:
    """Print the Program as an assembly listing, which 'run' and 'verify' accept as MODEL."""
    from archsim.ir.asm.printer import print_program
    from archsim.lab.job import build
    from archsim.lab.verify.model import with_numbers

    with _progress() as say:
        job = _job(no_cache, model, on, batch, objective, dtype, set_, 0, on_unsupported, lookups)
        program = with_numbers(job, say) if numbers else build(job, say).program
    sys.stdout.write(print_program(program))


@app.command()
def verify(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model, or a Program text (.asm).")],
    on: opt.ChipOption,
    layers: Annotated[
        str | None, typer.Option(metavar="A,B", help="Compare only these layers; stop when they are done.")
    ] = None,
    interleavings: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Orders of commands to try. Default: 1; 20 for a Program text."),
    ] = None,
    numbers: Annotated[
        opt.VerifyNumbers, typer.Option(help="In real numbers, in the chip's integers, or both.")
    ] = opt.VerifyNumbers.BOTH,
    inputs: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Inputs and weights by name; the others are drawn.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="What a Program text computes; tensors are matched by name.")
    ] = None,
    objective: opt.ObjectiveOption = opt.Objective.LATENCY,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
    format_: opt.FormatOption = opt.Format.TABLE,
    no_cache: opt.CacheOption = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is drawn at random.")] = 0,
    lookups: opt.LookupsOption = None,
) -> None:
    """Execute the Program in numbers and hold every layer against the model; exit 1 where they differ."""
    from archsim.lab.verify.ask import ask, verified
    from archsim.report import verification

    with _progress() as say:
        job = _job(no_cache, model, on, None, objective, dtype, set_, seed, opt.Unsupported.ERROR, lookups)
        asked = ask(job, layers, interleavings, numbers.value, inputs, against)
        outcome = verified(asked, say)
    print(verification.to_json(outcome) if format_ is opt.Format.JSON else verification.to_table(outcome))
    if not outcome.met:
        raise typer.Exit(1)


@app.command()
def dram(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="CSV or parquet: cycle or time_ns, address, write.")],
    standard: Annotated[str, typer.Option(metavar="NAME", help="A DRAM standard; 'show dram' lists them.")],
    speed: Annotated[int, typer.Option(metavar="MT/S", min=1, help="Transfers per second and pin, in millions.")],
    channels: Annotated[int, typer.Option(min=1, metavar="N", help="The address bits above a burst choose one.")] = 1,
    width: Annotated[int | None, typer.Option(metavar="BITS", min=1, help="Of a channel; as usual if absent.")] = None,
    capacity: Annotated[str | None, typer.Option(metavar="SIZE", help="Of all channels, such as '8 GiB'.")] = None,
    map_: Annotated[
        str, typer.Option("--map", metavar="MAP", help="RoBaRaCoCh, MOP4CLXOR or fields from the highest bit down.")
    ] = "RoBaRaCoCh",
    rows: Annotated[opt.Rows, typer.Option(help="Keep rows open, close them behind the last access, or idle ones.")] = (
        opt.Rows.OPEN
    ),
    row_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --rows timeout: idle time of a row, 100 ns if absent.")
    ] = None,
    refresh: Annotated[opt.Refresh, typer.Option(help="All banks of a rank at once, bank by bank, or never.")] = (
        opt.Refresh.ALL_BANK
    ),
    format_: opt.FormatOption = opt.Format.TABLE,
) -> None:
    """Replay a request trace on the memory model alone: bandwidth, latency, rows, commands, energy."""
    from archsim.lab.dram.measure import Asked, measure
    from archsim.report import dram_trace

    asked = Asked(
        trace=trace, standard=standard, speed_mts=speed, channels=channels, width_bits=width, capacity=capacity,
        mapping=map_, rows=rows.value, row_timeout=row_timeout, refresh=refresh.value,
    )  # fmt: skip
    with _progress() as say:
        found = measure(asked, say)
    print(dram_trace.to_json(found) if format_ is opt.Format.JSON else dram_trace.to_table(found))


@app.command()
def report(directory: Annotated[Path, typer.Argument(metavar="DIR", help="What 'run --out' wrote.")]) -> None:
    """Make report.html and report.md again from stored results."""
    from archsim.report.files import rebuild

    for path in rebuild(directory):
        print(path)


@app.command()
def validate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="dram or systolic")],
    reference: Annotated[Path | None, typer.Option(metavar="DIR", help="Reference data in the same format.")] = None,
    format_: opt.FormatOption = opt.Format.TABLE,
) -> None:
    """Compare with reference data measured elsewhere; exit 1 when a threshold is missed."""
    from archsim.lab import suites
    from archsim.report import validation

    result = suites.run(suite, reference)
    print(validation.to_json(result) if format_ is opt.Format.JSON else validation.to_table(result))
    if not result.met:
        raise typer.Exit(1)


@app.command()
def show(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="chips, models, dram, technologies or dataflows")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="With 'chips': print this one resolved.")] = None,
) -> None:
    """What exists, one line each."""
    from archsim.lab import show as lists

    if name is None:
        lines = lists.listing(kind)
        width = max((len(entry) for entry, _ in lines), default=0)
        print("\n".join(f"{entry:{width}}  {about}".rstrip() for entry, about in lines))
        return
    if kind != "chips":
        raise typer.BadParameter(f"only 'show chips NAME' prints one; 'show {kind}' lists them", param_hint="NAME")
    sys.stdout.write(lists.chip(name))


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Chips, workloads, mappings, Programs.")],
) -> None:
    """Check files without running them."""
    from archsim.lab.check import check_file

    failed = False
    for path in files:
        try:
            print(f"{path}: {check_file(path)}")
        except ArchsimError as error:
            failed = True
            _say(str(error))
    if failed:
        raise typer.Exit(2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs the command, turns errors into one message and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    gc.set_threshold(*_COLLECT)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        app([arg for arg in given if arg != "--debug"], prog_name="archsim")
    except KeyboardInterrupt:
        sys.exit(130)
    except ArchsimError as error:
        _fail(f"error: {error}", error.exit_code, debug)
    except Exception as error:
        hint = "" if debug else "; --debug shows where"
        _fail(f"internal error: {type(error).__name__}: {error}{hint}", 1, debug)


def _fail(message: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    _say(message)
    sys.exit(code)


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def _job(
    no_cache: bool,
    model: str,
    on: str,
    batch: int | None,
    objective: opt.Objective,
    dtype: str | None,
    set_: Sequence[str] | None,
    seed: int,
    on_unsupported: opt.Unsupported,
    lookups: Sequence[str] | None,
) -> Job:
    from archsim.lab import cache
    from archsim.lab.job import Job
    from archsim.lab.options import parse_lookups
    from archsim.spec.load import assignments

    if no_cache:
        cache.switch_off()
    values = assignments(set_ or [])
    patterns = parse_lookups(lookups or [])
    return Job(model, on, batch, objective.value, dtype, values, seed, on_unsupported.value, lookups=patterns)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A spinner with the current step on a terminal; silence in a pipe."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


def _print_run(summary: dict[str, Any], format_: opt.Format, paths: Sequence[Path]) -> None:
    if format_ is opt.Format.JSON:
        from archsim.report.summary import to_text

        sys.stdout.write(to_text(summary))
        return
    from archsim.report import terminal

    terminal.show(summary, terminal.console())
    for path in paths:
        print(path)
