"""The entry that looks rows of a table up."""

from __future__ import annotations

from typing import Any

from archsim.frontend.workload_yaml.options import Options
from archsim.frontend.workload_yaml.writer import Writer
from archsim.ir.asm.lookup import numbers_in
from archsim.ir.asm.words import indices_text
from archsim.ir.graph import Attribute
from archsim.ir.indices import DISTRIBUTIONS, Indices
from archsim.ops.kit.lookups import ROWS, default_seed

IN_ORDER = "in_order"


def embedding(writer: Writer, options: Options, name: str) -> None:
    """``{rows, dim, lookups, distribution, exponent, seed, trace, reduce: none|sum|mean}``.

    ``lookups``: the shape of the indices, or ``input``: indices that are an input of the file. ``distribution``:
    uniform, zipf or trace; in_order: rows 0, 1, 2, ..., known beforehand. ``trace``: row numbers, or a file of them
    beside this one. ``reduce`` joins the rows along the last axis of the indices.
    """
    if options.word("distribution") == IN_ORDER:
        _in_order(writer, options, name)
        return
    indices = writer.source(options) if options.has("input") else _index_input(writer, options, name)
    table = writer.weight(f"{name}.table", (options.size("rows"), options.size("dim")))
    pattern = _pattern(options, indices)
    attributes: dict[str, Attribute] = {"indices": pattern.trace or indices_text(pattern)}
    reduce = options.text("reduce", "none", ("none", "sum", "mean"))
    if reduce == "none":
        writer.add(options, name, ROWS, (table, indices), attributes)
        return
    rank = len(writer.shape(indices))
    writer.rows(options, f"{name}.rows", (table, indices), attributes)
    axes = writer.numbers(f"{name}.axes", (rank - 1,))
    op = "ReduceSum" if reduce == "sum" else "ReduceMean"
    writer.add(options, name, op, (f"{name}.rows", axes), {"keepdims": 0})


def _in_order(writer: Writer, options: Options, name: str) -> None:
    """The first rows of a table, as positions are looked up: no index is an input, and nothing is gathered."""
    rows, count = options.size("rows"), options.size("lookups")
    if count > rows:
        options.fail(f"found {count}; allowed 1 to {rows}, the rows of the table", "lookups")
    table = writer.weight(f"{name}.table", (rows, options.size("dim")))
    writer.add(options, name, "Gather", (table, writer.numbers(f"{name}.indices", tuple(range(count)))))


def _index_input(writer: Writer, options: Options, name: str) -> str:
    """Indices of their own: a graph input."""
    given = options.listed("lookups")
    shape = options.sizes("lookups") if given else (options.size("lookups"),)
    return writer.add_input(f"{name}.indices", shape, "int64")


def _pattern(options: Options, indices: str) -> Indices:
    default = "trace" if options.has("trace") else "uniform"
    kind: Any = options.text("distribution", default, (*DISTRIBUTIONS, IN_ORDER))
    for key, kinds in (("exponent", ("zipf",)), ("seed", ("uniform", "zipf")), ("trace", ("trace",))):
        if options.has(key) and kind not in kinds:
            options.fail(f"has no meaning with distribution {kind}; allowed with {' and '.join(kinds)}", key)
    if kind == "trace":
        return Indices("trace", trace=_trace(options))
    seed = options.size("seed", default_seed(indices), low=0)
    return Indices(kind, seed, options.real("exponent", low=0) if kind == "zipf" else 0.0)


def _trace(options: Options) -> tuple[int, ...]:
    file = options.word("trace")
    if not file:
        return options.sizes("trace", low=0)
    try:
        return numbers_in(options.folder / file)
    except ValueError as error:
        options.fail(str(error), "trace")
