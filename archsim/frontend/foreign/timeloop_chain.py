"""A Timeloop architecture as a chain of fan-outs and components: what is kept where, what an action costs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from archsim.base.errors import nearest
from archsim.frontend.foreign.design import ForeignFanout, constant
from archsim.frontend.foreign.ledger import IGNORED
from archsim.frontend.foreign.section import SourceQuantity, SourceSection

DEPTH = ("depth", "memory_depth", "entries")
_MEMORY = re.compile(r"dram|sram|regfile|buffer|storage|_rf\b|rf$|register|memory|latch|fifo", re.IGNORECASE)
_COMPUTE = re.compile(r"mac|compute|alu|multiplier", re.IGNORECASE)
_NETWORK = re.compile(r"noc|network|legacy|reductiontree|multicast|wire", re.IGNORECASE)
_INDEX = re.compile(r"\s*\[[^\]]*\]")  # of instances, behind any part of a path
_ACTIONS = {"read": "read", "write": "write", "compute": "mac", "mac": "mac", "mac_random": "mac", "leak": "leak"}
_SPARSE = re.compile(r"gated|skipped|reused|metadata")  # actions of sparse optimizations
SPATIAL = "how a mapper lays out loops: state it in a mapping file (docs/mapping.md, constraints)"


@dataclass
class TimeloopPiece:
    """A component: its node, its attributes with those of the containers around it."""

    node: SourceSection
    name: str
    attributes: SourceSection | None
    constraints: SourceSection | None
    inherited: tuple[SourceSection, ...] = ()
    prices: dict[str, SourceQuantity] = field(default_factory=dict)
    keep: list[str] | None = None
    bypass: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """memory, compute or network, told by the class and the attributes."""
        said = self.node.text("class", "the kind of part")
        if not said:
            self.node.fail("key 'class' is missing")
        given = self.attributes
        sized = given is not None and any(key in given for key in (*DEPTH, "sizeKB"))
        if _COMPUTE.search(said) and not sized:
            return "compute"
        if sized or _MEMORY.search(said):
            return "memory"
        return "network" if _NETWORK.search(said) else ""

    @property
    def offchip(self) -> bool:
        """Whether the class is that of a DRAM."""
        return "dram" in str(self.node.node.mapping["class"].value).lower()


class TimeloopChain:
    """Fan-outs and components, outermost first."""

    def __init__(self, architecture: SourceSection, variables: dict[str, object]) -> None:
        self.architecture = architecture
        self.variables = variables
        self.pieces: list[TimeloopPiece | ForeignFanout] = []
        self.attributes: list[SourceSection] = []  # of the containers so far
        self.roles: dict[str, str] = {}
        self._instances = constant(1, "one", architecture.node.mark)  # of version 3: of the subtree so far
        self._reached = 1  # of version 3: of the components so far
        self._columns = 1  # of them

    def inherit(self, attributes: SourceSection | None) -> None:
        """Attributes that hold for what stands below too."""
        if attributes is not None:
            self.attributes.append(attributes)

    def spread(self, name: str, size: SourceQuantity, axis: str) -> None:
        """A fan-out."""
        self.pieces.append(ForeignFanout(name, size, axis))

    def add(self, piece: TimeloopPiece) -> None:
        """A component below all before it."""
        piece.inherited = tuple(self.attributes)
        self.pieces.append(piece)

    def multiply(self, count: SourceQuantity) -> None:
        """Instances of a subtree."""
        source = count.source if count.value > 1 else self._instances.source
        self._instances = replace(count, value=self._instances.value * count.value, source=source)

    def add_counted(self, piece: TimeloopPiece, own: SourceQuantity) -> None:
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

    def _said(self, own: SourceQuantity) -> str:
        return own.source if own.value > 1 else self._instances.source

    def _fan(self, piece: TimeloopPiece, count: SourceQuantity) -> None:
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

    def restrict(self, sections: list[SourceSection], roles: dict[str, str]) -> None:
        """What is kept where: constraints in the nodes, then those of files of their own, by names of components."""
        self.roles = roles
        known = {piece.name: piece for piece in self.pieces if isinstance(piece, TimeloopPiece)}
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

    def price(self, table: SourceSection | None) -> None:
        """Energies of an Accelergy reference table (ERT), by the last part of a component's path."""
        if table is None:
            return
        table.ignore("the version of Accelergy's own grammar", "version")
        known = {piece.name: piece for piece in self.pieces if isinstance(piece, TimeloopPiece)}
        for entry in table.entries("tables"):
            path = _INDEX.sub("", entry.text("name", "the part"))
            piece = known.get(path.rpartition(".")[2])
            if piece is None:
                entry.ignore("of a component that the architecture does not have, or that stores and computes nothing")
                continue
            for action in entry.entries("actions"):
                _action(piece, action)


def _action(piece: TimeloopPiece, action: SourceSection) -> None:
    """Of several rows of one action (of different arguments) the costliest one: fresh data."""
    name = action.text("name", "")
    action.ignore("arguments of the estimators", "arguments")
    kind = _ACTIONS.get(name)
    if kind is None:
        _uncounted(name, action)
        return
    energy = action.number("energy", f"{piece.name}.{'leakage' if kind == 'leak' else 'energy'}")
    if energy is None:
        action.fail("key 'energy' is missing")
    action.take("which action it is", "name")
    *less, most = sorted((energy, piece.prices.get(kind, energy)), key=lambda each: each.value)
    piece.prices[kind] = most
    for each in less if less[0].path != most.path else []:
        said = f"of several energies of '{name}' the largest one is taken, {most.source}"
        action.ledger.settle(IGNORED, each.path, each.mark, said)


def _uncounted(name: str, action: SourceSection) -> None:
    """An action without counterpart: it matters where it costs something in a dense run."""
    free = str(action.node.mapping["energy"].value) in ("0", "0.0") if "energy" in action else True
    if free or _SPARSE.search(name):
        action.ignore("an action that costs nothing" if free else "an action of sparse tensors; all is dense here")
    elif name == "update":
        action.approximate("an update of a sum counts as a read and a write here")
    else:
        action.refuse(f"an action '{name}' that archsim does not count")


def _constrain(piece: TimeloopPiece, constraints: SourceSection) -> None:
    kept = constraints.mapping("dataspace")
    if kept is not None:
        piece.bypass = kept.words("bypass", "keeps")
        if "keep" in kept or "keep_only" in kept:
            piece.keep = kept.words("keep", "keeps") + kept.words("keep_only", "keeps")
    constraints.refuse(SPATIAL, "temporal", "spatial", "max_overbooked_proportion")


def _target(piece: TimeloopPiece, target: SourceSection) -> None:
    """An entry of a constraints file."""
    kind = target.text("type", "keeps")
    if kind in ("bypass", "bypassing", "dataspace", "datatype"):
        piece.bypass = target.words("bypass", "keeps")
        if "keep" in target:
            piece.keep = target.words("keep", "keeps")
    else:
        target.refuse(SPATIAL)


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
