"""The command line. Commands are thin: they read options, call the lab and print; libraries load when needed.

Exit codes: 0 good; 1 a threshold missed or a simulation failed; 2 bad usage or bad input, with one message.
"""

from __future__ import annotations

import atexit
import copy
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EROFS
from pathlib import Path
from typing import Annotated

import typer

from archsim.base import registry
from archsim.base.errors import ArchsimError
from archsim.base.version import __version__
from archsim.base.writable import check_directory
from archsim.cli import ending, existing, importing, model, noc, report, silicon, sweep
from archsim.cli import options as opt
from archsim.cli.printing import progress, put, say_error
from archsim.lab.kit import gc_pause

FULL = (ENOSPC, EDQUOT, EFBIG, EIO, EROFS)  # errors of the system that are a disk's

app = typer.Typer(cls=opt.CommandGroup, no_args_is_help=True, pretty_exceptions_enable=False)


def _tell_version(asked: bool) -> None:
    if asked:
        put(f"archsim {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; works anywhere.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    """From a model and a chip to cycles, joules and mm2, with every lost cycle explained."""
    registry.check_directories()


app.command("run")(model.run)
app.command("map")(model.map_)
app.command("asm")(model.asm)
app.command("verify")(model.verify)
app.command("noc")(noc.noc)
app.command("sweep")(sweep.sweep)
app.command("compare")(report.compare)
app.command("report")(report.report)
app.command("import")(importing.import_)


@app.command("dram")
def dram(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="CSV or parquet: cycle or time_ns, address, write.")],
    standard: Annotated[str, typer.Option(metavar="NAME", help="A DRAM standard; 'show dram' lists them.")],
    speed: Annotated[int, typer.Option(metavar="MT/S", min=1, help="Transfers per second and pin, in millions.")],
    channels: Annotated[
        int, typer.Option(min=1, metavar="N", help="Channels; the address bits above a burst choose one.")
    ] = 1,
    width: Annotated[
        int | None, typer.Option(metavar="BITS", min=1, help="Data bits of a channel. Default: the standard's usual.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Bytes of all channels, such as '8 GiB'.")
    ] = None,
    map_: Annotated[
        str,
        typer.Option(
            "--map",
            metavar="MAP",
            help="Order of the address: RoBaRaCoCh, MOP4CLXOR or fields from the highest bit down.",
        ),
    ] = "RoBaRaCoCh",
    rows: Annotated[
        opt.RowsChoice, typer.Option(help="Keep rows open, close them behind their last access, or close idle ones.")
    ] = (opt.RowsChoice.OPEN),
    row_timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="With --rows timeout: how long a row may idle. Default: 100 ns.")
    ] = None,
    refresh: Annotated[
        opt.RefreshChoice, typer.Option(help="Refresh all banks of a rank at once, bank by bank, or never.")
    ] = (opt.RefreshChoice.ALL_BANK),
    ipc: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Requests offered in a cycle, over all channels. Default: 8 for each."),
    ] = None,
    out: opt.PartOutOption = None,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
) -> None:
    """Replay a request trace on the memory model alone: bandwidth, latency, rows, commands, energy."""
    from archsim.lab.dram.measure import DramReplay, measure
    from archsim.report.dram import page, terminal
    from archsim.report.kit import part_page
    from archsim.report.kit.console import columns, folded

    if out is not None:
        check_directory(out)
        part_page.check_free(out, page.KIND)
    asked = DramReplay(
        trace=trace, standard=standard, speed_mts=speed, channels=channels, width_bits=width, capacity=capacity,
        mapping=map_, rows=rows.value, row_timeout=row_timeout, refresh=refresh.value, requests_per_cycle=ipc,
    )  # fmt: skip
    with progress() as say:
        found = measure(asked, say)
    paths = part_page.save(out, found, page.KIND) if out is not None else []
    table = "\n".join([folded(terminal.to_table(found, columns()), columns()), *map(str, paths)])
    put(terminal.to_json(found) if format_ is opt.OutputFormat.JSON else table)


@app.command("validate")
def validate(
    suite: Annotated[
        str,
        typer.Argument(metavar="SUITE", help="What is compared: dram, mapping, noc, systolic, area, power or silicon."),
    ],
    reference: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Take reference data of the same format from here.")
    ] = None,
    allow_skipped: Annotated[
        bool,
        typer.Option(
            "--allow-skipped",
            help="Do not fail where rows with a threshold could not be scored; silicon has no such rows.",
        ),
    ] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME...", help="silicon: this set alone; repeatable.")
    ] = None,
    calibrate: Annotated[
        silicon.CalibrateChoice,
        typer.Option(help="silicon: none leaves out the keys that were fitted to measured rows."),
    ] = silicon.CalibrateChoice.SHIPPED,
    workers: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="silicon: processes.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="silicon, area, power: write pages and rows into DIR.")
    ] = None,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
) -> None:
    """Compare with reference data measured elsewhere; exit 1 when a threshold is missed or a row is not scored.

    The suites area, power and silicon have no thresholds. The first two print their scores; silicon counts what cannot
    be run, says why, and exits with 1 where no row can be.
    """
    from archsim.lab.validate import suites
    from archsim.report.checks import validation
    from archsim.report.kit.console import columns, folded

    if suite in suites.EXISTING:
        _alone(
            "silicon",
            {"--set": set_, "--jobs": workers > 1, "--calibrate": calibrate is not silicon.CalibrateChoice.SHIPPED},
        )
        _alone("dram, mapping, noc or systolic", {"--allow-skipped": allow_skipped})
        existing.validate(suite, reference, out, format_)
        return
    if suite == suites.SILICON:
        if allow_skipped:
            said = "is no option of the suite silicon: rows that cannot be run are counted and do not fail"
            raise typer.BadParameter(said, param_hint="--allow-skipped")
        silicon.validate(reference, tuple(set_ or ()), calibrate.value, workers, out, format_)
        return
    _alone(
        "silicon",
        {"--set": set_, "--jobs": workers > 1, "--calibrate": calibrate is not silicon.CalibrateChoice.SHIPPED},
    )
    _alone("silicon, area or power", {"--out": out})
    with progress():
        result = suites.run(suite, reference)
    table = folded(validation.to_table(result), columns())
    put(validation.to_json(result) if format_ is opt.OutputFormat.JSON else table)
    refused = result.incomplete if not allow_skipped else ""
    if refused:
        say_error(f"error: validate {suite}: {refused}; --allow-skipped accepts that")
    if refused or not result.met:
        raise typer.Exit(1)


def _alone(suite: str, given: dict[str, object]) -> None:
    """Refuse options that are given and belong to another suite."""
    for flag in (flag for flag, value in given.items() if value):
        raise typer.BadParameter(f"is an option of the suite {suite}", param_hint=flag)


@app.command("calibrate")
def calibrate(
    chip: Annotated[str, typer.Argument(metavar="CHIP", help="A name of 'show chips' or a file.")],
    set_: Annotated[str, typer.Option("--set", metavar="NAME", help="The set of measured rows.")],
    reference: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Take the set from here, in the form of the shipped ones.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="KEY...",
            help="Number of the platform to fit, such as host.floor, host.floor.Softmax or clock_share; repeatable. "
            "Those that the chip file says were fitted to this set, unless given.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes that run rows.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a chip file (.yaml) that extends CHIP by what was fitted."),
    ] = None,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
) -> None:
    """Fit a few numbers of a chip's platform to measured rows: half of them are fitted, the others are only scored."""
    silicon.calibrate(chip, set_, reference, tuple(key or ()), workers, out, format_)


@app.command("show")
def show(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="chips, models, scenarios, dram, technologies, links, dataflows, topologies, operators, passes, "
            "frontends, searches, explore, schema; kinds: what one file adds, and where it goes.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="With 'chips': print this chip resolved; with 'technology': the figures of this node, each with how "
            "sure it is; with 'schema': print this JSON Schema; with 'models' and --passes or --graph: a model's name "
            "or file.",
        ),
    ] = None,
    passes: Annotated[
        bool, typer.Option("--passes", help="Of a model: what each graph pass put together, and from how many pieces.")
    ] = False,
    graph: Annotated[
        bool, typer.Option("--graph", help="Of a model: its graph as the passes leave it, each node with shapes.")
    ] = False,
) -> None:
    """What exists, one line each."""
    from archsim.lab.files import show as lists

    asked = {"--passes": lists.model_passes} if passes else {}
    asked |= {"--graph": lists.model_graph} if graph else {}
    option = " or ".join(asked)
    if asked and (kind != "models" or name is None or len(asked) > 1):
        raise typer.BadParameter(f"of one model: show models NAME {option}", param_hint=option)
    if name is None or asked:
        lines = asked[option](name) if name is not None else lists.listing(kind)
        width = max((len(entry) for entry, _ in lines), default=0)
        put("\n".join(f"{entry:{width}}  {about}".rstrip() for entry, about in lines))
        return
    if kind not in lists.PRINTED:
        known = "'show chips NAME', 'show technology NAME' and 'show schema NAME'"
        said = f"only {known} take a name; 'show {kind}' lists what there is"
        raise typer.BadParameter(said, param_hint="NAME")
    put(lists.PRINTED[kind](name), end="")


@app.command("check")
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Chips, models, mappings, sweeps, Programs, ...: files, or names of what is shipped.",
        ),
    ],
    on: Annotated[
        str | None,
        typer.Option(metavar="CHIP", help="The FILEs are models: has this chip all that they need?"),
    ] = None,
    dtype: opt.DtypeOption = None,
    set_: opt.SetOption = None,
) -> None:
    """Check files without running them, or models against a chip without mapping them."""
    from archsim.lab.files.check_files import check_file, check_model, files_of
    from archsim.spec.load import assignments

    if on is None and (dtype or set_):
        raise typer.BadParameter("of a model on a chip; add --on CHIP", param_hint="--dtype" if dtype else "--set")
    values = assignments(set_ or [])
    failed = False
    for name in files:
        try:
            if on is None:
                for path in files_of(name):
                    put(f"{path}: {check_file(path)}")
            else:
                put(f"{name}: {check_model(name, on, dtype, values)}")
        except ArchsimError as error:
            failed = True
            say_error(str(error))
    if failed:
        raise typer.Exit(2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs the command, turns errors into one message and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    gc_pause.seldom()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looks through all that is installed
    atexit.register(gc.freeze)  # the process gives all back at once: nothing is looked through for that
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with ending.ending() as end_of_command:
        try:
            _run([arg for arg in given if arg != "--debug"], debug)
        except SystemExit as end:
            unwritten = ending.flush()
            if unwritten:
                say_error(unwritten)
                sys.exit(end_of_command.code(end.code) or ending.UNWRITTEN)
            sys.exit(end_of_command.code(end.code))


def _run(arguments: list[str], debug: bool) -> None:
    """The command; always raises SystemExit."""
    try:
        _asked(arguments)(arguments, prog_name="archsim")
    except KeyboardInterrupt:
        sys.exit(ending.INTERRUPTED)
    except ArchsimError as error:
        _fail(f"error: {error}", error.exit_code, debug)
    except MemoryError as error:
        _fail(f"error: {' '.join(['no memory is left', *getattr(error, '__notes__', ())])}", 1, debug)
    except OSError as error:
        _fail(_of_system(error), ending.UNWRITTEN, debug)
    except Exception as error:
        _fail(_internal(error), 1, debug)


def _asked(arguments: Sequence[str]) -> typer.Typer:
    """The command line; with one command alone where that stands first, as each takes time to be made."""
    named = [each for each in app.registered_commands if arguments[:1] == [each.name]]
    if not named:
        return app
    alone = copy.copy(app)
    alone.registered_commands = named
    return alone


def _of_system(error: OSError) -> str:
    """What is said of a disk that is full or broken, wherever that was met."""
    if error.errno not in FULL:
        return _internal(error)
    if error.filename:
        return f"error: {error.filename}: cannot be written ({error.strerror})"
    return ending.unwritten(error)


def _internal(error: Exception) -> str:
    return f"internal error: {type(error).__name__}: {error}; --debug shows where"


def _fail(message: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
        message = message.removesuffix("; --debug shows where")
    with suppress(OSError):
        say_error(message)
    sys.exit(code)


if __name__ == "__main__":
    main()
