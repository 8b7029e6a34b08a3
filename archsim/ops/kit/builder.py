"""What an operator family is given to lower a node with: where values lie, and how layers and views are emitted.

Operators speak logical axes; layers come out in memory order. ``archsim.graph.lowering.builder`` does so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from archsim.ir.graph import Graph, GraphNode, GraphValue, Shape
from archsim.ir.workload import Guard, VectorStep
from archsim.ops.kit.access import LogicalAccess
from archsim.ops.kit.layout import LogicalLayout

SPATIAL = ("o", "p", "q")  # output positions, the innermost axis last
KERNEL = ("t", "r", "s")  # window positions of the same axes

LayerKind = Literal["matmul", "vector", "copy", "host"]


@dataclass(frozen=True, slots=True)
class LayerParts:
    """What the dims of a layer are for (``archsim.ir.workload.Layer``). ``free``: dims that may be cut anyhow."""

    m: tuple[str, ...] = ()
    n: tuple[str, ...] = ()
    k: tuple[str, ...] = ()
    batch: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


NO_PARTS = LayerParts()


class WorkloadBuilder(Protocol):
    """Collects layers, tensors and views of one graph."""

    @property
    def graph(self) -> Graph:
        """The graph that is lowered: inferred, without aliases, fused."""

    def shape(self, name: str) -> Shape:
        """Logical shape of a value."""

    def value(self, name: str) -> GraphValue:
        """A value of the graph, or one added by ``constant``."""

    def dims(self, name: str) -> tuple[str, ...]:
        """Dim names for the logical axes of a value: n, c, (o,) p, q for images, d0, d1, ... otherwise."""

    def extents(self, name: str) -> dict[str, int]:
        """Dims of a value with their extents, in memory order."""

    def layout(self, name: str) -> LogicalLayout | None:
        """Where an input or activation lies now; None for constants."""

    def home(self, name: str) -> LogicalLayout | None:
        """Where a layer writes a value; None for inputs, constants and views."""

    def folded_shift(self, node: GraphNode) -> bool:
        """Whether a fused scale and shift needs a bias."""

    def steps(self, node: GraphNode, first: VectorStep) -> tuple[VectorStep, ...]:
        """``first`` followed by the sum and the activation fused into ``node``."""

    def original(self, name: str) -> str:
        """The value of the graph that ``name`` is, or is a copy of."""

    def constant(self, name: str, shape: Shape) -> str:
        """Declare a constant made by folding (a bias from a batch normalisation); returns its name, a new one."""

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
        """Emit one layer. Dims are cut where an input is a factored view; inputs that cannot be read so are copied."""

    def view(self, node: GraphNode, output: str, transform: Callable[[LogicalLayout], LogicalLayout | None]) -> None:
        """Declare ``output`` a view of the node's first input; where ``transform`` says None, of a row-major copy."""

    def joined(self, node: GraphNode) -> None:
        """Declare a joining node's output present: its inputs were written or copied into their parts of it.

        Where it lies in a state, it is a tensor whether it is read or not: what the state holds in the end.
        """

    def copy_into(self, node: GraphNode, index: int, target: LogicalLayout, *, name: str = "") -> None:
        """Copy input ``index`` of a joining node into its part ``target`` of the output; the layer is NODE[index], or
        called ``name``.
        """

    def copied(self, name: str, *, rows: bool = False) -> LogicalLayout:
        """Copy a value into a tensor of its own (row-major if ``rows``); later readers use the copy."""
