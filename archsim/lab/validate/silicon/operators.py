"""Operators of measured rows: the workload that each is, its parameters, and the least that it does and moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from archsim.base.errors import ModelError
from archsim.lab.validate.silicon.sets import SiliconRow


class LeastWork(NamedTuple):
    """The least that an operator does: multiply-accumulates, and elements of operands and results, each once."""

    macs: int
    elements: int


@dataclass(frozen=True, slots=True)
class MeasuredOperator:
    """``model``: the workload by its name; ``parameters``: its own, by the sizes of a row; ``beside``: other sizes that
    a row states, of the model that the operator is part of; ``cut``: a size -> the one that says into how many parts
    it is cut, of which a chip has one; ``work``: of the parameters; ``layer``: matmul, or the operator of its only
    layer, '' where it has several."""

    model: str
    parameters: Mapping[str, str]
    work: Callable[[Mapping[str, int]], LeastWork]
    layer: str = ""
    beside: tuple[str, ...] = ()
    cut: Mapping[str, str] = field(default_factory=dict)

    def sizes(self, row: SiliconRow) -> dict[str, int]:
        """Parameters of the workload; raises ModelError for sizes that the operator does not have or that a row
        lacks."""
        stated = self._stated(row)
        return {name: self._own(row, stated, size) for size, name in self.parameters.items()}

    def _stated(self, row: SiliconRow) -> Mapping[str, int]:
        """All sizes of a row, which are whole and all there."""
        needed = (*self.parameters, *self.beside)
        found: dict[str, int] = {}
        for size, value in self._by_name(row, needed).items():
            if size not in needed or not isinstance(value, int):
                raise ModelError(f"{row.op}: found {size}={value}; allowed whole sizes {', '.join(needed)}")
            found[size] = value
        missing = [size for size in needed if size not in found]
        if missing:
            raise ModelError(f"{row.op}: no size '{missing[0]}'; needed {', '.join(needed)}")
        return found

    def _own(self, row: SiliconRow, stated: Mapping[str, int], size: str) -> int:
        """A size as one of the chips has it that a model is cut over."""
        parts = stated[self.cut[size]] if size in self.cut else 1
        if parts < 1 or stated[size] % parts:
            raise ModelError(f"{row.op}: found {self.cut[size]}={parts}; allowed what divides {size}={stated[size]}")
        return stated[size] // parts

    def _by_name(self, row: SiliconRow, needed: tuple[str, ...]) -> Mapping[str, int | str]:
        if row.dims and len(row.dims) != len(needed):
            found = "x".join(map(str, row.dims))
            raise ModelError(f"{row.op}: found dims={found}; allowed {'x'.join(needed)}")
        return dict(zip(needed, row.dims, strict=True)) if row.dims else row.shape


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


def _sum(sizes: Mapping[str, int]) -> LeastWork:
    return LeastWork(0, 3 * sizes["rows"] * sizes["cols"])


def _gated(sizes: Mapping[str, int]) -> LeastWork:
    return LeastWork(0, 3 * sizes["tokens"] * sizes["inner"])


def _ffn(products: int) -> Callable[[Mapping[str, int]], LeastWork]:
    """A feed-forward layer of so many products, whose weights come in once."""

    def work(sizes: Mapping[str, int]) -> LeastWork:
        tokens, weights = sizes["tokens"], products * sizes["hidden"] * sizes["inner"]
        return LeastWork(tokens * weights, 2 * tokens * sizes["hidden"] + weights)

    return work


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_NORM = MeasuredOperator(
    "rmsnorm", {"tokens": "rows", "hidden": "cols"}, _rows, "RMSNormalization", beside=("ffn", "tp")
)

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
    "input_layernorm": _NORM,
    "post_attention_layernorm": _NORM,
    "add": MeasuredOperator("add", {"tokens": "rows", "hidden": "cols"}, _sum, "Add", beside=("ffn", "tp")),
    "mlp_act": MeasuredOperator(
        "gated_activation",
        {"tokens": "tokens", "ffn": "inner"},
        _gated,
        beside=("hidden", "tp"),
        cut={"ffn": "tp"},
    ),
}


def operator_of(row: SiliconRow) -> MeasuredOperator:
    """What an operator is; raises ModelError for one that no workload stands for yet."""
    found = OPERATORS.get(row.op)
    if found is None:
        raise ModelError(f"no workload stands for the operator '{row.op}' yet; there are: {', '.join(OPERATORS)}")
    return found
