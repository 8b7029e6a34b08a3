"""What operator families call to emit layers and views: the Builder of ``archsim.ops.kit.builder``.

It keeps where every value lies, cuts dims so that factored views can be read in place, copies values that cannot, and
declares tensors. Operators speak logical axes; layers come out in memory order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from archsim.graph.lowering.order import CHANNELS_LAST_FROM, images, memory_order
from archsim.graph.lowering.place import place, same_elements
from archsim.graph.lowering.reading import InputReading, by_stride, read_all
from archsim.graph.lowering.tensors import ConstantContent, Tensors
from archsim.graph.passes.fuse import folds_shift
from archsim.ir.graph import Graph, GraphNode, GraphValue, Shape
from archsim.ir.workload import Bound, Guard, Layer, Operand, VectorStep, ViewNode
from archsim.ops.kit.access import DimSplits, LogicalAccess, at, rename, substitute
from archsim.ops.kit.builder import NO_PARTS, SPATIAL, LayerKind, LayerParts
from archsim.ops.kit.catalogue import find
from archsim.ops.kit.layout import LogicalLayout, dense
from archsim.ops.kit.steps import join, requantise
from archsim.ops.kit.visible import bounds_of


class LayerBuilder:
    """The ``WorkloadBuilder`` (archsim.ops.kit.builder, which says what its methods do) of one graph."""

    def __init__(self, graph: Graph) -> None:
        """``graph``: inferred, without aliases, fused."""
        self.graph = graph
        self.layers: list[Layer] = []
        self._names: set[str] = set()  # of layers
        self.sources: dict[str, str] = {}  # layer -> node
        self.views: dict[str, ViewNode] = {}
        self.tensors = Tensors(graph.states)
        self._images = images(graph)
        self._values: dict[str, GraphValue] = dict(graph.values)
        self._home = place(graph, self._images)
        self._layouts: dict[str, LogicalLayout] = {}
        self._origins: dict[str, str] = {}
        self._producer = {name: node for node in graph.nodes for name in node.outputs}
        for name, layout in self._home.items():
            if layout.root == name:
                self.tensors.root(self._values[name], layout)
        for name in graph.inputs:
            self._settle(name, self._dense(name, name))

    # what operators ask

    def shape(self, name: str) -> Shape:
        """See ``WorkloadBuilder.shape``."""
        return self._values[name].shape

    def value(self, name: str) -> GraphValue:
        """See ``WorkloadBuilder.value``."""
        return self._values[name]

    def dims(self, name: str) -> tuple[str, ...]:
        """See ``WorkloadBuilder.dims``."""
        rank = len(self.shape(name))
        if name in self._images and CHANNELS_LAST_FROM <= rank <= CHANNELS_LAST_FROM + 2:
            return ("n", "c", *SPATIAL[len(SPATIAL) - (rank - 2) :])
        return tuple(f"d{axis}" for axis in range(rank))

    def extents(self, name: str) -> dict[str, int]:
        """See ``WorkloadBuilder.extents``."""
        shape, dims = self.shape(name), self.dims(name)
        return {dims[axis]: shape[axis] for axis in memory_order(shape, name in self._images)}

    def layout(self, name: str) -> LogicalLayout | None:
        """See ``WorkloadBuilder.layout``."""
        return self._layouts.get(name)

    def home(self, name: str) -> LogicalLayout | None:
        """See ``WorkloadBuilder.home``."""
        return self._home.get(name)

    def folded_shift(self, node: GraphNode) -> bool:
        """See ``WorkloadBuilder.folded_shift``."""
        return folds_shift(self.graph, node)

    def steps(self, node: GraphNode, first: VectorStep) -> tuple[VectorStep, ...]:
        """See ``WorkloadBuilder.steps``."""
        steps: tuple[VectorStep, ...] = (first,)
        for other in node.fused:
            found = find(other.op)
            own = found.epilogue(other, self.graph) if found is not None and found.epilogue is not None else None
            if self.graph.beside(replace(node, fused=(other,))):  # another operand is a pass of its own
                steps = (*steps, *(own or ()))
            else:
                steps = (*steps[:-1], *join(steps[-1], own or ()))
        return steps

    def original(self, name: str) -> str:
        """See ``WorkloadBuilder.original``."""
        while name in self._origins:
            name = self._origins[name]
        return name

    # what operators emit

    def constant(self, name: str, shape: Shape) -> str:
        """See ``WorkloadBuilder.constant``."""
        while name in self._values:
            name += ".folded"
        self._values[name] = GraphValue(name, shape, "constant")
        return name

    def layer(
        self,
        node: GraphNode,
        kind: LayerKind,
        extents: Mapping[str, int],
        reads: tuple[LogicalAccess, ...],
        write: LogicalAccess,
        *,
        parts: LayerParts = NO_PARTS,
        steps: tuple[VectorStep, ...] = (),
        guards: tuple[Guard, ...] = (),
        name: str = "",
    ) -> None:
        """See ``WorkloadBuilder.layer``."""
        readings, splits = read_all(reads, self.layout, self.copied, parts.free)
        dims = _cut(extents, splits)
        order = _packing(parts, readings, splits)
        inputs = tuple(self._operand(node, kind, reading, splits, order, dims) for reading in readings)
        value = self._values[write.value]
        layout = self._layouts.get(write.value) or self._home[write.value]
        self._layouts[write.value] = layout
        called = self._unused(name or node.name)
        self.sources[called] = node.name
        self.layers.append(
            Layer(
                name=called,
                op=node.op,
                kind=kind,
                dims=dims,
                inputs=inputs,
                output=self.tensors.activation(write, value, layout, splits, "outputs"),
                m=rename(parts.m, splits),
                n=rename(parts.n, splits),
                k=rename(parts.k, splits),
                batch=rename(parts.batch, splits),
                whole=rename(parts.whole, splits),
                steps=tuple(_renamed(step, splits) for step in steps),
                guards=tuple(Guard(substitute(guard.axis, splits), guard.length) for guard in guards),
                fused=tuple(other.name for other in node.fused),
                attributes=_attributes(node),
                bounds=tuple(Bound(substitute(bound.axis, splits)) for bound in bounds_of(node, reads, write)),
            )
        )

    def view(self, node: GraphNode, output: str, transform: Callable[[LogicalLayout], LogicalLayout | None]) -> None:
        """Declare ``output`` a view of the node's first input; where ``transform`` says None, of a row-major copy of
        it.
        """
        source = node.inputs[0]
        if source not in self._layouts:
            node.unsupported(f"its input '{source}' is a constant used with a shape computed at run time")
        layout = transform(self._layouts[source]) or transform(self.copied(source, rows=True))
        if layout is None:
            node.fail(f"shape {list(self.shape(source))} does not fit {list(self.shape(output))}")
        self._layouts[output] = layout
        self.views[node.name] = ViewNode(node.name, node.op, layout.root)

    def joined(self, node: GraphNode) -> None:
        """See ``WorkloadBuilder.joined``."""
        output = node.outputs[0]
        self._layouts[output] = self._home[output]
        if self._home[output].root in self.graph.states:
            self.tensors.declare(self._values[output], self._home[output])
        if not any(layer.name == node.name or layer.name.startswith(f"{node.name}[") for layer in self.layers):
            self.views[node.name] = ViewNode(node.name, node.op, self._home[output].root)

    def copy_into(self, node: GraphNode, index: int, target: LogicalLayout, *, name: str = "") -> None:
        """See ``WorkloadBuilder.copy_into``."""
        source, output = node.inputs[index], node.outputs[0]
        part_name = f"{output}[{index}]"
        self._origins[part_name] = source
        self._values[part_name] = replace(self._values[output], name=part_name, shape=self.shape(source))
        self._layouts[part_name] = target
        self._copy(node, source, part_name, output, name or f"{node.name}[{index}]")

    def copied(self, name: str, *, rows: bool = False) -> LogicalLayout:
        """See ``WorkloadBuilder.copied``."""
        node = self._producer.get(name) or GraphNode(name, "Input", (), (name,))
        target = f"{name}.copy"
        while target in self._values:
            target += ".copy"
        self._origins[target] = name
        self._values[target] = replace(self._values[name], name=target, kind="activation")
        self._settle(target, self._dense(name, target, rows=rows))
        of_view = self.views.get(node.name) is not None and len(node.outputs) == 1
        self._copy(node, name, target, name, node.name if of_view else target)
        if of_view:
            del self.views[node.name]
        self._layouts[name] = self._layouts[target]
        return self._layouts[name]

    # inside

    def _copy(self, node: GraphNode, source: str, target: str, like: str, name: str) -> None:
        """One copy layer; dims are named and ordered as those of the value ``like``. A vector layer where the file
        gives the two other elements: one pass that requantises.
        """
        dims, shape = self.dims(like), self.shape(source)
        index = tuple(at(dim) for dim in dims)
        order = memory_order(shape, like in self._images)
        extents = {dims[axis]: shape[axis] for axis in order}
        bare = replace(node, fused=(), attributes={})
        reads, write = (LogicalAccess("in0", source, index),), LogicalAccess("out", target, index)
        same = same_elements(self.graph, source, like)
        kind: LayerKind = "copy" if same else "vector"
        steps = () if same else (requantise(),)
        self.layer(bare, kind, extents, reads, write, parts=LayerParts(free=dims), steps=steps, name=name)

    def _operand(
        self,
        node: GraphNode,
        kind: LayerKind,
        reading: InputReading,
        splits: DimSplits,
        order: tuple[str, ...],
        dims: Mapping[str, int],
    ) -> Operand:
        access, value = reading.access, self._values[reading.access.value]
        own = access.value if access.value in self.graph.values else ""
        content = ConstantContent(own, access.part, node.name if access.part else "", access.channel)
        if reading.layout is not None:
            return self.tensors.activation(access, value, reading.layout, splits, "inputs")
        if kind == "matmul" and access.operand == "b":
            return self.tensors.packed(access, value, content, splits, order, dims)
        return self.tensors.natural(access, value, content, splits)

    def _dense(self, name: str, root: str, *, rows: bool = False) -> LogicalLayout:
        shape = self.shape(name)
        return dense(root, shape, memory_order(shape, name in self._images and not rows))

    def _settle(self, name: str, layout: LogicalLayout) -> None:
        self._layouts[name] = layout
        self.tensors.root(self._values[name], layout)

    def _unused(self, name: str) -> str:
        number, found = 2, name
        while found in self._names:
            found, number = f"{name}#{number}", number + 1
        self._names.add(found)
        return found


def _cut(extents: Mapping[str, int], splits: DimSplits) -> dict[str, int]:
    dims: dict[str, int] = {}
    for dim, extent in extents.items():
        dims.update(dict(splits[dim].parts) if dim in splits else {dim: extent})
    return dims


def _renamed(step: VectorStep, splits: DimSplits) -> VectorStep:
    """The step with the parts of cut dims in place of them."""
    functions = []
    for function in step.functions:
        parameters = (
            (key, rename(value, splits) if isinstance(value, tuple) else value) for key, value in function.parameters
        )
        functions.append(replace(function, parameters=tuple(parameters)))
    return replace(step, functions=tuple(functions))


def _packing(parts: LayerParts, readings: tuple[InputReading, ...], splits: DimSplits) -> tuple[str, ...]:
    """Dims in the order of packed weights: batch, columns, then the reduction as the other operand steps through it."""
    reduction = rename(parts.k, splits)
    if readings:
        reduction = by_stride(reduction, readings[0], splits)
    return (*rename((*parts.batch, *parts.n), splits), *reduction)


def _attributes(node: GraphNode) -> dict[str, object]:
    """Plain attributes of the node, and of fused ones as ``Operator.attribute``."""
    found = {key: value for key, value in node.attributes.items() if isinstance(value, int | float | str | tuple)}
    found.pop("indices", None)  # an access pattern is the operand's
    for other in node.fused:
        plain = {k: v for k, v in other.attributes.items() if isinstance(v, int | float | str | tuple)}
        found.update({f"{other.op}.{key}": value for key, value in plain.items()})
    return dict(found)
