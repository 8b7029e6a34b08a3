"""Components of a Timeloop architecture as memories and units."""

from __future__ import annotations

import re
from fractions import Fraction

from archsim.frontend.foreign.design import ROLES, ForeignDesign, ForeignFanout, ForeignMacs, ForeignMemory, constant
from archsim.frontend.foreign.ledger import APPROXIMATED, IGNORED, ImportLedger
from archsim.frontend.foreign.section import SourceQuantity, SourceSection
from archsim.frontend.foreign.timeloop_chain import DEPTH, TimeloopChain, TimeloopPiece, usual_role

_WIDTH = ("width", "memory_width")
_WORD = ("datawidth", "word-bits", "word_bits", "data_width")
_BLOCK = ("block-size", "block_size")
_CLUSTER = ("cluster-size", "cluster_size")
_READ = ("read_bandwidth", "read-bandwidth")
_WRITE = ("write_bandwidth", "write-bandwidth")
_SHARED = ("shared_bandwidth", "shared-bandwidth", "bandwidth")
_SLOTS = ("multiple_buffering", "multiple-buffering")
_BANKS = "banks of Timeloop's energy estimators; here banks x word x ports is the bandwidth"
_ESTIMATE = "Timeloop's energy estimators alone read it"
_ESTIMATED = (
    *(
        "n_banks",
        "nbanks",
        "n_buffets",
        "n_rw_ports",
        "n_rdwr_ports",
        "n_rd_ports",
        "n_wr_ports",
        "n_ports",
        "subclass",
    ),
    *("update_fifo_depth", "latency", "type", "latency_ns", "cycle_seconds", "action_latency_cycles", "voltage"),
    *("has_power_gating", "pipelined", "num_pipeline_stages", "area_share", "adder_type", "exponent", "mantissa"),
)
_SPARSE = (
    *("metadata_block_size", "metadata_datawidth", "metadata_storage_width", "metadata_storage_depth"),
    *("metadata-block-size", "metadata-word-bits", "metadata_word_bits", "decompression_supported"),
    *("compression_supported", "tile_partition_supported", "concordant_compressed_tile_traversal"),
)
_REFUSED = {
    "network_fill_latency": "networks between levels take no time here",
    "network_drain_latency": "networks between levels take no time here",
    "per_dataspace_bandwidth_consumption_scale": "one bandwidth holds for all tensors",
    "min_utilization": "a limit on Timeloop's search",
    "allow_overbooking": "tiles fit in their memory here",
}
_IGNORED = {"reduction_supported": "archsim's innermost memory of outputs always adds partial sums"}
_SPARSE_SAID = "sparse tensors are not modelled: everything is computed dense"


def design_of(
    chain: TimeloopChain, file: str, clock: SourceQuantity | None, variables: SourceSection | None
) -> ForeignDesign:
    """The chip of a chain. Raises ConfigError where it has no memory or no units."""
    levels: list[ForeignMemory | ForeignFanout] = []
    units: ForeignMacs | None = None
    bits: dict[str, SourceQuantity] = {}
    nm: SourceQuantity | None = None
    for piece in chain.pieces:
        if isinstance(piece, ForeignFanout):
            levels.append(piece)
            continue
        nm = _technology((piece.attributes, *piece.inherited)) or nm
        if piece.kind == "memory":
            first = not any(isinstance(level, ForeignMemory) for level in levels)
            store = _store(piece, chain, clock, outermost=first)
            levels += [store] if store is not None else []
        elif piece.kind == "compute":
            if units is not None:
                piece.node.fail("a second kind of compute unit; allowed one")
            units, bits = _units(piece, chain, clock)
        elif piece.kind == "network":
            piece.node.refuse("networks between levels are free in this chip; add a `noc` part yourself")
        else:
            said = str(piece.node.node.mapping["class"].value)
            piece.node.refuse(f"class '{said}' is neither a memory nor a compute unit; it is left out")
    if units is None:
        chain.architecture.fail("has no compute unit; allowed a component of a class such as intmac at the end")
    if not any(isinstance(level, ForeignMemory) for level in levels):
        chain.architecture.fail("has no memory; allowed a component of class DRAM, SRAM, regfile, ...")
    return ForeignDesign(
        tool="Timeloop",
        name=file.rpartition(".")[0] or file,
        file=file,
        mark=chain.architecture.node.mark,
        levels=tuple(levels),
        units=units,
        clock_hz=clock,
        value_bits=_widths(levels, bits, chain.architecture.ledger),
        floating="fp" in str(units.name).lower(),
        technology_nm=nm or _technology((variables,)),
        free=("networks between levels, which Timeloop prices with its own model",),
    )


def _widths(
    levels: list[ForeignMemory | ForeignFanout], of_units: dict[str, SourceQuantity], ledger: ImportLedger
) -> dict[str, SourceQuantity]:
    """Bits of values: of the outermost memory's words, sums of the innermost one's; else of the units."""
    stores = [level for level in levels if isinstance(level, ForeignMemory)]
    found: dict[str, SourceQuantity] = {}
    for role in ROLES:
        keepers = [store for store in stores if role in store.value_bits]
        for store in keepers[:1]:
            source = f"words of {store.name}, {store.access_bits.source}"
            found[role] = constant(store.value_bits[role], source, store.mark)
        for store in keepers[1:] if role != "outputs" else []:
            if store.value_bits[role] != keepers[0].value_bits[role]:
                said = f"{keepers[0].value_bits[role]} b as in {keepers[0].name}; {store.value_bits[role]} b are stated"
                ledger.assume(f"dtypes.{role} in {store.name}", said)
    inner = [store for store in stores if "outputs" in store.value_bits][1:]
    if inner:
        width = inner[-1].value_bits["outputs"]
        found["accumulate"] = constant(width, f"words of {inner[-1].name}", inner[-1].mark)
    for role, width_of in of_units.items():
        if width_of.value != found.setdefault(role, width_of).value:
            said = f"{role} have {found[role].value} b here, {found[role].source}: words of memories decide the bytes"
            ledger.settle(APPROXIMATED, width_of.path, width_of.mark, said)
    return found


def _technology(sections: tuple[SourceSection | None, ...]) -> SourceQuantity | None:
    for section in sections:
        if section is not None and "technology" in section:
            said = section.text("technology", "technology.node")
            number = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*nm", said.strip().lower())
            if number and float(number[1]) > 0:
                node = section.node.mapping["technology"]
                return SourceQuantity(Fraction(number[1]), section.source("technology"), node.mark)
            section.ignore("no feature size such as '45nm'", "technology")
    return None


def _units(
    piece: TimeloopPiece, chain: TimeloopChain, clock: SourceQuantity | None
) -> tuple[ForeignMacs, dict[str, SourceQuantity]]:
    found: dict[str, SourceQuantity] = {}
    names = _scope(piece, chain)
    given = piece.attributes
    if given is not None:
        word = given.first("dtypes", *_WORD, names=names)
        factor = given.first("dtypes", "multiplier_width", names=names)
        total = given.first("dtypes.accumulate", "adder_width", names=names)
        for width, roles in ((factor or word, ("inputs", "weights", "outputs")), (total, ("accumulate",))):
            if width is not None:
                found |= dict.fromkeys(roles, width)
        _rest(given)
        given.ignore("the columns of units that are there already", "meshX", "meshY")
        given.ignore("the numbers of instances say it", "instances")
        given.ignore("the width of a unit is that of its data", "width")
    leakage = _leakage(piece, clock)
    return ForeignMacs(piece.name, piece.node.node.mark, pj=piece.prices.get("mac"), leakage_w=leakage), found


def _leakage(piece: TimeloopPiece, clock: SourceQuantity | None) -> SourceQuantity | None:
    """Watts, of the pJ that an instance leaks in a cycle."""
    leak = piece.prices.get("leak")
    if leak is None:
        return None
    return leak.scaled((clock.value if clock is not None else 10**9) / Fraction(10**12), "pJ a cycle")


def _scope(piece: TimeloopPiece, chain: TimeloopChain) -> dict[str, object]:
    """Names that arithmetic in attributes may use: variables and numbers among the attributes above."""
    names = dict(chain.variables)
    for section in (*piece.inherited, *([piece.attributes] if piece.attributes is not None else [])):
        for key, node in section.node.mapping.items():
            if isinstance(node.value, int) and not isinstance(node.value, bool):
                names[key] = Fraction(node.value)
    return names


def _rest(given: SourceSection) -> None:
    """Attributes that no counterpart has."""
    given.ignore(_ESTIMATE, *_ESTIMATED)
    given.ignore(_BANKS, "n_banks")
    given.refuse(_SPARSE_SAID, *_SPARSE)
    for key, why in _REFUSED.items():
        given.refuse(why, key)
    for key, why in _IGNORED.items():
        given.ignore(why, key)


def _store(
    piece: TimeloopPiece, chain: TimeloopChain, clock: SourceQuantity | None, outermost: bool
) -> ForeignMemory | None:
    given = piece.attributes or SourceSection(piece.node.node, piece.node.path, piece.node.ledger)
    names = _scope(piece, chain)
    roles = _roles(piece, chain)
    word = given.first("dtypes, and bits of a word", *_WORD, names=names)
    block = given.first("the width of an access", *_BLOCK, names=names)
    cluster = given.first("the width of an access", *_CLUSTER, names=names)
    width = given.first(f"{piece.name}.word", *_WIDTH, names=names)
    if width is None and word is not None and block is not None:
        width = word.scaled(block.value * (cluster.value if cluster else 1), f"{block.source}")
    word = word or width
    width = width or word
    if width is None or word is None or width.value < 1 or word.value < 1:
        given.fail(f"memory '{piece.name}' states no width; allowed {', '.join((*_WIDTH[:1], *_WORD[:2]))}")
    size = _size(given, width, word, names)
    if size is None and not (piece.offchip or outermost):
        given.fail(f"memory '{piece.name}' states no size; allowed {', '.join(DEPTH)} or sizeKB")
    _rest(given)
    if not roles:
        piece.node.ignore("every tensor bypasses it: a place of Timeloop's for a fan-out")
        return None
    read, write, shared = _rates(piece, given, names)
    return ForeignMemory(
        name=piece.name,
        mark=piece.node.node.mark,
        roles=frozenset(roles),
        bits=size,
        access_bits=width,
        read_pj=piece.prices.get("read"),
        write_pj=piece.prices.get("write"),
        read_bits=read.scaled(word.value, f"words of {word.value} b") if read else None,
        write_bits=write.scaled(word.value, f"words of {word.value} b") if write else None,
        shared=shared,
        leakage_w=_leakage(piece, clock),
        slots=_slots(given, names),
        offchip=piece.offchip or (outermost and size is None),
        value_bits=dict.fromkeys(sorted(roles), int(word.value)),
    )


def _rates(
    piece: TimeloopPiece, given: SourceSection, names: dict[str, object]
) -> tuple[SourceQuantity | None, SourceQuantity | None, bool]:
    """Words read and written in a cycle, and whether both share them."""
    keys = (_READ, _WRITE, _SHARED)
    read, write, both = (given.first(f"{piece.name}.ports", *each, names=names) for each in keys)
    if both is None or (read is None and write is None):
        return read or both, write or both, both is not None
    own = [each for each in (read, write) if each is not None]
    if all(each.value >= both.value for each in own):
        for each in own:
            given.ledger.settle(IGNORED, each.path, each.mark, "the shared bandwidth is no more than it")
        return both, both, True
    reads, writes = (min(each or both, both, key=lambda rate: rate.value) for each in (read, write))
    if reads.value + writes.value <= both.value:
        given.ledger.settle(IGNORED, both.path, both.mark, "reads and writes together never reach it")
    else:
        said = "reads and writes have a bandwidth each here, together more than the shared one: cycles are too few"
        given.ledger.settle(APPROXIMATED, both.path, both.mark, said)
    return reads, writes, False


def _slots(given: SourceSection, names: dict[str, object]) -> SourceQuantity | None:
    """Tiles at a time, where they are more than one; Timeloop's one tile is moved and used at once."""
    found = given.first("slots", *_SLOTS, names=names)
    if found is not None and found.value < 2:
        given.ignore("one tile, moved while it is used; archsim needs two slots for that", *_SLOTS)
        return None
    return found


def _size(
    given: SourceSection, width: SourceQuantity, word: SourceQuantity, names: dict[str, object]
) -> SourceQuantity | None:
    kilobytes = given.first("size", "sizeKB", names=names)
    if kilobytes is not None:
        return kilobytes.scaled(1024 * 8, "KiB")
    for key in DEPTH:
        depth = given.number(key, "size", names)
        if depth is not None:
            of = word if key == "entries" else width
            return depth.scaled(of.value, f"of {of.source.rpartition(': ')[2]} b")
    return None


def _roles(piece: TimeloopPiece, chain: TimeloopChain) -> list[str]:
    """Roles that are kept: those that are named; without names all that do not bypass."""
    bypass = {_role(name, chain) for name in piece.bypass}
    if piece.keep is None:
        return [role for role in ROLES if role not in bypass]
    keep = {_role(name, chain) for name in piece.keep} - bypass
    open_ = [role for role in ROLES if role not in keep | bypass]
    if open_:
        ledger = piece.node.ledger
        ledger.assume(f"{piece.name}.keeps", f"without {', '.join(open_)}, neither kept nor bypassed in the source")
    return [role for role in ROLES if role in keep]


def _role(name: str, chain: TimeloopChain) -> str:
    found = chain.roles.get(name) or usual_role(name)
    if not found:
        allowed = ", ".join(chain.roles) or "Inputs, Weights, Outputs"
        chain.architecture.fail(f"constraints: no tensor '{name}'; allowed {allowed}")
    return found
