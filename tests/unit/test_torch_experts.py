"""Mixtures of experts as torch.export writes them: grouped products of rows that are sorted by expert."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import pytest

from archsim import from_torch
from archsim.base.errors import ModelError
from archsim.frontend.torch.choices import WARNING
from archsim.ir.graph import UnsupportedError
from archsim.ir.workload import Workload

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
f = torch.nn.functional

WIDTH, INNER, EXPERTS, CHOSEN = 16, 24, 4, 2
Choose = Callable[[Any], tuple[Any, Any]]


class Experts(torch.nn.Module):  # type: ignore[misc]
    """As transformers 5 writes them: rows sorted by expert, counts by ``histc``, rows put back by an inverse order."""

    def __init__(self, bias: bool = False) -> None:
        super().__init__()
        self.gate_up = torch.nn.Parameter(torch.zeros(EXPERTS, 2 * INNER, WIDTH))
        self.down = torch.nn.Parameter(torch.zeros(EXPERTS, WIDTH, INNER))
        self.bias = torch.nn.Parameter(torch.zeros(EXPERTS, WIDTH)) if bias else None

    def forward(self, x: Any, weights: Any, experts: Any) -> Any:
        chosen = experts.shape[-1]
        by_expert, order = torch.sort(experts.reshape(-1))
        rows = x[order // chosen]
        ends = torch.cumsum(torch.histc(by_expert.float(), EXPERTS, 0, EXPERTS - 1), 0, dtype=torch.int32)
        gate, up = torch._grouped_mm(rows, self.gate_up.transpose(-2, -1), ends).chunk(2, -1)
        made = torch._grouped_mm(f.silu(gate) * up, self.down.transpose(-2, -1), ends)
        if self.bias is not None:
            made = made + self.bias[by_expert]
        made = made * weights.reshape(-1)[order].unsqueeze(-1)
        back = torch.empty_like(order)
        back[order] = torch.arange(order.numel())
        return made[back].view(-1, chosen, WIDTH).sum(1)


class Mixture(torch.nn.Module):  # type: ignore[misc]
    """A router in front of experts."""

    def __init__(self, choose: Choose, bias: bool = False) -> None:
        super().__init__()
        self.router, self.experts, self.choose = torch.nn.Linear(WIDTH, EXPERTS, bias=False), Experts(bias), choose

    def forward(self, x: Any) -> Any:
        return self.experts(x, *self.choose(f.softmax(self.router(x), -1)))


def of_largest(scores: Any) -> tuple[Any, Any]:
    weights, experts = torch.topk(scores, CHOSEN)
    return weights / weights.sum(-1, keepdim=True), experts


def of_one(scores: Any) -> tuple[Any, Any]:
    weights, experts = scores.max(-1, keepdim=True)
    return weights, experts


def made(tokens: int, choose: Choose = of_largest, bias: bool = False) -> Workload:
    return from_torch(Mixture(choose, bias).to(torch.bfloat16), (torch.zeros(tokens, WIDTH, dtype=torch.bfloat16),))


def weights(found: Workload) -> int:
    """Elements of weights that are stored, those without tokens left out."""
    return sum(prod(tensor.shape) for tensor in found.tensors.values() if tensor.kind == "weight")


@pytest.mark.parametrize("tokens", [1, 3, 10, 2048])
def test_each_expert_multiplies_the_tokens_that_come_to_it(tokens: int) -> None:
    """As many as the largest remainder of an even choice; the weights of experts without tokens are not read."""
    found = made(tokens)
    slots = tokens * CHOSEN
    rows = [slots // EXPERTS + (expert < slots % EXPERTS) for expert in range(EXPERTS)]
    products = {layer.name: layer for layer in found.layers if layer.name.startswith("experts.") and layer.macs}
    assert {name: layer.macs for name, layer in products.items()} == {
        f"experts.{expert}.{leaf}": count * WIDTH * size
        for expert, count in enumerate(rows)
        for leaf, size in (("gate_up", 2 * INNER), ("down", INNER))
        if count
    }
    assert found.macs == tokens * WIDTH * EXPERTS + slots * 3 * WIDTH * INNER
    used = sum(count > 0 for count in rows)
    assert weights(found) == WIDTH * EXPERTS + used * 3 * WIDTH * INNER
    assert found.warnings == (WARNING,)


def test_rows_of_a_constant_that_a_choice_picks_are_looked_up() -> None:
    """Biases of experts are rows of a small table, not a weight for each token."""
    found = made(10, bias=True)
    assert weights(found) == weights(made(10)) + EXPERTS * WIDTH
    assert [layer.op for layer in found.layers].count("GatherRows") == 1 + [
        layer.op for layer in made(10).layers
    ].count("GatherRows")


def test_a_router_may_choose_one() -> None:
    assert made(8, of_one).macs == 8 * WIDTH * EXPERTS + 8 * 3 * WIDTH * INNER


class Grouped(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(shape, dtype=torch.bfloat16))

    def forward(self, x: Any, ends: Any = None) -> Any:
        return torch._grouped_mm(x, self.weight.transpose(-2, -1), ends)


def test_ends_that_are_inputs_are_taken_as_even() -> None:
    rows, ends = torch.zeros(32, 16, dtype=torch.bfloat16), torch.zeros(3, dtype=torch.int32)
    found = from_torch(Grouped(3, 32, 16), (rows, ends))
    assert [layer.macs // (16 * 32) for layer in found.layers if layer.macs] == [11, 11, 10]


def test_groups_of_equal_size_are_a_product_in_batches() -> None:
    found = from_torch(Grouped(3, 32, 16), (torch.zeros(3, 8, 16, dtype=torch.bfloat16),))
    assert [layer.macs for layer in found.layers] == [3 * 8 * 16 * 32]


def test_wrong_ends_and_other_forms_are_refused() -> None:
    class Constant(Grouped):
        def forward(self, x: Any, ends: Any = None) -> Any:
            return torch._grouped_mm(x, self.weight.transpose(-2, -1), 35 - torch.arange(1, 4, dtype=torch.int32))

    class Columns(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, ends: Any) -> Any:
            return torch._grouped_mm(x.t(), x, ends)

    rows = torch.zeros(32, 16, dtype=torch.bfloat16)
    with pytest.raises(
        ModelError, match=r"groups of rows end at \[34, 33, 32\]; allowed 3 ends in order, the last at 32"
    ):
        from_torch(Constant(3, 32, 16), (rows,))
    with pytest.raises(UnsupportedError, match="a matrix of weights for each group"):
        from_torch(Columns(), (torch.zeros(8, 16, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.int32)))
