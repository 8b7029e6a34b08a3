"""Components of a Timeloop architecture as memories and units: attributes, constraints on tensors, energies."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from archsim.errors import nearest
from archsim.frontend.foreign.design import ROLES, Design, Spread, Store, Units, constant
from archsim.frontend.foreign.section import Quantity, Section

_DEPTH = ("depth", "memory_depth", "entries")
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
_MEMORY = re.compile(r"dram|sram|regfile|buffer|storage|_rf\b|rf$|register|memory|latch|fifo", re.IGNORECASE)
_COMPUTE = re.compile(r"mac|compute|alu|multiplier", re.IGNORECASE)
_NETWORK = re.compile(r"noc|network|legacy|reductiontree|multicast|wire", re.IGNORECASE)
SPATIAL = "how a mapper lays out loops: state it in a mapping file (docs/mapping.md, constraints)"


@dataclass
class Piece:
    """A component: its node, its attributes with those of the containers around it."""

    node: Section
    name: str
    attributes: Section | None
    constraints: Section | None
    inherited: tuple[Section, ...] = ()
    prices: dict[str, Quantity] = field(default_factory=dict)
    keep: list[str] | None = None
    bypass: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """memory, compute or network, told by the class and the attributes."""
        said = self.node.text("class", "the kind of part")
        if not said:
            self.node.fail("key 'class' is missing")
        given = self.attributes
        sized = given is not None and any(key in given for key in (*_DEPTH, "sizeKB"))
        if _COMPUTE.search(said) and not sized:
            return "compute"
        if sized or _MEMORY.search(said):
            return "memory"
        return "network" if _NETWORK.search(said) else ""

    @property
    def offchip(self) -> bool:
        """Whether the class is that of a DRAM."""
        return "dram" in str(self.node.node.mapping["class"].value).lower()


class Chain:
    """Fan-outs and components, outermost first."""

    def __init__(self, architecture: Section, variables: dict[str, object]) -> None:
        self.architecture = architecture
        self.variables = variables
        self.pieces: list[Piece | Spread] = []
        self.attributes: list[Section] = []  # of the containers so far
        self.roles: dict[str, str] = {}
        self._instances = constant(1, "one", architecture.node.mark)  # of version 3: of the subtree so far
        self._reached = 1  # of version 3: of the components so far
        self._columns = 1  # of them

    def inherit(self, attributes: Section | None) -> None:
        """Attributes that hold for what stands below too."""
        if attributes is not None:
            self.attributes.append(attributes)

    def spread(self, name: str, size: Quantity, axis: str) -> None:
        """A fan-out."""
        self.pieces.append(Spread(name, size, axis))

    def add(self, piece: Piece) -> None:
        """A component below all before it."""
        piece.inherited = tuple(self.attributes)
        self.pieces.append(piece)

    def multiply(self, count: Quantity) -> None:
        """Instances of a subtree."""
        source = count.source if count.value > 1 else self._instances.source
        self._instances = replace(count, value=self._instances.value * count.value, source=source)

    def add_counted(self, piece: Piece, own: Quantity) -> None:
        """A component of version 3 that states its instances; the fan-out to them is what it has more than before."""
        whole = self._instances.value * own.value
        if whole % self._reached or whole < self._reached:
            if piece.kind == "network":
                whole = Fraction(self._reached)
            else:
                said = f"{whole} instances below {self._reached}; allowed a multiple"
                piece.node.fail(said, "name")
        if whole > self._reached:
            self._fan(piece, replace(own, value=whole / self._reached, source=self._said(own)))
            self._reached = int(whole)
        elif piece.attributes is not None:
            piece.attributes.ignore("the columns of instances that are there already", "meshX", "meshY")
        self.add(piece)

    def _said(self, own: Quantity) -> str:
        return own.source if own.value > 1 else self._instances.source

    def _fan(self, piece: Piece, count: Quantity) -> None:
        """Columns by ``meshX``, which counts those of all instances of a component; the rest are rows."""
        columns = None
        for section in (piece.attributes, *reversed(self.attributes)):
            if section is not None and columns is None:
                columns = section.count("meshX", "array.shape", self.variables)
                section.ignore("rows follow from instances and meshX", "meshY")
        further = Fraction(columns, self._columns) if columns is not None else Fraction(0)
        if columns is None or further.denominator > 1 or count.value % further:
            self.spread(piece.name, count, "")
            return
        self._columns = columns
        for axis, size in (("cols", further), ("rows", count.value / further)):
            if size > 1:
                self.spread(f"{piece.name}_{axis}", replace(count, value=size), axis)

    def restrict(self, sections: list[Section], roles: dict[str, str]) -> None:
        """What is kept where: constraints in the nodes, then those of files of their own, by names of components."""
        self.roles = roles
        known = {piece.name: piece for piece in self.pieces if isinstance(piece, Piece)}
        for piece in known.values():
            if piece.constraints is not None:
                _constrain(piece, piece.constraints)
        for section in sections:
            section.ignore("the version of Timeloop's own grammar", "version")
            for target in section.entries("targets"):
                name = target.text("target", "the part")
                if name not in known:
                    target.fail(f"no component '{name}'{nearest(name, known)}", "target")
                _target(known[name], target)

    def price(self, table: Section | None) -> None:
        """Energies of an Accelergy reference table (ERT), by the last part of a component's path."""
        if table is None:
            return
        table.ignore("the version of Accelergy's own grammar", "version")
        known = {piece.name: piece for piece in self.pieces if isinstance(piece, Piece)}
        for entry in table.entries("tables"):
            path = entry.text("name", "the part").split("[")[0]
            piece = known.get(path.rpartition(".")[2])
            if piece is None:
                entry.ignore("of a component that the architecture does not have, or that stores and computes nothing")
                continue
            for action in entry.entries("actions"):
                _action(piece, action)


def _action(piece: Piece, action: Section) -> None:
    """Of several rows of one action (of different arguments) the costliest one: fresh data."""
    name = action.text("name", "energy")
    energy = action.number("energy", f"{piece.name}.energy")
    action.ignore("arguments of the estimators", "arguments")
    kinds = {"read": "read", "write": "write", "compute": "mac", "mac": "mac", "mac_random": "mac"}
    kind = kinds.get(name)
    if kind is None or energy is None:
        why = "leakage and other actions of Accelergy" if kind is None else "no energy"
        action.ignore(why) if kind is None else action.fail("key 'energy' is missing")
        if kind is None and name not in ("leak", "update", "idle", "mac_gated", "mac_reused", "gated_compute"):
            action.refuse(f"an action '{name}' that archsim does not count")
        return
    found = piece.prices.get(kind)
    if found is None or energy.value > found.value:
        piece.prices[kind] = energy


def _constrain(piece: Piece, constraints: Section) -> None:
    kept = constraints.mapping("dataspace")
    if kept is not None:
        piece.bypass = kept.words("bypass", "keeps")
        if "keep" in kept or "keep_only" in kept:
            piece.keep = kept.words("keep", "keeps") + kept.words("keep_only", "keeps")
    constraints.refuse(SPATIAL, "temporal", "spatial", "max_overbooked_proportion")


def _target(piece: Piece, target: Section) -> None:
    """An entry of a constraints file."""
    kind = target.text("type", "keeps")
    if kind in ("bypass", "bypassing", "dataspace", "datatype"):
        piece.bypass = target.words("bypass", "keeps")
        if "keep" in target:
            piece.keep = target.words("keep", "keeps")
    else:
        target.refuse(SPATIAL)


def design_of(chain: Chain, file: str, clock: Quantity | None) -> Design:
    """The chip of a chain. Raises ConfigError where it has no memory or no units."""
    levels: list[Store | Spread] = []
    units: Units | None = None
    bits: dict[str, Quantity] = {}
    nm: Quantity | None = None
    for piece in chain.pieces:
        if isinstance(piece, Spread):
            levels.append(piece)
            continue
        nm = _technology(piece) or nm
        if piece.kind == "memory":
            store = _store(piece, chain, outermost=not any(isinstance(level, Store) for level in levels))
            levels += [store] if store is not None else []
        elif piece.kind == "compute":
            if units is not None:
                piece.node.fail("a second kind of compute unit; allowed one")
            units, bits = _units(piece, chain)
        elif piece.kind == "network":
            piece.node.refuse("networks between levels are free in this chip; add a `noc` part yourself")
        else:
            said = str(piece.node.node.mapping["class"].value)
            piece.node.refuse(f"class '{said}' is neither a memory nor a compute unit; it is left out")
    if units is None:
        chain.architecture.fail("has no compute unit; allowed a component of a class such as intmac at the end")
    if not any(isinstance(level, Store) for level in levels):
        chain.architecture.fail("has no memory; allowed a component of class DRAM, SRAM, regfile, ...")
    return Design(
        tool="Timeloop",
        name=file.rpartition(".")[0] or file,
        file=file,
        mark=chain.architecture.node.mark,
        levels=tuple(levels),
        units=units,
        clock_hz=clock,
        value_bits=_widths(levels, bits),
        floating="fp" in str(units.name).lower(),
        technology_nm=nm,
        free=("networks between levels, which Timeloop prices with its own model",),
    )


def _widths(levels: list[Store | Spread], of_units: dict[str, Quantity]) -> dict[str, Quantity]:
    """Bits of values: of the units, else of the outermost memory's words."""
    found = dict(of_units)
    outer = next(level for level in levels if isinstance(level, Store))
    for role in ROLES:
        if role in outer.value_bits:
            word = constant(outer.value_bits[role], f"words of {outer.name}, {outer.access_bits.source}", outer.mark)
            found.setdefault(role, word)
    inner = [level for level in levels if isinstance(level, Store) and "outputs" in level.roles]
    if inner and "outputs" in inner[-1].value_bits and inner[-1] is not outer:
        width = inner[-1].value_bits["outputs"]
        found.setdefault("accumulate", constant(width, f"words of {inner[-1].name}", inner[-1].mark))
    return found


def _technology(piece: Piece) -> Quantity | None:
    for section in (piece.attributes, *piece.inherited):
        if section is not None and "technology" in section:
            said = section.text("technology", "technology.node")
            number = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*nm", said.strip().lower())
            if number and float(number[1]) > 0:
                node = section.node.mapping["technology"]
                return Quantity(Fraction(number[1]), section.source("technology"), node.mark)
            section.ignore("no feature size such as '45nm'", "technology")
    return None


def _units(piece: Piece, chain: Chain) -> tuple[Units, dict[str, Quantity]]:
    found: dict[str, Quantity] = {}
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
    return Units(piece.name, piece.node.node.mark, pj=piece.prices.get("mac")), found


def _scope(piece: Piece, chain: Chain) -> dict[str, object]:
    """Names that arithmetic in attributes may use: variables and numbers among the attributes above."""
    names = dict(chain.variables)
    for section in (*piece.inherited, *([piece.attributes] if piece.attributes is not None else [])):
        for key, node in section.node.mapping.items():
            if isinstance(node.value, int) and not isinstance(node.value, bool):
                names[key] = Fraction(node.value)
    return names


def _rest(given: Section) -> None:
    """Attributes that no counterpart has."""
    given.ignore(_ESTIMATE, *_ESTIMATED)
    given.ignore(_BANKS, "n_banks")
    given.refuse(_SPARSE_SAID, *_SPARSE)
    for key, why in _REFUSED.items():
        given.refuse(why, key)
    for key, why in _IGNORED.items():
        given.ignore(why, key)


def _store(piece: Piece, chain: Chain, outermost: bool) -> Store | None:
    given = piece.attributes or Section(piece.node.node, piece.node.path, piece.node.ledger)
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
        given.fail(f"memory '{piece.name}' states no size; allowed {', '.join(_DEPTH)} or sizeKB")
    _rest(given)
    if not roles:
        piece.node.ignore("every tensor bypasses it: a place of Timeloop's for a fan-out")
        return None
    shared = given.first(f"{piece.name}.ports", *_SHARED, names=names)
    read = given.first(f"{piece.name}.ports", *_READ, names=names) or shared
    write = given.first(f"{piece.name}.ports", *_WRITE, names=names) or shared
    return Store(
        name=piece.name,
        mark=piece.node.node.mark,
        roles=frozenset(roles),
        bits=size,
        access_bits=width,
        read_pj=piece.prices.get("read"),
        write_pj=piece.prices.get("write"),
        read_bits=read.scaled(word.value, f"words of {word.value} b") if read else None,
        write_bits=write.scaled(word.value, f"words of {word.value} b") if write else None,
        shared=shared is not None,
        slots=_slots(given, names),
        offchip=piece.offchip or (outermost and size is None),
        value_bits=dict.fromkeys(sorted(roles), int(word.value)),
    )


def _slots(given: Section, names: dict[str, object]) -> Quantity | None:
    """Tiles at a time, where they are more than one; Timeloop's one tile is moved and used at once."""
    found = given.first("slots", *_SLOTS, names=names)
    if found is not None and found.value < 2:
        given.ignore("one tile, moved while it is used; archsim needs two slots for that", *_SLOTS)
        return None
    return found


def _size(given: Section, width: Quantity, word: Quantity, names: dict[str, object]) -> Quantity | None:
    kilobytes = given.first("size", "sizeKB", names=names)
    if kilobytes is not None:
        return kilobytes.scaled(1024 * 8, "KiB")
    for key in _DEPTH:
        depth = given.number(key, "size", names)
        if depth is not None:
            of = word if key == "entries" else width
            return depth.scaled(of.value, f"of {of.source.rpartition(': ')[2]} b")
    return None


def _roles(piece: Piece, chain: Chain) -> list[str]:
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


def _role(name: str, chain: Chain) -> str:
    found = chain.roles.get(name) or usual_role(name)
    if not found:
        allowed = ", ".join(chain.roles) or "Inputs, Weights, Outputs"
        chain.architecture.fail(f"constraints: no tensor '{name}'; allowed {allowed}")
    return found


def usual_role(name: str) -> str:
    """The role that a tensor's usual names say, '' for others."""
    said = name.lower()
    for role, words in (
        ("weights", ("weight", "filter", "w")),
        ("outputs", ("output", "psum", "ofmap", "o", "z", "out")),
    ):
        if said in words or any(said.startswith(word) for word in words if len(word) > 1):
            return role
    words = ("input", "ifmap", "activation")
    return "inputs" if said in ("i", "in") or any(said.startswith(word) for word in words) else ""
