"""The command ``noc``: the network model on its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from archsim.base.errors import ConfigError
from archsim.base.writable import check_directory, check_file, write
from archsim.cli import options as opt
from archsim.cli.printing import progress, put

_PAIR = re.compile(r"\s*(\d{1,6})\s*-\s*(\d{1,6})\s*")
_PLOTS = (".png", ".svg", ".pdf")


class NocFidelity(StrEnum):
    """How the network is simulated."""

    FLIT = "flit"
    LINK = "link"


class RouteOrder(StrEnum):
    """The order of dimensions in routes."""

    XY = "xy"
    YX = "yx"


def noc(
    topology: Annotated[str, typer.Option(metavar="NAME", help="mesh, torus, ring, crossbar, ...: 'show topologies'.")],
    shape: Annotated[str, typer.Option(metavar="AxB", help="Routers along each dimension; the topology says which.")],
    traffic: Annotated[
        str,
        typer.Option(metavar="NAME", help="Who sends to whom: uniform, transpose, bitcomp, tornado, hotspot_A_B, ..."),
    ] = "uniform",
    packet: Annotated[int, typer.Option(min=1, metavar="FLITS", help="Flits of a packet.")] = 1,
    rates: Annotated[
        str | None,
        typer.Option(metavar="R,R", help="Offered loads, in flits per node and cycle. Default: up to saturation."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Send these packets instead: CSV or parquet with cycle, source, target, flits."
        ),
    ] = None,
    vcs: Annotated[int, typer.Option(metavar="N", help="Virtual channels of each port.")] = 4,
    buffer: Annotated[int, typer.Option(metavar="FLITS", help="Flits that a virtual channel holds.")] = 8,
    routing: Annotated[
        RouteOrder, typer.Option(help="Go along the dimensions first to last, or last to first.")
    ] = RouteOrder.XY,
    routing_delay: Annotated[
        int, typer.Option(metavar="CYCLES", help="Cycles to find a route; 0: a router ahead has found it.")
    ] = 1,
    link_delay: Annotated[
        int | None, typer.Option(metavar="CYCLES", help="Cycles of each link. Default: the topology's own.")
    ] = None,
    links: Annotated[str | None, typer.Option(metavar="A-B,C-D", help="The links of a point_to_point network.")] = None,
    fidelity: Annotated[NocFidelity, typer.Option(help="Simulate flit by flit, or reserve links packet by packet.")] = (
        NocFidelity.FLIT
    ),
    seed: Annotated[int, typer.Option(min=0, max=2**30 - 3, metavar="N", help="Seed of the traffic.")] = 0,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the curve: .png, .svg or .pdf.")] = None,
    out: opt.PartOutOption = None,
    format_: opt.FormatOption = opt.OutputFormat.TABLE,
) -> None:
    """Simulate a network alone: latency against offered load, or a trace of packets; load of each link."""
    from archsim.lab.noc.measure import NocOptions, measure
    from archsim.lab.noc.packets import deliver
    from archsim.noc.parameters import RouterParameters
    from archsim.report.kit.console import columns, folded
    from archsim.report.noc import terminal as page

    if plot is not None and (trace is not None or plot.suffix not in _PLOTS):
        wrong = "with --trace" if trace is not None else f"'{plot.name}'"
        raise ConfigError(f"--plot: found {wrong}; allowed without --trace, ending in {', '.join(_PLOTS)}")
    if plot is not None:
        check_file(plot)
    if out is not None:
        _check_out(out)
    if trace is not None:
        _check_alone(traffic=traffic, packet=packet, rates=rates)
    asked = NocOptions(
        topology=topology,
        shape=_shape(shape),
        traffic=traffic,
        flits=packet,
        rates=_rates(rates),
        router=RouterParameters(vcs=vcs, vc_buffer=buffer, routing_delay=routing_delay),
        link_delay_cycles=link_delay,
        order=routing.value,
        links=_links(links),
        seed=seed,
        fidelity=fidelity.value,
    )
    with progress() as say:
        found = measure(asked, say) if trace is None else deliver(asked, trace, say)
    if plot is not None:
        drawn = BytesIO()
        page.figure(found).savefig(drawn, dpi=130, format=plot.suffix[1:])
        write(plot, drawn.getvalue())
    paths = _saved(out, found) if out is not None else []
    width = columns()
    table = "\n".join([folded(page.to_table(found, width), width), *map(str, paths)])
    put(page.to_json(found) if format_ is opt.OutputFormat.JSON else table)


def _check_out(out: Path) -> None:
    from archsim.report.kit.part_page import check_free
    from archsim.report.noc.page import KIND

    check_directory(out)
    check_free(out, KIND)


def _saved(out: Path, found: Mapping[str, Any]) -> list[Path]:
    from archsim.report.kit.part_page import save
    from archsim.report.noc.page import KIND

    return save(out, found, KIND)


def _check_alone(**drawn: object) -> None:
    """Options of drawn traffic have no meaning beside a trace."""
    for name, value in drawn.items():
        if value != signature(noc).parameters[name].default:
            raise ConfigError(f"--{name}: found {value} with --trace; allowed without it")


def _shape(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d{0,3}(x[1-9]\d{0,3})*", text):
        raise ConfigError(f"--shape: found '{text}'; allowed numbers joined by 'x', such as 8x8")
    return tuple(int(part) for part in text.split("x"))


def _rates(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--rates: found '{text}'; allowed numbers joined by ',', such as 0.1,0.2") from None


def _links(text: str | None) -> tuple[tuple[int, int], ...] | None:
    if text is None:
        return None
    found = []
    for part in text.split(","):
        match = _PAIR.fullmatch(part)
        if match is None:
            raise ConfigError(f"--links: found '{part}'; allowed pairs of nodes joined by ',', such as 0-1,1-2")
        found.append((int(match[1]), int(match[2])))
    return tuple(found)
