"""ModelMapping <-> a text of one line per level, as Timeloop's maps are read (``map --export FILE.txt``).

mapping of conv_pair on golden for latency
sha256 workload "0f..." chip "9a..."
dtypes inputs int8 weights int8 outputs int8 accumulate int32
place x in dram at 0 bytes 1152 layers 0 to 0
layer conv1 on mxu as matmul (h 12, w 12, k 16, c 8) resident (y0)
  l1 [b:1 bias:1 a:2^1] h*3(5)
  l1 [out:2] acc [acc:2] k*2(8)|cols
group g0
keep b of conv1 in l1 slots 1
loop h of conv2 tile 5
window y1 in l1 slots 2 dim h rows 7 step 5
member conv1 ahead 1
member conv2 ahead 0

A line holds what is kept, memory by memory (operand:slots), and the loops below it, outermost first, as
dim*trips(tile): ``h*3(5)`` runs h in 3 tiles of 5 of what a loop over h further out leaves. ``|axis`` marks a loop
spread over a fan-out. ``a:2^1`` is a window that slides over the first loop behind it. ``-`` stands where nothing is
kept. Trips must be what extent and tile give. Layers of a group come without what the group shares, which stands below
its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from archsim.base.errors import ConfigError, ProgramError, nearest
from archsim.ir.asm.cursor import WordCursor
from archsim.ir.asm.lexer import AsmLine, read_lines
from archsim.ir.asm.words import quote
from archsim.ir.forms.mapping import FENCES, GIVEN, KINDS, placement_text, read_placement
from archsim.ir.mapping import Keep, LayerMapping, Loop, MapNode, MappingFile, ModelMapping, Placement
from archsim.ir.schedule import Group, Member, SharedKeep, SharedLoop, TensorWindow

T = TypeVar("T")
Dims = Mapping[str, Mapping[str, int]]  # layer -> dim -> extent


def mapping_to_text(mapping: ModelMapping, dims: Dims) -> str:
    """The text; ``dims``: extents of every layer's dims. What a search found (bound, proof) is left out."""
    stated = f" schedule {quote(mapping.schedule)}" if mapping.schedule else ""
    stated += f" fences {mapping.fences}" if mapping.fences != FENCES[0] else ""
    lines = [f"mapping of {quote(mapping.workload)} on {quote(mapping.chip)} for {mapping.objective}{stated}"]
    if mapping.workload_sha256 or mapping.chip_sha256:
        lines.append(f'sha256 workload "{mapping.workload_sha256}" chip "{mapping.chip_sha256}"')
    lines.append(" ".join(["dtypes", *(f"{quote(role)} {dtype}" for role, dtype in mapping.dtypes.items())]))
    lines += [f"place {placement_text(item)}" for item in mapping.placements]
    for layer in mapping.layers:
        lines.append(_header(layer, dims[layer.layer]))
        lines += [f"  {line}" for line in _levels(layer, dims[layer.layer])]
    for group in mapping.groups:
        lines += [f"group {quote(group.name)}", *_group_lines(group)]
    return "\n".join(lines) + "\n"


def _group_lines(group: Group) -> Iterator[str]:
    for entry in group.shared:
        if isinstance(entry, SharedLoop):
            yield f"loop {quote(entry.dim)} of {quote(entry.layer)} tile {entry.tile}"
        else:
            yield (f"keep {quote(entry.operand)} of {quote(entry.layer)} in {quote(entry.level)} slots {entry.slots}")
    for window in group.windows:
        yield (
            f"window {quote(window.tensor)} in {quote(window.level)} slots {window.slots} dim {quote(window.dim)} "
            f"rows {window.rows} step {window.step}"
        )
    for member in group.members:
        yield f"member {quote(member.layer)} ahead {member.ahead}"


def _header(layer: LayerMapping, dims: Mapping[str, int]) -> str:
    extents = ", ".join(f"{quote(dim)} {extent}" for dim, extent in dims.items())
    text = f"layer {quote(layer.layer)} on {quote(layer.unit)} as {layer.kind} ({extents})"
    return f"{text} resident ({', '.join(map(quote, layer.resident))})" if layer.resident else text


def _levels(layer: LayerMapping, dims: Mapping[str, int]) -> Iterator[str]:
    """A line for each run of Keeps and the loops behind it."""
    keeps: list[tuple[int, Keep]] = []
    loops: list[str] = []
    reach = dict(dims)  # what is left of each dim inside the loops so far
    for index, node in enumerate(layer.nodes):
        if isinstance(node, Keep):
            if loops:
                yield _level(keeps, loops, layer)
                keeps, loops = [], []
            keeps.append((index, node))
        else:
            loops.append(_factor(node, reach[node.dim]))
            reach[node.dim] = node.tile
    if keeps or loops:
        yield _level(keeps, loops, layer)


def _level(keeps: list[tuple[int, Keep]], loops: list[str], layer: LayerMapping) -> str:
    words: list[str] = []
    last = ""
    for index, keep in keeps:
        over = sum(isinstance(node, Loop) for node in layer.nodes[index : keep.reserve_at])
        text = f"{quote(keep.operand)}:{keep.slots}" + (f"^{over}" if over else "")
        if keep.level == last:
            words[-1] = f"{words[-1][:-1]} {text}]"
        else:
            words.append(f"{quote(keep.level)} [{text}]")
        last = keep.level
    return " ".join([*(words or ["-"]), *loops])


def _factor(loop: Loop, extent: int) -> str:
    trips = -(-extent // loop.tile)
    return f"{quote(loop.dim)}*{trips}({loop.tile})" + (f"|{quote(loop.axis)}" if loop.axis else "")


def mapping_file_from_text(text: str, path: str = "<text>") -> MappingFile:
    """The mapping of a text; raises ConfigError with file:line and what is expected."""
    try:
        return _Reader(path).read(read_lines(text, path))
    except ProgramError as error:
        raise ConfigError(str(error)) from None


class _Reader:
    """Reads statements one by one; a layer's levels belong to its statement."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names = {"workload": "", "chip": "", "objective": ""}
        self.schedule = ""
        self.fences: Any = FENCES[0]
        self.digests = {"workload": "", "chip": ""}
        self.dtypes: dict[str, str] = {}
        self.placements: list[Placement] = []
        self.layers: list[LayerMapping] = []
        self.dims: dict[str, Mapping[str, int]] = {}
        self.groups: list[Group] = []
        self.places: dict[str, str] = {}

    def read(self, lines: list[AsmLine]) -> MappingFile:
        """The whole file."""
        statements = {
            "mapping": self._title,
            "sha256": self._digests,
            "dtypes": self._dtypes,
            "place": self._place,
            "layer": self._layer,
            "group": self._group,
            "loop": self._shared_loop,
            "keep": self._shared_keep,
            "window": self._window,
            "member": self._member,
        }
        for line in lines:
            cursor = WordCursor(line, self.path)
            statements[cursor.keyword(statements, "a statement")](cursor)
            if not cursor.ended:
                cursor.fail("the end of the statement")
        mapping = ModelMapping(
            self.names["workload"],
            self.names["chip"],
            self.names["objective"],
            layers=tuple(self.layers),
            placements=tuple(self.placements),
            dtypes=self.dtypes,
            workload_sha256=self.digests["workload"],
            chip_sha256=self.digests["chip"],
            fences=self.fences,
            groups=tuple(self.groups),
            schedule=self.schedule,
        )
        return MappingFile(mapping, (), self.places, self.dims)

    def _note(self, cursor: WordCursor, key: str) -> None:
        self.places[key] = f"{self.path}:{cursor.word.line}"

    def _title(self, cursor: WordCursor) -> None:
        for word, key in (("of", "workload"), ("on", "chip"), ("for", "objective")):
            cursor.keyword((word,), f"the {key}")
            self._note(cursor, key)
            self.names[key] = cursor.name(f"the {key}")
        if cursor.skip_if("schedule"):
            self._note(cursor, "schedule")
            self.schedule = cursor.name("the schedule policy")
        if cursor.skip_if("fences"):
            self.fences = cursor.keyword(FENCES, "which fences")

    def _digests(self, cursor: WordCursor) -> None:
        while not cursor.ended:
            key = cursor.keyword(("workload", "chip"), "what the digest is of")
            self.digests[key] = cursor.name("a digest in quotes")

    def _dtypes(self, cursor: WordCursor) -> None:
        self._note(cursor, "dtypes")
        while not cursor.ended:
            role = cursor.name("a role")
            self.dtypes[role] = cursor.name("a dtype")

    def _place(self, cursor: WordCursor) -> None:
        self._note(cursor, f"placements[{len(self.placements)}]")
        self.placements.append(read_placement(cursor))

    def _group(self, cursor: WordCursor) -> None:
        self._note(cursor, f"groups[{len(self.groups)}]")
        self.groups.append(Group(cursor.name("a group"), ()))

    def _grown(self, cursor: WordCursor) -> Group:
        """The group that is being read, which goes on."""
        if not self.groups:
            cursor.fail("a group before what it has")
        return self.groups.pop()

    def _shared_loop(self, cursor: WordCursor) -> None:
        group, (dim, layer) = self._grown(cursor), _of_layer(cursor, "a dim")
        entry = SharedLoop(layer, dim, _number(cursor, "tile"))
        self.groups.append(replace(group, shared=(*group.shared, entry)))

    def _shared_keep(self, cursor: WordCursor) -> None:
        group, (operand, layer) = self._grown(cursor), _of_layer(cursor, "an operand")
        entry = SharedKeep(layer, operand, _memory(cursor), _number(cursor, "slots"))
        self.groups.append(replace(group, shared=(*group.shared, entry)))

    def _window(self, cursor: WordCursor) -> None:
        group, tensor = self._grown(cursor), cursor.name("a tensor")
        memory, slots = _memory(cursor), _number(cursor, "slots")
        cursor.keyword(("dim",), "the dim along which it moves on")
        dim = cursor.name("a dim")
        window = TensorWindow(tensor, memory, slots, dim, _number(cursor, "rows"), _number(cursor, "step"))
        self.groups.append(replace(group, windows=(*group.windows, window)))

    def _member(self, cursor: WordCursor) -> None:
        group = self._grown(cursor)
        member = Member(cursor.name("a layer"), _number(cursor, "ahead"))
        self.groups.append(replace(group, members=(*group.members, member)))

    def _layer(self, cursor: WordCursor) -> None:
        at = f"layers[{len(self.layers)}]"
        self._note(cursor, at)
        name = cursor.name("a layer")
        cursor.keyword(("on",), "a unit")
        unit = cursor.name("a unit")
        cursor.keyword(("as",), "a kind")
        kind: Any = cursor.keyword(KINDS, "a kind")
        dims = self.dims[name] = dict(_listed(cursor, _extent))
        resident = tuple(_listed(cursor, lambda words: words.name("an operand"))) if cursor.skip_if("resident") else ()
        nodes = self._nodes(cursor, at, dims)
        self.layers.append(LayerMapping(name, unit, kind, nodes, resident, 0, 0, 0, GIVEN))

    def _nodes(self, cursor: WordCursor, at: str, dims: Mapping[str, int]) -> tuple[MapNode, ...]:
        """Loops and Keeps; windows are reserved behind the loops that they slide over once all are read."""
        nodes: list[MapNode] = []
        windows: dict[int, int] = {}
        reach = dict(dims)
        while not cursor.ended:
            if cursor.accept("-"):
                continue
            self._note(cursor, f"{at}.nodes[{len(nodes)}]")
            name = cursor.name("a memory or a dim")
            if not cursor.accept("["):
                loop = _loop(cursor, name, reach)
                reach[name] = loop.tile
                nodes.append(loop)
                continue
            while not cursor.accept("]"):
                self._note(cursor, f"{at}.nodes[{len(nodes)}]")
                keep, over = _keep(cursor, name, len(nodes))
                windows |= {len(nodes): over} if over else {}
                nodes.append(keep)
        for index, over in windows.items():
            loops = [place for place, node in enumerate(nodes) if isinstance(node, Loop) and place > index]
            if len(loops) < over:
                place = self.places[f"{at}.nodes[{index}]"]
                raise ProgramError(f"{place}: expected {over} loops behind a window over so many, found {len(loops)}")
            window = nodes[index]
            assert isinstance(window, Keep)
            nodes[index] = replace(window, reserve_at=loops[over - 1] + 1)
        return tuple(nodes)


def _of_layer(cursor: WordCursor, what: str) -> tuple[str, str]:
    name = cursor.name(what)
    cursor.keyword(("of",), "the layer")
    return name, cursor.name("a layer")


def _memory(cursor: WordCursor) -> str:
    cursor.keyword(("in",), "the memory")
    return cursor.name("a memory")


def _number(cursor: WordCursor, word: str) -> int:
    cursor.keyword((word,), f"'{word}'")
    return cursor.integer("a number")


def _listed(cursor: WordCursor, read: Callable[[WordCursor], T]) -> Iterator[T]:
    """Items between round brackets, with commas."""
    cursor.expect("(")
    while not cursor.accept(")"):
        yield read(cursor)
        if not cursor.accept(","):
            cursor.expect(")")
            return


def _extent(cursor: WordCursor) -> tuple[str, int]:
    return cursor.name("a dim"), cursor.integer("its extent")


def _loop(cursor: WordCursor, dim: str, dims: Mapping[str, int]) -> Loop:
    cursor.expect("*")
    trips = cursor.integer("trips")
    cursor.expect("(")
    tile = cursor.integer("a tile size")
    if dim not in dims:
        cursor.fail(f"a dim of the layer ({', '.join(dims)}) instead of '{dim}'", nearest(dim, dims))
    if tile < 1 or trips != -(-dims[dim] // tile):
        allowed = f"{-(-dims[dim] // tile)}({tile})" if tile > 0 else "tiles of 1 or more"
        cursor.fail(f"{dim}*{allowed} (extent {dims[dim]}) instead of {dim}*{trips}({tile})")
    cursor.expect(")")
    return Loop(dim, tile, cursor.name("an axis of the array") if cursor.accept("|") else "")


def _keep(cursor: WordCursor, level: str, index: int) -> tuple[Keep, int]:
    """A Keep, and the number of loops that its window slides over."""
    operand = cursor.name("an operand")
    cursor.expect(":")
    slots = cursor.integer("a number of slots")
    over = cursor.integer("a number of loops") if cursor.accept("^") else 0
    return Keep(operand, level, slots, index), over
