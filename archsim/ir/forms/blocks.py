"""Blocks of layers in the text form of a Workload: stated once, unrolled as they are read.

layers:
- block:
    name: mlp
    times: 4
    carry: {y: x}
    own: [w]
    layers:
    - name: up
      ...
      - a = x(m, k) as inputs
      - b = w(n, k) as weights
      output: out = y(m, n) as outputs

The Workload has the layers ``mlp[0].up`` to ``mlp[3].up`` one by one. ``views`` and ``composites`` stand in a block as
in a file, an item of ``layers`` may be a block again, and every name of a layer, view, composite and fused node gets
the number of the iteration, on which nothing else depends. ``*`` in a block's name says where the number stands:
``mlp`` is short for ``mlp[*]``, and ``model.layers.*`` makes ``model.layers.3.up``.

Tensors are all declared in the file's ``tensors``, once. Of these there are as many as iterations:

- those that a layer of the block writes;
- those in ``own`` (weights, states, inputs), with their views;
- views of these, and of what is carried, that a layer of the block names;
- all of them that a block inside makes.

Every other tensor is one that all iterations share. ``carry: {y: x}``: the first iteration reads the tensor ``x``,
each later one reads the ``y`` of the iteration before in its place. A ``y`` of kind output is an activation in all
iterations but the last. Outside the block ``y`` is that of the last iteration, and ``mlp[2].y`` that of the third.

In the order of tensors the first iteration's stand where they are declared, the others behind the last of these. Views
and composites of blocks stand among the others as the layers do: a view by the layer that makes what it is of, a
composite by its first layer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import merge
from typing import NamedTuple, NoReturn

from archsim.base.errors import nearest
from archsim.ir.composites import Composite
from archsim.ir.forms.composites import read_composite
from archsim.ir.forms.fields import MappingFields, fail, phrase_of, text_of
from archsim.ir.forms.iterations import NumberedName, RepeatedBlock, home
from archsim.ir.forms.layers import read_layer
from archsim.ir.forms.tensors import read_tensor, read_view_node
from archsim.ir.workload import Layer, Tensor, ViewNode
from archsim.spec.nodes import FileNode

BLOCK = "block"  # the key of an item of ``layers`` that is one
PLACE = "*"  # where the number of the iteration stands in a block's name
MOST = 100_000  # layers and tensors that the blocks of a file may make
MADE = ("activation", "output")  # kinds of tensors that are there when a layer has written them


class TextPlace(NamedTuple):
    """Where something is stated."""

    node: FileNode
    path: str

    def __str__(self) -> str:
        """``file:line:column: key.path``."""
        return f"{self.node.mark}: {self.path}"

    def refuse(self, found: object, allowed: str) -> NoReturn:
        """Raise ConfigError: what was found here, and what is allowed."""
        fail(self.node, self.path, found, allowed)


@dataclass(slots=True)
class Scope:
    """What a file or a block holds, blocks inside unrolled; ``made``: the tensors that these made."""

    layers: list[tuple[Layer, TextPlace]] = field(default_factory=list)
    views: list[ViewNode] = field(default_factory=list)
    composites: list[tuple[Composite, TextPlace]] = field(default_factory=list)
    made: dict[str, None] = field(default_factory=dict)


class BlockReader:
    """Reads the layers of one file; ``tensors`` and their ``places`` are, in the end, those of the Workload."""

    def __init__(self, fields: MappingFields) -> None:
        """``fields``: those of the file, whose ``tensors`` are read at once."""
        self.tensors: dict[str, Tensor] = {}
        self.places: dict[str, TextPlace] = {}
        self._known: dict[str, str] = {}  # tensor that blocks have numbered -> what it stands for outside
        for name, node, at in fields.entries("tensors"):
            self.tensors[name] = phrase_of(node, at, partial(read_tensor, name))
            self.places[name] = TextPlace(node, at)

    def scope(self, fields: MappingFields) -> Scope:
        """The layers, views and composites of a file or a block."""
        found, names = Scope(), set[NumberedName]()
        for node, at in fields.items("layers"):
            if _is_block(node):
                item = MappingFields(node, at)
                item.ask(BLOCK)
                item.end()
                self._add(found, MappingFields(item.child(BLOCK), item.at(BLOCK)), names)
            else:
                found.layers.append((read_layer(MappingFields(node, at)), TextPlace(node, at)))
        views = [phrase_of(node, at, read_view_node) for node, at in fields.items("views")]
        composites = [
            (read_composite(MappingFields(node, at)), TextPlace(node, at)) for node, at in fields.items("composites")
        ]
        self._add_parts(found, views, composites)
        self._outside(found)
        return found

    def _add_parts(self, scope: Scope, views: list[ViewNode], composites: list[tuple[Composite, TextPlace]]) -> None:
        """Put views and composites among those of blocks, in the order of the layers that they are of."""
        makers = {home(self.tensors, layer.output.tensor): at for at, (layer, _) in enumerate(scope.layers)}
        numbers = {layer.name: at for at, (layer, _) in enumerate(scope.layers)}

        def maker(view: ViewNode) -> int:
            return makers.get(home(self.tensors, self._known.get(view.of, view.of)), 0)

        def first(composite: tuple[Composite, TextPlace]) -> int:
            return min((numbers.get(name, 0) for name in composite[0].members), default=0)

        scope.views = list(merge(scope.views, views, key=maker))
        scope.composites = list(merge(scope.composites, composites, key=first))

    def _outside(self, scope: Scope) -> None:
        """Put what they stand for in place of the tensors that blocks have numbered."""
        known = self._known
        for at, (layer, place) in enumerate(scope.layers):
            written = layer.output.tensor
            if written in known:
                place.refuse(
                    f"{layer.name} writes {written}",
                    f"a tensor of its own; '{written}' is made in a block, as '{known[written]}'",
                )
            inputs = tuple(replace(one, tensor=known.get(one.tensor, one.tensor)) for one in layer.inputs)
            scope.layers[at] = replace(layer, inputs=inputs), place
        scope.views = [replace(view, of=known.get(view.of, view.of)) for view in scope.views]

    def _add(self, outer: Scope, fields: MappingFields, names: set[NumberedName]) -> None:
        """Add the iterations of a block to what is around it, where blocks of these ``names`` stand already."""
        block = RepeatedBlock(_name(fields, names), _times(fields))
        if not fields.child("layers").items:
            fail(fields.child("layers"), fields.at("layers"), fields.child("layers").plain(), "a list of layers")
        inner = self.scope(fields)
        block.written = frozenset(home(self.tensors, layer.output.tensor) for layer, _ in inner.layers)
        block.own = self._own(fields)
        block.carried = self._carried(fields, block, inner)
        fields.end()
        block.numbered = self._numbered(block, inner)
        self._refuse_other_iterations(block, inner)
        size = block.times * (len(inner.layers) + len(block.numbered))
        if len(outer.layers) + size > MOST:
            allowed = f"so many that all blocks make at most {MOST:,} layers and tensors"
            fail(fields.child("times"), fields.at("times"), block.times, allowed)
        outer.made |= self._number(block, TextPlace(fields.node, fields.path))
        for iteration in range(block.times):
            outer.layers += [(block.layer(iteration, layer), place) for layer, place in inner.layers]
            outer.views += [block.view(iteration, view) for view in inner.views]
            outer.composites += [(block.composite(iteration, each), place) for each, place in inner.composites]

    def _own(self, fields: MappingFields) -> tuple[str, ...]:
        found = []
        for node, at in fields.items("own"):
            name, place = text_of(node, at), TextPlace(node, at)
            if name in self._known:
                place.refuse(name, f"a tensor of no other block; '{name}' is made in one, as '{self._known[name]}'")
            if name not in self.tensors:
                place.refuse(name, f"a tensor of the file{nearest(name, self.tensors)}")
            tensor = self.tensors[name]
            if tensor.view is None and tensor.kind in MADE:
                place.refuse(
                    name,
                    f"weights, states, inputs and views; '{name}' is of kind {tensor.kind}, and of what a layer of the "
                    "block writes every iteration has its own",
                )
            found.append(name)
        return tuple(found)

    def _carried(self, fields: MappingFields, block: RepeatedBlock, inner: Scope) -> dict[str, str]:
        """IN -> OUT of ``carry: {OUT: IN}``."""
        found: dict[str, str] = {}
        read = {name for layer, _ in inner.layers for operand in layer.inputs for name in self._both(operand.tensor)}
        own = {*block.written, *block.own}
        for key, node, at in fields.entries("carry"):
            stated, place = text_of(node, at), TextPlace(node, at)
            out, into = self._tensor(key, place), self._tensor(stated, place)
            if home(self.tensors, out) not in block.written:
                place.refuse(key, "before the colon a tensor that a layer of the block writes")
            if into not in read or home(self.tensors, into) in own:
                place.refuse(stated, "behind the colon a tensor that layers of the block read, and that is not its own")
            if into in found:
                place.refuse(stated, f"each tensor behind a colon once; '{found[into]}' is carried to it already")
            shape, wanted = self.tensors[into].shape, self.tensors[out].shape
            if shape != wanted:
                place.refuse(f"{stated} {list(shape)}", f"a tensor of the shape of '{key}', {list(wanted)}")
            found[into] = out
        return found

    def _tensor(self, name: str, place: TextPlace) -> str:
        """The tensor that a name stands for where a block is stated."""
        found = self._known.get(name, name)
        if found not in self.tensors:
            place.refuse(name, f"a tensor of the file{nearest(name, self.tensors)}")
        return found

    def _both(self, name: str) -> tuple[str, str]:
        return name, home(self.tensors, name)

    def _numbered(self, block: RepeatedBlock, inner: Scope) -> dict[str, None]:
        """The tensors of which each iteration has its own, in their order."""
        bases = {*block.written, *block.own, *block.carried}
        wanted = {*block.written, *block.own, *block.carried.values(), *inner.made}
        for layer, _ in inner.layers:
            for operand in (*layer.inputs, layer.output):
                name, base = self._both(operand.tensor)
                wanted |= {name} if name != base and base in bases else set()
        return {name: None for name in self.tensors if name in wanted or home(self.tensors, name) in block.own}

    def _refuse_other_iterations(self, block: RepeatedBlock, inner: Scope) -> None:
        """An iteration reads what it wrote itself before, and of others what is carried."""
        later = {name for name in block.written if name in self.tensors and self.tensors[name].kind in MADE}
        for layer, place in inner.layers:
            for operand in layer.inputs:
                name, base = self._both(operand.tensor)
                of_one = block.name.split(name)
                if base in later or (of_one is not None and of_one[1] in block.numbered):
                    place.refuse(
                        f"{layer.name} reads {name}",
                        "what the same iteration wrote before, and what 'carry: {OUT: IN}' says of the one before",
                    )
            later.discard(home(self.tensors, layer.output.tensor))

    def _number(self, block: RepeatedBlock, place: TextPlace) -> dict[str, None]:
        """Put the tensors of all iterations in place of those that are declared; returns their names."""
        tensors, places = self.tensors, self.places
        self.tensors, self.places = {}, {}
        made, waiting = dict[str, None](), set(block.numbered)

        def keep(name: str, tensor: Tensor) -> None:
            if tensor.name in self.tensors:
                place.refuse(tensor.name, "a block whose tensors have names of their own; this one is there already")
            self.tensors[tensor.name], self.places[tensor.name] = tensor, places[name]

        def number(names: Iterable[str], iterations: range) -> None:
            for iteration in iterations:
                for name in names:
                    keep(name, block.tensor(iteration, name, tensors))
                    made[block.name.of(iteration, name)] = None

        for name, tensor in tensors.items():
            if name not in block.numbered:
                keep(name, _of_last(block, tensor))
                continue
            number([name], range(1))
            waiting.remove(name)
            if not waiting:
                number(block.numbered, range(1, block.times))
        self._known = {name: block.last(found) for name, found in self._known.items()}
        self._known |= {name: block.last(name) for name in block.numbered}
        return made


def _is_block(item: FileNode) -> bool:
    """Whether an item of ``layers`` is a block, also one whose key is misspelt: a mapping under one key."""
    return BLOCK in item.mapping or (len(item.mapping) == 1 and all(child.mapping for child in item.mapping.values()))


def _of_last(block: RepeatedBlock, tensor: Tensor) -> Tensor:
    """A tensor that is outside the block: a view of one of the block's is of the last iteration's."""
    if tensor.view is None:
        return tensor
    return replace(tensor, view=replace(tensor.view, base=block.last(tensor.view.base)))


def _name(fields: MappingFields, names: set[NumberedName]) -> NumberedName:
    stated = fields.text("name")
    before, _, behind = (stated if PLACE in stated else f"{stated}[{PLACE}]").partition(PLACE)
    name, place = NumberedName(before, behind), TextPlace(fields.child("name"), fields.at("name"))
    if PLACE in behind:
        place.refuse(stated, f"one '{PLACE}', where the number of the iteration stands")
    if name in names:
        place.refuse(stated, "a name that no other block beside it has")
    names.add(name)
    return name


def _times(fields: MappingFields) -> int:
    times = fields.child("times").value
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        fail(fields.child("times"), fields.at("times"), fields.child("times").plain(), "an integer of 1 or more")
    return times
