"""An exported program to the neutral graph: call by call, in order.

What a call makes of constants alone is a constant: with contents where they are few and known, else of its shape only,
which the program states where no rule takes the call.
A call that writes into a tensor (``relu_``) makes a new value, which has the tensor's name from then on. Graphs
inside of the graph that run once (``with torch.no_grad()``) are walked in their place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from archsim.base.errors import ModelError
from archsim.frontend.torch import choices
from archsim.frontend.torch.bound import BoundCall
from archsim.frontend.torch.maker import GraphMaker
from archsim.frontend.torch.program import StoredTensor, TensorName, TorchCall, TorchGraph, TorchProgram
from archsim.frontend.torch.rules import (
    composed,
    constants,
    elementwise,
    experts,
    lookups,
    norms,
    products,
    scatter,
    selection,
    views,
    windows,
)
from archsim.frontend.torch.sizes import OpenSizes
from archsim.ir.graph import Graph, GraphNode, GraphValue, Shape, UnsupportedError

CallRule = Callable[[BoundCall], Sequence[str]]  # one value, or a tuple of them
RULES: Mapping[str, CallRule] = {
    **composed.RULES,
    **constants.RULES,
    **elementwise.RULES,
    **experts.RULES,
    **lookups.RULES,
    **norms.RULES,
    **products.RULES,
    **scatter.RULES,
    **selection.RULES,
    **views.RULES,
    **windows.RULES,
}
_INLINE = ("wrap_with_set_grad_enabled", "wrap_with_autocast", "inductor_compiled_code", "hints_wrapper")
_SILENT = ("_assert", "sym_constrain_range", "_check", "_operator")  # how calls begin that test, or compute sizes
_MAKE_VALUES = frozenset(constants.RULES)
_VIEWS = frozenset(views.RULES) | {"alias", "detach"}  # calls whose result shares memory with their operand
_OVERWRITE = ("copy_", "fill_", "zero_")  # calls that write without reading what was there
_LARGEST_ELEMENTS = 1 << 40


def graph_of(program: TorchProgram, name: str, sizes: OpenSizes, on_unsupported: str = "error") -> Graph:
    """The graph of a program. Raises ModelError that names the call, UnsupportedError for calls without a rule."""
    return _Walk(program, sizes, on_unsupported).graph(name)


class _Scope:
    """A graph that is walked: which value each of its tensors is, of which tensor one is a view, which of these
    are slices, which are read, and which hold the experts that a router chose."""

    def __init__(self, graph: TorchGraph) -> None:
        self.graph = graph
        self.names: dict[str, str] = {}
        self.bases: dict[str, str] = {}
        self.slices: dict[str, BoundCall] = {}
        self.choices = choices.expert_choices(graph)
        self.chosen = choices.chosen(graph, self.choices)
        self.read = {each for call in graph.calls for each in choices.tensors(call.arguments.values())}
        self.read = self.read.union(graph.outputs) - self.choices


class _Walk:
    def __init__(self, program: TorchProgram, sizes: OpenSizes, on_unsupported: str) -> None:
        self.program, self.sizes, self.host = program, sizes, on_unsupported == "host"
        self.maker = GraphMaker()
        self.shared: dict[str, str] = {}
        self.made: dict[tuple[object, ...], tuple[str, ...]] = {}
        self.warnings: dict[str, None] = {}
        self.left = Counter(call.module for call in _calls(program.graph) if _is_named(call))
        self.parents = {path.rpartition(".")[0] for path in self.left} | {""}

    def graph(self, name: str) -> Graph:
        """The whole of it."""
        found, scope = self.program.graph, _Scope(self.program.graph)
        inputs = []
        for tensor in filter(None, found.inputs):
            own = self.program.stored.get(tensor)
            if own is None:
                shape, dtype = self._facts(scope, tensor, tensor)
                inputs.append(self.maker.enter(GraphValue(tensor, shape, "input", dtype)))
                scope.names[tensor] = inputs[-1]
            else:
                scope.names[tensor] = self._stored(scope, tensor, own)
        self._run(scope)
        outputs = [self._value(scope, tensor) for tensor in found.outputs if tensor and tensor not in found.numbers]
        read = {each for node in self.maker.nodes for each in node.inputs}
        inputs = [label for label in inputs if label in read]
        if not inputs:
            raise ModelError("no call reads an input of the program; nothing depends on data")
        values = {key: value for key, value in self.maker.values.items() if value.kind != "activation"}
        made = {each for node in self.maker.nodes for each in node.outputs}
        values = {key: value for key, value in values.items() if key not in made}
        return Graph(
            name,
            tuple(self.maker.nodes),
            values,
            tuple(inputs),
            tuple(outputs),
            self.maker.hints,
            warnings=tuple(self.warnings),
        )

    def _stored(self, scope: _Scope, tensor: str, own: StoredTensor) -> str:
        """The constant that a parameter or buffer is; of parameters that share memory one."""
        shape, dtype = self._facts(scope, tensor, own.name)
        known = self.shared.get(own.memory)
        if known is not None and self.maker.values[known].shape == shape:
            return known
        label = self.maker.free(own.name)
        self.shared[own.memory] = label
        sources = (label,) if own.trained else ()
        data = own.data if own.data is not None and own.data.shape == shape else None
        return self.maker.enter(GraphValue(label, shape, "constant", dtype, data, sources))

    def _facts(self, scope: _Scope, tensor: str, what: str) -> tuple[Shape, str]:
        facts = scope.graph.tensors.get(tensor)
        if facts is None:
            raise ModelError(f"the program states no shape of '{tensor}'; export it again")
        shape = tuple(self.sizes.size(size, f"'{what}'") for size in facts.sizes)
        elements = 1
        for size in shape:
            elements *= size
            if size < 0 or elements > _LARGEST_ELEMENTS:
                raise ModelError(f"'{what}' has shape {list(shape)}; allowed up to {_LARGEST_ELEMENTS} elements")
        return shape, facts.dtype

    def _value(self, scope: _Scope, tensor: str) -> str:
        if tensor not in scope.names:
            raise ModelError(f"'{tensor}' is read, but no call makes it; export the program again")
        return scope.names[tensor]

    def _run(self, scope: _Scope) -> None:
        for call in scope.graph.calls:
            name = call.op.partition(".")[0]
            if name.startswith(_SILENT) or (call.outputs and all(each in scope.graph.numbers for each in call.outputs)):
                continue
            if name in _INLINE:
                self._inline(scope, call)
            else:
                self._call(scope, call)

    def _inline(self, scope: _Scope, call: TorchCall) -> None:
        """Walk the graph of a call in its place."""
        inner = next((each for each in call.arguments.values() if isinstance(each, TorchGraph)), None)
        if inner is None:
            raise ModelError(f"'{call.name}' ({call.op}): has no graph to run")
        below = _Scope(inner)
        given = [each for each in call.arguments.values() if isinstance(each, TensorName)]
        wanted = [tensor for tensor in inner.inputs if tensor]
        if len(given) != len(wanted) or len(inner.outputs) != len(call.outputs):
            raise ModelError(f"'{call.name}' ({call.op}): its graph has other inputs or outputs than the call")
        below.names = {tensor: self._value(scope, each.name) for tensor, each in zip(wanted, given, strict=True)}
        self._run(below)
        for tensor, output in zip(inner.outputs, call.outputs, strict=True):
            if tensor and output:
                scope.names[output] = self._value(below, tensor)

    def _call(self, scope: _Scope, call: TorchCall) -> None:
        names = [tensor for tensor in call.outputs if tensor]
        stated = tuple(self._facts(scope, tensor, tensor) for tensor in names)
        bound = BoundCall(
            self.maker,
            call,
            scope.names,
            lambda key: self._number(scope, key),
            self._label(call),
            stated,
            scope.read.__contains__,
            not scope.chosen.isdisjoint(choices.tensors(call.arguments.values())),
        )
        reads = [self._value(scope, each) for each in choices.tensors(call.arguments.values())]
        results = self._results(bound, reads)
        if len(results) > len(names):
            bound.fail(f"makes {len(results)} results, but the program names {len(names)}")
        for tensor, value, (shape, _) in zip(names, results, stated, strict=False):
            if value and self.maker.values[value].shape != shape:
                bound.fail(f"makes {list(self.maker.values[value].shape)}, but the program states {list(shape)}")
            if value:
                scope.names[tensor] = value
        for at, tensor in enumerate(names):
            if tensor in scope.choices:
                scope.names[tensor] = self._spread(bound, stated[at][0])
        self._track(scope, bound, names)

    def _spread(self, bound: BoundCall, shape: Shape) -> str:
        """A router's choice as a constant, since where it falls is known at run time only."""
        scores = bound.size(bound.tensor("self"))
        experts = scores[bound.axis("dim", len(scores), -1)]
        self.warnings.setdefault(choices.WARNING, None)
        found = self.maker.constant(f"{bound.label}.experts", choices.spread(shape, experts).ravel(), "int64")
        return bound.reshaped(found, shape, "experts.chosen")

    def _results(self, bound: BoundCall, reads: list[str]) -> tuple[str, ...]:
        """Values of the call's outputs, '' for those that no rule makes."""
        rule = RULES.get(bound.name) or RULES.get(_plain(bound.name))
        folds = all(self.maker.values[name].constant for name in reads) and bound.name not in products.RULES
        if reads and folds and not (bound.is_chosen and rule is not None):
            return self._folded(bound, rule, reads)
        if rule is None:
            return self._hosted(bound, reads)
        count = len(self.maker.nodes)
        try:
            return _values(rule(bound))
        except UnsupportedError:
            if not self.host or len(bound.shapes) != 1:
                raise
            del self.maker.nodes[count:]
            return self._hosted(bound, reads)

    def _folded(self, bound: BoundCall, rule: CallRule | None, reads: list[str]) -> tuple[str, ...]:
        """What is made of constants; the same ones where the same is made again. What no rule makes of constants whose
        contents nobody knows is a constant of the stated shape."""
        stated = {key: each for key, each in bound.call.arguments.items() if not isinstance(each, TensorName)}
        what = (bound.call.op, tuple(reads), repr(stated), tuple(bound.shapes), tuple(bound.dtypes))
        if what in self.made:
            return self.made[what]
        known = all(self.maker.values[name].data is not None for name in reads)
        count = len(self.maker.nodes)
        try:
            found = self._constants(bound, reads) if rule is None else _values(rule(bound))
        except UnsupportedError:
            if known and not self.host:
                raise
            del self.maker.nodes[count:]
            found = self._constants(bound, reads)
        self.made[what] = found
        return found

    def _constants(self, bound: BoundCall, reads: list[str]) -> tuple[str, ...]:
        sources = sorted({source for name in reads for source in self.maker.values[name].sources})
        return tuple(
            self.maker.enter(GraphValue(bound.call.name, shape, "constant", dtype, None, tuple(sources)))
            for shape, dtype in zip(bound.shapes, bound.dtypes, strict=True)
        )

    def _hosted(self, bound: BoundCall, reads: list[str]) -> tuple[str, ...]:
        """A node that no rule knows, with the stated shapes of its results, where the user lets the host run it."""
        if not self.host:
            bound.refuse("there is no rule for it; replace it, or split the model there")
        node = GraphNode(self.maker.label(bound.label), f"aten.{bound.name}", tuple(reads), ())
        outputs = []
        for shape, dtype in zip(bound.shapes, bound.dtypes, strict=True):
            outputs.append(self.maker.enter(GraphValue(f"{node.name}.out", shape, "activation", dtype)))
            self.maker.hints[outputs[-1]] = shape
        self.maker.nodes.append(GraphNode(node.name, node.op, node.inputs, tuple(outputs)))
        return tuple(outputs)

    def _track(self, scope: _Scope, bound: BoundCall, names: list[str]) -> None:
        """Views share memory with what they are of; what is written into has a new value from then on, and so has
        what it is a slice of."""
        call, name = bound.call, bound.call.op.partition(".")[0]
        first = next(choices.tensors(call.arguments.values()), "")
        base = scope.bases.get(first, first)
        if _plain(name) in _VIEWS and first:
            scope.bases.update(dict.fromkeys(names, base))
        if name in scatter.SLICES and names:
            scope.slices[names[0]] = bound
        if not _writes(name) or not names:
            return
        scope.names[first] = scope.names[names[0]]
        if _plain(name) in _VIEWS:  # another view of the same memory, as unsqueeze_ makes it
            return
        changed, below = {first}, first
        while below in scope.slices:
            view = scope.slices[below]
            above = next(choices.tensors(view.call.arguments.values()))
            scope.names[above] = scatter.written(view, scope.names[below])
            changed.add(above)
            below = above
        self._refuse_shared(scope, call, changed, base)

    def _refuse_shared(self, scope: _Scope, call: TorchCall, changed: set[str], base: str) -> None:
        """Raise ModelError where a view, or what a view is of, is read after a call has written into another."""
        family = ({tensor for tensor, of in scope.bases.items() if of == base} | {base}) - changed
        if len(family) == 0:
            return
        later = scope.graph.calls[scope.graph.calls.index(call) + 1 :]
        read = {each for other in later for each in _contents(other)} | {*scope.graph.outputs}
        stale = sorted(family & read)
        if stale:
            raise ModelError(
                f"'{call.name}' (aten.{call.op}): writes into memory that '{stale[0]}' is a view of, or has a view of, "
                "and which is read afterwards; write it without an operation in place"
            )

    def _number(self, scope: _Scope, name: str) -> int:
        if name not in scope.graph.numbers:
            raise ModelError(f"the number '{name}' is known only when the model runs; export it with fixed sizes")
        return self.sizes.size(scope.graph.numbers[name], f"'{name}'")

    def _label(self, call: TorchCall) -> str:
        """The module's path; of modules that have others in them, and of all calls of one but the last, the path and
        the operator."""
        if not call.module:
            return _plain(call.op.partition(".")[0]) or call.name
        if _is_named(call):
            self.left[call.module] -= 1
            if not self.left[call.module] and call.module not in self.parents:
                return call.module
        return f"{call.module}.{_plain(call.op.partition('.')[0])}"


def _is_named(call: TorchCall) -> bool:
    """Whether a call is one that a layer may come from."""
    name = _plain(call.op.partition(".")[0])
    return name not in _VIEWS | _MAKE_VALUES | {"dropout", "contiguous", "clone", "to"} and not name.startswith(_SILENT)


def _calls(graph: TorchGraph) -> list[TorchCall]:
    found = []
    for call in graph.calls:
        found.append(call)
        for each in call.arguments.values():
            found.extend(_calls(each) if isinstance(each, TorchGraph) else [])
    return found


def _contents(call: TorchCall) -> list[str]:
    """Tensors whose elements a call reads: not what a copy is written into, nor what a slice is taken of."""
    found = list(choices.tensors(call.arguments.values()))
    return found[1:] if call.op.partition(".")[0] in _OVERWRITE else found


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _values(found: Sequence[str]) -> tuple[str, ...]:
    """What a rule returned, one value or more."""
    return (found,) if isinstance(found, str) else tuple(found)


def _plain(name: str) -> str:
    """The name of the operator that makes a new tensor, for one that writes into its operand."""
    return name[:-1] if _writes(name) else name
