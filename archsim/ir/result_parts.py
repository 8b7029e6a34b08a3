"""The objects that a Result holds beside its figures (``ir.figure_table``), key by key with units and meanings.

Who makes them is checked against these types; the JSON Schema of results is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from archsim.ir.keys import COUNT, RATIO, SECOND, TABLE, TEXT, ResultKey


class WorkloadFacts(TypedDict):
    """What was run."""

    name: Annotated[str, ResultKey(TEXT, "The model's name, or that of a Program given as text.")]
    layers: Annotated[int, ResultKey(COUNT, "Layers that do work; views are none.")]
    macs: Annotated[int, ResultKey("MAC", "Multiply-accumulates of the whole batch, on whatever engine.")]
    parameters: Annotated[int, ResultKey(COUNT, "Elements of all weights and tables; 0 of a Program given as text.")]
    weight_bytes: Annotated[int, ResultKey("B", "Weights as stored in the formats used; 0 of a Program given as text.")]
    activation_bytes: NotRequired[
        Annotated[int, ResultKey("B", "What layers write, each tensor once, in the formats used; views are none.")]
    ]
    state_bytes: NotRequired[
        Annotated[
            int, ResultKey("B", "Room of all states in the formats used: keys and values of as many rows as fit.")
        ]
    ]
    folded_macs: NotRequired[
        Annotated[int, ResultKey("MAC", "Of the model on constants alone: done before it runs, counted nowhere else.")]
    ]


class ArchitectureFacts(TypedDict):
    """The chip that it was run on."""

    name: Annotated[str, ResultKey(TEXT, "The chip's name.")]
    clock_hz: Annotated[int, ResultKey("Hz", "The reference clock, which all cycles of a result count.")]
    peak_macs_per_s: Annotated[float, ResultKey("MAC/s", "All arrays together at their best formats.")]


class MemoryFigures(TypedDict):
    """One DRAM part over the run."""

    read_bytes: Annotated[int, ResultKey("B", "Bytes read on its pins, in whole bursts.")]
    write_bytes: Annotated[int, ResultKey("B", "Bytes written on its pins, in whole bursts.")]
    useful_bytes: Annotated[int, ResultKey("B", "Bytes that commands asked for, both directions.")]
    bandwidth_utilization: Annotated[float, ResultKey(RATIO, "Bytes on the pins over those that the peak allows.")]


class RoleFigures(TypedDict):
    """What moves of one role did in all DRAM over the run."""

    read_bytes: Annotated[int, ResultKey("B", "Bytes read on the pins, in whole bursts.")]
    write_bytes: Annotated[int, ResultKey("B", "Bytes written on the pins, in whole bursts.")]
    useful_read_bytes: Annotated[int, ResultKey("B", "Bytes that commands asked to read.")]
    useful_write_bytes: Annotated[int, ResultKey("B", "Bytes that commands asked to write.")]


class DramMemories(TypedDict):
    """What stands beside the figures of all DRAM parts."""

    memories: Annotated[Mapping[str, MemoryFigures], ResultKey(TABLE, "The same by DRAM part.", SECOND)]
    roles: NotRequired[
        Annotated[
            Mapping[str, RoleFigures],
            ResultKey(
                TABLE,
                "Bytes by role of what is moved (inputs, weights, outputs, tables, kv); of models with states, all of "
                "which was simulated.",
                SECOND,
            ),
        ]
    ]


class RunOptions(TypedDict):
    """The options that the numbers depend on, with what they came to."""

    objective: Annotated[str, ResultKey(TEXT, "What the mapping was searched for: latency, energy or edp.")]
    batch: Annotated[int | None, ResultKey(COUNT, "Samples of the batch; null for a Program given as text.")]
    dtypes: Annotated[
        Mapping[str, str] | None, ResultKey(TEXT, "Number format by role; null for a Program given as text.")
    ]
    set: Annotated[Mapping[str, str], ResultKey(TEXT, "Values of the chip that were changed, by key path.")]
    on_unsupported: Annotated[
        str, ResultKey(TEXT, "What was asked for layers that the chip cannot run: error or host.")
    ]
    fidelity: Annotated[str | None, ResultKey(TEXT, "The fidelity that was asked for; null where the chip decides.")]
    mapping: NotRequired[Annotated[str, ResultKey(TEXT, "SHA-256 of the mapping file that was taken.")]]
    refine: NotRequired[Annotated[int, ResultKey(COUNT, "Mappings of each layer that the simulator ranked.")]]
    search: NotRequired[Annotated[str, ResultKey(TEXT, "The mapping search that was asked for, by its name.")]]
    schedule: NotRequired[
        Annotated[str, ResultKey(TEXT, "The schedule that was asked for, where it is not the best one.")]
    ]
    lookups: NotRequired[Annotated[Mapping[str, str], ResultKey(TEXT, "Access patterns that were set, by node.")]]
    parameters: NotRequired[
        Annotated[Mapping[str, int | float | str], ResultKey(TEXT, "Parameters of a model that were set, by name.")]
    ]
    traces_sha256: NotRequired[
        Annotated[str, ResultKey(TEXT, "SHA-256 of all rows of traces, where parameters or access patterns were set.")]
    ]


class RepeatFacts(TypedDict):
    """How a run was repeated for its steady interval."""

    mode: Annotated[str, ResultKey(TEXT, "exact: every run was simulated; steady: only those that differ.")]
    warm: Annotated[int, ResultKey(COUNT, "Runs before the one that counts.")]
    interval_s: Annotated[float, ResultKey("s", "Time from the end of the last run but one to the end of the last.")]
    simulated: Annotated[int, ResultKey(COUNT, "Runs that were simulated.")]
    difference: NotRequired[
        Annotated[float, ResultKey(RATIO, "By how much the second run differs from the exact one, where it is steady.")]
    ]


class BlockFacts(TypedDict):
    """What was simulated of equal blocks of layers that follow one another."""

    first: Annotated[str, ResultKey(TEXT, "The first layer of the first block.")]
    layers: Annotated[int, ResultKey(COUNT, "Layers of a block.")]
    times: Annotated[int, ResultKey(COUNT, "Blocks.")]
    simulated: Annotated[int, ResultKey(COUNT, "Blocks that were simulated; the third one stands for all others.")]
    difference: Annotated[
        float, ResultKey(RATIO, "By how much its time differs from that of the block before, as simulated.")
    ]


class SteadyFacts(TypedDict):
    """What a single run simulated, where equal blocks are simulated once."""

    mode: Annotated[str, ResultKey(TEXT, "steady: of equal blocks of layers a few were simulated.")]
    blocks: Annotated[Sequence[BlockFacts], ResultKey(TABLE, "Each run of equal blocks; none where all differ.")]


class Provenance(TypedDict):
    """What a result follows from; equal ones mean equal numbers."""

    archsim_version: Annotated[str, ResultKey(TEXT, "The version that simulated.")]
    model_sha256: Annotated[str, ResultKey(TEXT, "SHA-256 of the model or of the Program's text.")]
    chip_sha256: Annotated[str, ResultKey(TEXT, "SHA-256 of the resolved chip.")]
    extensions_sha256: NotRequired[
        Annotated[str, ResultKey(TEXT, "SHA-256 of the plugins and tables outside the tree, where there are any.")]
    ]
    calibrated: NotRequired[
        Annotated[
            Mapping[str, str],
            ResultKey(TEXT, "Numbers of the chip that were fitted to measured rows, by key: to which; absent without."),
        ]
    ]
    options: Annotated[RunOptions, ResultKey(TABLE, "The options that the numbers depend on.")]
    seed: Annotated[int, ResultKey(COUNT, "The seed of what is drawn.")]
    fidelity: Annotated[Mapping[str, str], ResultKey(TEXT, "Fidelity by DRAM part and network.")]
    repeat: Annotated[
        str | RepeatFacts | SteadyFacts,
        ResultKey(TEXT, "exact where all of a single run was simulated, else what was, or how it was repeated."),
    ]
    warnings: Annotated[Sequence[str], ResultKey(TEXT, "What the user should know of model, chip and numbers.")]


class ScheduleFacts(TypedDict):
    """The schedule that the Program was made by."""

    policy: Annotated[
        str,
        ResultKey(
            TEXT,
            "The schedule policy that it obeys; best where it is free, layers where none may run together, stated "
            "where a mapping file that names no policy was taken.",
        ),
    ]
    kernels: Annotated[
        int,
        ResultKey(COUNT, "Kernels that the host launches in a run, layers on the host not counted; 0 without a host."),
    ]
    groups: Annotated[
        int, ResultKey(COUNT, "Layers that run by themselves, those on the host not counted, and groups of several.")
    ]
    fused_groups: Annotated[int, ResultKey(COUNT, "Groups of several layers.")]
    cycles_best: NotRequired[
        Annotated[
            int,
            ResultKey(
                "cycles", "Of the best schedule by latency, where it was simulated beside the platform's as well."
            ),
        ]
    ]
    cycles_platform: NotRequired[
        Annotated[int, ResultKey("cycles", "Of the schedule that the platform's policy leaves, likewise.")]
    ]


class TimeBand(TypedDict):
    """Between which times silicon would be, were it as far off as measured operators like the layers of the run."""

    cases: Annotated[int, ResultKey(COUNT, "Measured operators that are like its layers; 0 where there are none.")]
    reason: NotRequired[Annotated[str, ResultKey(TEXT, "Why there are none; absent where there are some.")]]
    low: NotRequired[Annotated[float, ResultKey("s", "The shortest time.")]]
    high: NotRequired[Annotated[float, ResultKey("s", "The longest time.")]]
    low_pct: NotRequired[Annotated[float, ResultKey("%", "Predicted by the longest time, less 1.")]]
    high_pct: NotRequired[Annotated[float, ResultKey("%", "Predicted by the shortest time, less 1.")]]
    share: NotRequired[Annotated[float, ResultKey(RATIO, "Part of the time of layers that such operators are like.")]]
    sets: NotRequired[Annotated[Sequence[str], ResultKey(TEXT, "The sets of measured rows that they are in.")]]
    fitted: NotRequired[Annotated[Sequence[str], ResultKey(TEXT, "Those that numbers of the chip were fitted to.")]]


class StateEnergies(TypedDict):
    """Energy by state; sums to energy_j."""

    idle_j: Annotated[float, ResultKey("J", "What the chip draws whatever it does, and DRAM at rest, over the run.")]
    waiting_j: Annotated[float, ResultKey("J", "What it draws more while a kernel is on it.")]
    actions_j: Annotated[float, ResultKey("J", "What is done: MACs, accesses, bits on wires.")]


class PowerFacts(TypedDict):
    """Power of the run beside its averages."""

    states: Annotated[StateEnergies, ResultKey(TABLE, "Energy by state.")]


class AreaBand(TypedDict):
    """Between which areas the die would be, were it as far off as published dies that were left out of the fit."""

    low: Annotated[float, ResultKey("mm2", "The smallest area.")]
    high: Annotated[float, ResultKey("mm2", "The largest area.")]
    cases: Annotated[int, ResultKey(COUNT, "Published chips of which each was left out of the fit and predicted.")]


class PowerBand(TypedDict):
    """Between which powers the chip would be, were it as far off as published points that were left out of the fit."""

    low: Annotated[float, ResultKey("W", "The smallest power.")]
    high: Annotated[float, ResultKey("W", "The largest power.")]
    cases: Annotated[int, ResultKey(COUNT, "Published operating points; each chip was left out of the fit.")]


class Bands(TypedDict):
    """Figures with the band of their error."""

    interval_s: Annotated[
        TimeBand, ResultKey(TABLE, "Of the time from one run to the next, from times measured on the chip that exists.")
    ]
    area_mm2: NotRequired[
        Annotated[AreaBand, ResultKey(TABLE, "Of the die; absent of a chip of no class whose dies were published.")]
    ]
    power_avg_w: NotRequired[Annotated[PowerBand, ResultKey(TABLE, "Of the chip; absent of a chip of no idle class.")]]


class Predicted(TypedDict):
    """What the compiler knew of a layer."""

    bound_cycles: Annotated[int, ResultKey("cycles", "The lower bound of its mapping.")]
    alone_cycles: Annotated[int | None, ResultKey("cycles", "Simulated by itself; null where it was not.")]
    proof: Annotated[str, ResultKey(TEXT, "How far the search went.")]


BEST = "best"  # whatever is found
STATED = "stated"  # by a mapping file
PLATFORM = "platform"  # as the schedule policy of the chip's platform allows
LAYERS = "layers"  # without groups
IN_TURN = "in turn"  # layer after layer, each as a network of one layer, with fences between all


class Tried(TypedDict):
    """The run with the mappings that an objective chose."""

    cycles: Annotated[int, ResultKey("cycles", "Of the whole run.")]
    energy_j: Annotated[float, ResultKey("J", "Of the whole run.")]


class Net(TypedDict):
    """What simulating the mappings of all objectives gained."""

    tried: Annotated[Mapping[str, Tried], ResultKey(TABLE, "By objective; in turn: layer after layer, with fences.")]
    alone_cycles: Annotated[int, ResultKey("cycles", "All layers one after the other, each as a network of one layer.")]
    kept: Annotated[str, ResultKey(TEXT, "Whose result this is: that of an objective, or in turn.")]


class WindowFacts(TypedDict):
    """Where a tensor lies that one layer of a group makes and others read."""

    tensor: Annotated[str, ResultKey(TEXT, "The tensor.")]
    memory: Annotated[str, ResultKey(TEXT, "The memory that holds it.")]
    rows: Annotated[int, ResultKey(COUNT, "Positions along the dim of passes that can be read at once.")]
    step: Annotated[int, ResultKey(COUNT, "Positions that are new in a pass.")]
    slots: Annotated[int, ResultKey(COUNT, "Passes that it has room for.")]


class GroupFacts(TypedDict):
    """Layers that ran together, pass by pass."""

    name: Annotated[str, ResultKey(TEXT, "The group.")]
    layers: Annotated[Sequence[str], ResultKey(TEXT, "Its layers, in order.")]
    loops: Annotated[Mapping[str, int], ResultKey(COUNT, "Tile of each loop over passes, by LAYER.DIM.")]
    windows: Annotated[Sequence[WindowFacts], ResultKey(TABLE, "Tensors between its layers.")]


HeldKind = Literal["kept", "window", "tiles"]


class HeldBytes(TypedDict):
    """Bytes of a memory that something takes, from the start of a layer to the end of another one."""

    kind: Annotated[HeldKind, ResultKey(TEXT, "A tensor that stays, one inside a group, or a layer's tiles.")]
    name: Annotated[str, ResultKey(TEXT, "The tensor, or the layer of tiles.")]
    base: Annotated[int, ResultKey("B", "Its first byte.")]
    size_bytes: Annotated[int, ResultKey("B", "How many it takes.")]
    first: Annotated[str, ResultKey(TEXT, "The layer with which that begins.")]
    last: Annotated[str, ResultKey(TEXT, "The layer with which it ends.")]


class MemoryMap(TypedDict):
    """What lies in an on-chip memory over the run."""

    size_bytes: Annotated[int, ResultKey("B", "The memory's size.")]
    blocks: Annotated[Sequence[HeldBytes], ResultKey(TABLE, "All that lies in it at any time.")]


class Refinement(TypedDict):
    """What ranking mappings by simulation gained."""

    candidates: Annotated[int, ResultKey(COUNT, "Mappings of each layer that were simulated at most.")]
    refined_cycles: Annotated[int, ResultKey("cycles", "The run with the mappings that were best by simulation.")]
    analytic_cycles: Annotated[int, ResultKey("cycles", "The run with the mappings that the cost model chose.")]
    kept: Annotated[Literal["refined", "analytic"], ResultKey(TEXT, "Whose result this is.")]
