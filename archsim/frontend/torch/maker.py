"""Makes the neutral graph node by node: each value has its shape at once, and small constants their contents.

Lists of whole numbers, which steer look-ups, are kept whole where they are longer too, and so is what is made of them
as long as it has no more elements; and truth values, which are masks of attention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from archsim.ir.graph import SMALL_ELEMENTS, Array, GraphNode, GraphValue, OperatorAttribute, Shape
from archsim.ops.kit.catalogue import family

MASK_ELEMENTS = 1 << 24  # of truth values that are kept: which keys 4,096 queries see
LIST_ELEMENTS = 1 << 18  # of a list of numbers that is kept whole: choices of 32,768 tokens among eight experts each
_HELD = {"bfloat16": "float32"}  # NumPy has no such type; its numbers are held in another


class GraphMaker:
    """Nodes and values so far. ``hints``: shapes of what operators without a rule make."""

    def __init__(self) -> None:
        """Empty."""
        self.values: dict[str, GraphValue] = {}
        self.nodes: list[GraphNode] = []
        self.hints: dict[str, Shape] = {}
        self._names: set[str] = set()
        self._contents_seen: dict[tuple[str, Shape, bytes], str] = {}  # what is computed twice is there once
        self._joined: dict[str, tuple[int, tuple[str, ...]]] = {}

    def free(self, name: str) -> str:
        """A name that no value has: this one, or one like it."""
        return _free(name, self.values)

    def label(self, name: str) -> str:
        """A name that no node has."""
        found = _free(name, self._names)
        self._names.add(found)
        return found

    def enter(self, value: GraphValue) -> str:
        """A value, by a name that is free."""
        value = replace(value, name=self.free(value.name))
        self.values[value.name] = value
        return value.name

    def constant(self, name: str, data: Any, dtype: str, keep: bool = False) -> str:
        """A constant with its contents, where these are few or one list, or to ``keep``."""
        array = np.asarray(data, _HELD.get(dtype, dtype))
        known = array if keep or self.keeps(array.shape, dtype) else None
        return self.enter(GraphValue(name, array.shape, "constant", dtype, known))

    def beside(self, name: str, axis: int, parts: Sequence[str]) -> str:
        """Values side by side along an axis; ``part`` finds them again."""
        if len(parts) == 1:
            return parts[0]
        found, *_ = self.node("Concat", name, parts, {"axis": axis}, [self.values[parts[0]].dtype])
        self._joined[found] = (axis, tuple(parts))
        return found

    def part(self, name: str, source: str, axis: int, start: int, stop: int) -> str:
        """Elements ``start`` to ``stop`` of an axis, '' for none; of values side by side those values."""
        if start >= stop:
            return ""
        if (start, stop) == (0, self.values[source].shape[axis]):
            return source
        along, parts = self._joined.get(source, (-1, ()))
        if along != axis:
            bounds = (("start", start), ("stop", stop), ("axis", axis))
            given = [self.constant(f"{name}.{key}", np.asarray([number]), "int64") for key, number in bounds]
            return self.node("Slice", f"{name}.part", (source, *given), {}, [self.values[source].dtype])[0]
        found, begin = list[str](), 0
        for each in parts:
            size = self.values[each].shape[axis]
            inner = self.part(name, each, axis, max(0, start - begin), min(size, stop - begin))
            found += [inner] if inner else []
            begin += size
        return self.beside(f"{name}.parts", axis, found)

    def keeps(self, shape: Shape, dtype: str, made_of: Sequence[str] = ()) -> bool:
        """Whether contents of this shape are kept: few, one list, truth values, or as many as those of a value that
        they are ``made_of``."""
        if dtype == "bool":
            return prod(shape) <= MASK_ELEMENTS
        known = [self.values[name].data for name in made_of if name]
        most = max([SMALL_ELEMENTS, *(data.size for data in known if data is not None)])
        return prod(shape) <= (LIST_ELEMENTS if len(shape) == 1 else most)

    def node(
        self, op: str, name: str, inputs: Sequence[str], attributes: Mapping[str, OperatorAttribute], dtypes: list[str]
    ) -> tuple[str, ...]:
        """Add a node with an output for each of ``dtypes``, none where it is ''; what follows from known contents is a
        constant at once."""
        outputs = tuple(self.free(f"{name}.out{at or ''}") if dtype else "" for at, dtype in enumerate(dtypes))
        node = GraphNode(name, op, tuple(inputs), outputs, attributes)
        read = tuple(self.values[each] if each else None for each in inputs)
        rule = family(node)
        shapes = rule.shapes(node, read)
        if any(size < 0 for shape in shapes for size in shape):
            node.fail(f"gets an output of shape {list(shapes[0])}: its window or slice is larger than its input")
        data = () if rule.at_run_time else self._contents(node, read, shapes, dtypes)
        found = list(outputs)
        for at, (output, dtype) in enumerate(zip(outputs, dtypes, strict=True)):
            if not output:
                continue
            folds = not rule.at_run_time and all(value is None or value.constant for value in read)
            kind = "constant" if data or folds else "activation"
            sources = sorted({source for value in read if value is not None for source in value.sources})
            known = np.asarray(data[at], _HELD.get(dtype, dtype)) if data else None
            if known is not None and not sources:
                same = self._contents_seen.setdefault((dtype, known.shape, known.tobytes()), output)
                found[at] = same
                if same != output:
                    continue
            self.values[output] = GraphValue(output, shapes[at], kind, dtype, known, tuple(sources))  # type: ignore[arg-type]
        if not data:
            self.nodes.append(replace(node, name=self.label(name)))
        return tuple(found)

    def _contents(
        self, node: GraphNode, read: tuple[GraphValue | None, ...], shapes: tuple[Shape, ...], dtypes: list[str]
    ) -> tuple[Array, ...]:
        """Contents of the outputs where those of all inputs are known and they are few, else ()."""
        if len(shapes) < len(node.outputs):
            node.unsupported(f"has {len(node.outputs)} outputs, of which only {len(shapes)} can be computed")
        given = [None if value is None else value.data for value in read]
        if any(value is not None and array is None for value, array in zip(read, given, strict=True)):
            return ()
        kept = (self.keeps(shape, dtype, node.inputs) for shape, dtype in zip(shapes, dtypes, strict=False))
        if not read or not all(kept):
            return ()
        with np.errstate(all="ignore"):
            return family(node).reference(node, *given)


def _free(name: str, taken: Mapping[str, object] | set[str]) -> str:
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found
