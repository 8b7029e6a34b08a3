"""``details`` of a summary, key by key: what pages draw beyond the public keys. The only place where these are defined.

Who makes them is checked against these types; the JSON Schema of results is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from archsim.ir.causes import CauseKeys
from archsim.ir.keys import COUNT, RATIO, SECOND, TABLE, TEXT, ItemTypes, ResultKey
from archsim.ir.result_parts import GroupFacts, MemoryMap, Net, Predicted, Refinement

StretchDetails = Annotated[list[Any], ItemTypes((int, int, str, str))]
LinkDetails = Annotated[list[int], ItemTypes((int, int, int))]


class ShownCores(TypedDict):
    """Which cores of many are shown, by the time in which they work on a layer."""

    of: Annotated[int, ResultKey(COUNT, "How many cores the chip has.")]
    working: Annotated[int, ResultKey(COUNT, "How many of them work on the layer.")]
    busiest: NotRequired[Annotated[int, ResultKey(COUNT, "The number of the core that works the longest.")]]
    middle: NotRequired[Annotated[int, ResultKey(COUNT, "The number of the one in the middle.")]]
    idlest: NotRequired[Annotated[int, ResultKey(COUNT, "The number of the one that works the least.")]]


class WindowDetails(TypedDict):
    """The timeline of a slow layer. A stretch is its start and end in cycles, its cause, and work, other or wait."""

    layer: Annotated[str, ResultKey(TEXT, "The layer's name.")]
    cycles_start: Annotated[int, ResultKey("cycles", "When the layer starts.")]
    cycles_end: Annotated[int, ResultKey("cycles", "When the layer has ended.")]
    cores: NotRequired[Annotated[ShownCores, ResultKey(TABLE, "Of many cores those whose units are shown.")]]
    units: Annotated[
        Mapping[str, Sequence[StretchDetails]], ResultKey("cycles", "Stretches of each unit, in order of time.")
    ]


class DramWindows(TypedDict):
    """What a DRAM part did in equal windows of the run."""

    seconds: Annotated[float, ResultKey("s", "How long a window is.")]
    read_bytes: Annotated[Sequence[int], ResultKey("B", "Bytes read on its pins in each window.")]
    write_bytes: Annotated[Sequence[int], ResultKey("B", "Bytes written on its pins in each window.")]
    row_hits: Annotated[Sequence[int], ResultKey(COUNT, "Bursts in each window that found their row open.")]
    row_misses: Annotated[Sequence[int], ResultKey(COUNT, "Bursts in each window that found no row open.")]
    row_conflicts: Annotated[Sequence[int], ResultKey(COUNT, "Bursts in each window that found another row open.")]
    row_hit_rate: Annotated[
        Sequence[float | None], ResultKey(RATIO, "Hits of all bursts; null in windows without any.")
    ]


class DramPart(TypedDict):
    """A DRAM part over the run."""

    read_bytes: Annotated[int, ResultKey("B", "Bytes read on its pins.")]
    write_bytes: Annotated[int, ResultKey("B", "Bytes written on its pins.")]
    row_hits: Annotated[int, ResultKey(COUNT, "Bursts that found their row open.")]
    row_misses: Annotated[int, ResultKey(COUNT, "Bursts that found no row open.")]
    row_conflicts: Annotated[int, ResultKey(COUNT, "Bursts that found another row open.")]
    activates: Annotated[int, ResultKey(COUNT, "Rows that were opened.")]
    refreshes: Annotated[int, ResultKey(COUNT, "Refreshes that were issued.")]
    peak_bytes_per_s: Annotated[float, ResultKey("B/s", "Its peak bandwidth.")]
    windows: Annotated[DramWindows | None, ResultKey(TABLE, "The same over time; null where no transfers were kept.")]


class CacheLines(TypedDict):
    """Lines of a cache that commands asked for."""

    hits: Annotated[int, ResultKey(COUNT, "Lines that gathers found.")]
    misses: Annotated[int, ResultKey(COUNT, "Lines that gathers did not find.")]
    write_hits: Annotated[int, ResultKey(COUNT, "Lines that scatters found.")]
    write_misses: Annotated[int, ResultKey(COUNT, "Lines that scatters did not find.")]


class NodeDetails(TypedDict):
    """A node of a network."""

    name: Annotated[str, ResultKey(TEXT, "A core, or the port of a part.")]
    router: Annotated[int, ResultKey(COUNT, "The number of its router.")]
    sent_flits: Annotated[int, ResultKey("flits", "Flits that it sent into the network.")]
    received_flits: Annotated[int, ResultKey("flits", "Flits that left the network for it.")]


class NetworkDetails(TypedDict):
    """A network over the run."""

    name: Annotated[str, ResultKey(TEXT, "The network's name.")]
    cycles: Annotated[int, ResultKey("cycles", "The run in cycles of the network's own clock.")]
    routers: Annotated[int, ResultKey(COUNT, "How many routers it has.")]
    places: Annotated[Sequence[Sequence[int]], ResultKey(COUNT, "Coordinates of each router, where they have any.")]
    links: Annotated[
        Sequence[LinkDetails], ResultKey("flits", "Of each link its two routers and the flits that took it.")
    ]
    nodes: Annotated[Sequence[NodeDetails], ResultKey(TABLE, "Cores first, then ports of parts.")]
    levels: NotRequired[Annotated[Sequence[str], ResultKey(TEXT, "Names of nested networks, innermost first.")]]
    router_levels: NotRequired[Annotated[Sequence[int], ResultKey(COUNT, "To which of them each router belongs.")]]
    within: NotRequired[
        Annotated[
            Sequence[Sequence[Sequence[int]]],
            ResultKey(COUNT, "Of each router its coordinates in its own network, outwards."),
        ]
    ]
    periods: NotRequired[
        Annotated[Sequence[float], ResultKey("cycles", "For how long a flit takes each link, where they differ.")]
    ]


class WhyRow(TypedDict):
    """The chip with one resource enlarged, mapped and simulated again; figures are null where that failed, area and
    power also where nothing models what the change costs."""

    name: Annotated[str, ResultKey(TEXT, "What was enlarged, and how.")]
    keys: Annotated[Mapping[str, str], ResultKey(TEXT, "The changed values of the chip by key path.")]
    cycles_total: Annotated[int | None, ResultKey("cycles", "The run in cycles of the chip as it is.")]
    gain_cycles: Annotated[int | None, ResultKey("cycles", "How many fewer they are.")]
    gain_percent: Annotated[float | None, ResultKey("%", "The same of the chip's cycles as it is.")]
    area_mm2: Annotated[float | None, ResultKey("mm2", "By how much the area grows; null where no model says.")]
    power_mw: Annotated[float | None, ResultKey("mW", "By how much the average power grows; null where no model says.")]
    mapping: NotRequired[
        Annotated[
            str, ResultKey(TEXT, "new, or kept: that of the chip as it is, where the search chose a worse one.", SECOND)
        ]
    ]
    reason: Annotated[str, ResultKey(TEXT, "Why it failed, else empty.")]
    remark: Annotated[str, ResultKey(TEXT, "What its figures leave out, else empty.", SECOND)]


class BlockDetails(TypedDict):
    """A published block of a die."""

    published_mm2: Annotated[float, ResultKey("mm2", "As it was published.")]
    predicted_mm2: Annotated[float, ResultKey("mm2", "What the parts in it come to.")]


class RunDetails(TypedDict):
    """What pages draw beyond the public keys; not meant to be read by others."""

    critical: Annotated[
        Mapping[str, Annotated[Mapping[str, int], CauseKeys("bounds")]],
        ResultKey("cycles", "Cycles on the critical path by layer and cause; sums to cycles_total."),
    ]
    area_breakdown_mm2: Annotated[Mapping[str, float], ResultKey("mm2", "Area by part; sums to area_mm2.")]
    floorplan: NotRequired[
        Annotated[Mapping[str, BlockDetails], ResultKey(TABLE, "Published blocks of the die, if any.")]
    ]
    sources: Annotated[
        Mapping[str, str], ResultKey(TEXT, "Where each number of chip and tables comes from, by key path.")
    ]
    not_modelled: Annotated[Sequence[str], ResultKey(TEXT, "What the real chip has and this one lacks.")]
    timeline: Annotated[Sequence[WindowDetails], ResultKey(TABLE, "The slowest layers.")]
    power: Annotated[Mapping[str, Sequence[float]], ResultKey("J", "Energy of each part in equal windows of the run.")]
    dram: Annotated[Mapping[str, DramPart], ResultKey(TABLE, "Each DRAM part, over time too.")]
    row_hit_rate: Annotated[
        Mapping[str, float], ResultKey(RATIO, "Of each layer the bursts that found their row open.")
    ]
    peak_dtype_macs_per_s: Annotated[float, ResultKey("MAC/s", "Peak of the arrays at the formats used.", SECOND)]
    caches: NotRequired[Annotated[Mapping[str, CacheLines], ResultKey(TABLE, "Lines of each cache.")]]
    noc: NotRequired[Annotated[NetworkDetails, ResultKey(TABLE, "The network of a chip of several cores.")]]
    predicted: NotRequired[
        Annotated[Mapping[str, Predicted], ResultKey(TABLE, "What the compiler knew of each layer.")]
    ]
    refinement: NotRequired[Annotated[Refinement, ResultKey(TABLE, "What ranking mappings by simulation gained.")]]
    memory_map: NotRequired[
        Annotated[Mapping[str, MemoryMap], ResultKey(TABLE, "What lies in each on-chip memory over the run.", SECOND)]
    ]
    groups: NotRequired[Annotated[Sequence[GroupFacts], ResultKey(TABLE, "Layers that ran together, pass by pass.")]]
    net: NotRequired[Annotated[Net, ResultKey(TABLE, "What the mappings of other objectives gave.")]]
    why: NotRequired[
        Annotated[Sequence[WhyRow], ResultKey(TABLE, "The chip with each resource enlarged, where asked for.")]
    ]
