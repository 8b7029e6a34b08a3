"""Options that commands share, and the group they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from archsim.base.caches import switch_off

if TYPE_CHECKING:
    from archsim.lab.run.job import Job

KEYS_AND_VALUES = ("--set", "--parameter")  # options of which one may have several


class ObjectiveChoice(StrEnum):
    """What the mapper minimises."""

    LATENCY = "latency"
    ENERGY = "energy"
    EDP = "edp"


class OutputFormat(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


class UnsupportedChoice(StrEnum):
    """What happens to an operator that is not known."""

    ERROR = "error"
    HOST = "host"


class FidelityChoice(StrEnum):
    """Which models of DRAM and network are used."""

    EXACT = "exact"
    FAST = "fast"


class RepeatChoice(StrEnum):
    """Whether all is simulated, or of what is equal only a part."""

    AUTO = "auto"
    EXACT = "exact"
    STEADY = "steady"


class RowsChoice(StrEnum):
    """What a DRAM controller does with open rows."""

    OPEN = "open"
    CLOSED = "closed"
    TIMEOUT = "timeout"


class RefreshChoice(StrEnum):
    """How a DRAM controller refreshes."""

    ALL_BANK = "all_bank"
    PER_BANK = "per_bank"
    NONE = "none"


class VerifyNumbers(StrEnum):
    """How a verification computes."""

    BOTH = "both"
    FLOAT = "float"
    INT = "int"


def each_of_its_own(args: Sequence[str]) -> list[str]:
    """Words of a command line in which ``--set a=1 b=2`` stands as ``--set a=1 --set b=2``."""
    found: list[str] = []
    option = ""
    for at, word in enumerate(args):
        if word in KEYS_AND_VALUES:
            option = word
        elif option and args[at - 1] != option:
            if "=" not in word or word.startswith("-"):
                option = ""
            else:
                found.append(option)
        found.append(word)
    return found


class CommandGroup(TyperGroup):
    """Commands in the order they are written."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of their definitions."""
        return list(self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Options of keys and values take one or more of them."""
        return super().parse_args(ctx, each_of_its_own(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what is wrong with an option is said without the words of the library that found it."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ").replace("Input should be", "it should be")
            raise


ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A name of 'show models' or a file.")]
ChipOption = Annotated[str, typer.Option("--on", metavar="CHIP", help="A name of 'show chips' or a file.")]
BatchOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="Samples per run. Default: the model's.")]
ObjectiveOption = Annotated[ObjectiveChoice, typer.Option(help="What the mapping minimises.")]
DtypeOption = Annotated[
    str | None,
    typer.Option(
        metavar="DTYPE",
        help="Number format: int8, bf16, or by role, w=int8,a=bf16; of weights packed ones too, w=int4/128, w=mxfp4. "
        "Default: the chip's.",
    ),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE...", help="Set keys of the chip; repeatable.")
]
UnsupportedOption = Annotated[
    UnsupportedChoice, typer.Option(help="Refuse operators that are not known, or run them on the host.")
]
LookupsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NODE=PATTERN", help="Which rows a node looks up, such as 'zipf(exponent=1, seed=0)'; repeatable."
    ),
]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter", metavar="NAME=N...", help="Set parameters of a workload file, config.json or .pt2; repeatable."
    ),
]
MappingOption = Annotated[
    Path | None, typer.Option("--mapping", metavar="FILE", help="Take what a mapping file states; search the rest.")
]
WorkersOption = Annotated[
    int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes that search for mappings.")
]
SearchOption = Annotated[
    str, typer.Option("--search", metavar="NAME", help="How mappings are searched: a name of 'show searches'.")
]
ScheduleOption = Annotated[
    str,
    typer.Option(
        "--schedule",
        metavar="NAME",
        help="layers: one by one; best: layers in a row share passes over tiles where that is expected to be better "
        "(chips of one core); platform: as the policy of the chip's platform allows; or a name of 'show policies'. "
        "run also: both, platform against best.",
    ),
]
PlatformOption = Annotated[
    str | None,
    typer.Option(
        "--platform", metavar="NAME", help="One of the chip's platforms. Default: the one that its file names."
    ),
]
NetOption = Annotated[
    bool, typer.Option("--no-net", help="Take the ranking's mappings; else those of all objectives are simulated once.")
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--limit-memory", metavar="SIZE", help="Stop with a message at this much memory. Default: 80 % of what is free."
    ),
]
PartOutOption = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Write numbers as JSON and csv, and reports, into DIR.")
]
CacheOption = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")]
FormatOption = Annotated[OutputFormat, typer.Option("--format", help="A table for people, or JSON alone.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobOptions:
    """What a command was asked of a model on a chip, as it was typed; options that the command has not keep their
    default. ``job`` reads them."""

    model: str
    on: str
    batch: int | None = None
    objective: ObjectiveChoice = ObjectiveChoice.LATENCY
    dtype: str | None = None
    set_: Sequence[str] | None = None
    no_cache: bool = False
    seed: int = 0
    on_unsupported: UnsupportedChoice = UnsupportedChoice.ERROR
    fidelity: FidelityChoice | None = None
    warm: int | None = None
    repeat: RepeatChoice = RepeatChoice.EXACT
    lookups: Sequence[str] | None = None
    parameter: Sequence[str] | None = None
    mapping: Path | None = None
    refine: int | None = None
    workers: int = 1
    search: str = "exhaustive"
    schedule: str = "best"
    platform: str | None = None
    net: bool = False

    def job(self) -> Job:
        """The job that the lab runs. Switches the cache off where that is asked for; raises ConfigError where an option
        cannot be read."""
        from archsim.lab.kit.options import parse_lookups, parse_parameters, with_platform
        from archsim.lab.run.job import Job
        from archsim.spec.load import assignments

        if self.no_cache:
            switch_off()
        return Job(
            model=self.model,
            chip=self.on,
            batch=self.batch,
            objective=self.objective.value,
            dtype=self.dtype,
            values=with_platform(assignments(self.set_ or []), self.platform, "--set", "--platform"),
            seed=self.seed,
            on_unsupported=self.on_unsupported.value,
            fidelity=self.fidelity.value if self.fidelity else None,
            warm=self.warm,
            repeat=self.repeat.value,
            lookups=parse_lookups(self.lookups or []),
            parameters=parse_parameters(self.parameter or []),
            mapping=self.mapping,
            refine=self.refine or 0,
            workers=self.workers,
            search=self.search,
            schedule=self.schedule,
            net=self.net,
        )
