"""Operators of measured rows: the workload that each is, its parameters, and the least that it does and moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from archsim.base.errors import ModelError
from archsim.lab.validate.silicon.sets import SiliconRow


class LeastWork(NamedTuple):
    """The least that an operator does: multiply-accumulates, and elements of operands and results, each once."""

    macs: int
    elements: int


@dataclass(frozen=True, slots=True)
class MeasuredOperator:
    """``model``: the workload by its name; ``parameters``: its own, by the sizes of a row; ``work``: of these;
    ``layer``: matmul, or the operator of its only layer, '' where it has several."""

    model: str
    parameters: Mapping[str, str]
    work: Callable[[Mapping[str, int]], LeastWork]
    layer: str = ""

    def sizes(self, row: SiliconRow) -> dict[str, int]:
        """Parameters of the workload; raises ModelError for sizes that it does not have or that a row lacks."""
        found: dict[str, int] = {}
        for size, value in self._by_name(row).items():
            if size not in self.parameters or not isinstance(value, int):
                raise ModelError(f"{row.op}: found {size}={value}; allowed whole sizes {', '.join(self.parameters)}")
            found[self.parameters[size]] = value
        missing = [size for size, name in self.parameters.items() if name not in found]
        if missing:
            raise ModelError(f"{row.op}: no size '{missing[0]}'; needed {', '.join(self.parameters)}")
        return found

    def _by_name(self, row: SiliconRow) -> Mapping[str, int | str]:
        if row.dims and len(row.dims) != len(self.parameters):
            found = "x".join(map(str, row.dims))
            raise ModelError(f"{row.op}: found dims={found}; allowed {'x'.join(self.parameters)}")
        return dict(zip(self.parameters, row.dims, strict=True)) if row.dims else row.shape


def _conv(sizes: Mapping[str, int]) -> LeastWork:
    side = [(sizes[name] + 2 * sizes["pad"] - sizes["kernel"]) // sizes["stride"] + 1 for name in ("height", "width")]
    made = sizes["batch"] * side[0] * side[1] * sizes["filters"]
    weights = sizes["kernel"] ** 2 * sizes["channels"] * sizes["filters"]
    read = sizes["batch"] * sizes["height"] * sizes["width"] * sizes["channels"]
    return LeastWork(made * sizes["kernel"] ** 2 * sizes["channels"], read + weights + made)


def _gemm(sizes: Mapping[str, int]) -> LeastWork:
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    return LeastWork(m * n * k, m * k + k * n + m * n)


def _rows(sizes: Mapping[str, int]) -> LeastWork:
    return LeastWork(0, 2 * sizes["rows"] * sizes["cols"])


def _elements(sizes: Mapping[str, int]) -> LeastWork:
    return LeastWork(0, 2 * sizes["elements"])


def _ffn(products: int) -> Callable[[Mapping[str, int]], LeastWork]:
    """A feed-forward layer of so many products, whose weights come in once."""

    def work(sizes: Mapping[str, int]) -> LeastWork:
        tokens, weights = sizes["tokens"], products * sizes["hidden"] * sizes["inner"]
        return LeastWork(tokens * weights, 2 * tokens * sizes["hidden"] + weights)

    return work


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


OPERATORS: Mapping[str, MeasuredOperator] = {
    "gemm": MeasuredOperator("gemm", _same("m", "k", "n"), _gemm, "matmul"),
    "conv": MeasuredOperator(
        "conv",
        _same("batch", "height", "width", "channels", "filters", "kernel", "stride", "pad"),
        _conv,
        "matmul",
    ),
    "softmax": MeasuredOperator("softmax", _same("rows", "cols"), _rows, "Softmax"),
    "layernorm": MeasuredOperator("layernorm", _same("rows", "cols"), _rows, "LayerNormalization"),
    "gelu": MeasuredOperator("gelu", _same("elements"), _elements, "Gelu"),
    "ffn_gated": MeasuredOperator("ffn_gated", _same("tokens", "hidden", "inner"), _ffn(3)),
    "ffn_erf": MeasuredOperator("ffn_erf", _same("tokens", "hidden", "inner"), _ffn(2)),
}


def operator_of(row: SiliconRow) -> MeasuredOperator:
    """What an operator is; raises ModelError for one that no workload stands for yet."""
    found = OPERATORS.get(row.op)
    if found is None:
        raise ModelError(f"no workload stands for the operator '{row.op}' yet; there are: {', '.join(OPERATORS)}")
    return found
