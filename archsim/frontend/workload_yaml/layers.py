"""The kinds of layer entries, one small function each: options of the file to nodes of the graph.

The entry that looks rows of a table up says, too, by which pattern they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from archsim.frontend.workload_yaml.options import EntryOptions, Shape
from archsim.frontend.workload_yaml.writer import ACTIVATIONS, GraphWriter
from archsim.ir.asm.lookup import numbers_in
from archsim.ir.asm.words import indices_text
from archsim.ir.graph import OperatorAttribute
from archsim.ir.indices import DISTRIBUTIONS, Indices
from archsim.ops.kit.lookups import ROWS, default_seed

IN_ORDER = "in_order"


def embedding(writer: GraphWriter, options: EntryOptions, name: str) -> None:
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
    attributes: dict[str, OperatorAttribute] = {"indices": pattern.trace or indices_text(pattern)}
    reduce = options.text("reduce", "none", ("none", "sum", "mean"))
    if reduce == "none":
        writer.add(options, name, ROWS, (table, indices), attributes)
        return
    rank = len(writer.shape(indices))
    writer.rows(options, f"{name}.rows", (table, indices), attributes)
    axes = writer.numbers(f"{name}.axes", (rank - 1,))
    op = "ReduceSum" if reduce == "sum" else "ReduceMean"
    writer.add(options, name, op, (f"{name}.rows", axes), {"keepdims": 0})


def _in_order(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """The first rows of a table, as positions are looked up: no index is an input, and nothing is gathered."""
    rows, count = options.size("rows"), options.size("lookups")
    if count > rows:
        options.fail(f"found {count}; allowed 1 to {rows}, the rows of the table", "lookups")
    table = writer.weight(f"{name}.table", (rows, options.size("dim")))
    writer.add(options, name, "Gather", (table, writer.numbers(f"{name}.indices", tuple(range(count)))))


def _index_input(writer: GraphWriter, options: EntryOptions, name: str) -> str:
    """Indices of their own: a graph input."""
    given = options.listed("lookups")
    shape = options.sizes("lookups") if given else (options.size("lookups"),)
    return writer.add_input(f"{name}.indices", shape, "int64")


def _pattern(options: EntryOptions, indices: str) -> Indices:
    default = "trace" if options.has("trace") else "uniform"
    kind: Any = options.text("distribution", default, (*DISTRIBUTIONS, IN_ORDER))
    for key, kinds in (("exponent", ("zipf",)), ("seed", ("uniform", "zipf")), ("trace", ("trace",))):
        if options.has(key) and kind not in kinds:
            options.fail(f"has no meaning with distribution {kind}; allowed with {' and '.join(kinds)}", key)
    if kind == "trace":
        return Indices("trace", trace=_trace(options))
    seed = options.size("seed", default_seed(indices), low=0)
    return Indices(kind, seed, options.real("exponent", low=0) if kind == "zipf" else 0.0)


def _trace(options: EntryOptions) -> tuple[int, ...]:
    file = options.word("trace")
    if not file:
        return options.sizes("trace", low=0)
    try:
        return numbers_in(options.folder / file)
    except ValueError as error:
        options.fail(str(error), "trace")


WriteLayer = Callable[[GraphWriter, EntryOptions, str], None]


def _conv(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, out_channels, kernel, stride, pad, dilation, groups, bias, act}``; groups: number or depthwise."""
    source = writer.source(options)
    shape = _image(writer, options, source)
    groups = shape[1] if _is_depthwise(options) else options.size("groups", 1)
    channels = options.size("out_channels", shape[1] if groups == shape[1] else None)
    if shape[1] % groups or channels % groups:
        options.fail(f"{shape[1]} input and {channels} output channels do not divide into {groups} groups", "groups")
    kernel = options.pair("kernel")
    weights = writer.weight(f"{name}.weights", (channels, shape[1] // groups, *kernel))
    inputs = (source, weights, *_bias(writer, options, name, channels))
    attributes: dict[str, OperatorAttribute] = {"strides": options.pair("stride", 1), "group": groups}
    attributes |= {"dilations": options.pair("dilation", 1), **_pads(options)}
    writer.add(options, name, "Conv", inputs, attributes)


def _pool(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, kind: max|average, kernel, stride, pad}``; the stride is the kernel unless given."""
    source = writer.source(options)
    _image(writer, options, source)
    kernel = options.pair("kernel")
    strides = options.pair("stride") if options.has("stride") else kernel
    attributes: dict[str, OperatorAttribute] = {"kernel_shape": kernel, "strides": strides, **_pads(options)}
    op = "MaxPool" if options.text("kind", "max", ("max", "average")) == "max" else "AveragePool"
    writer.add(options, name, op, (source,), attributes)


def _global_pool(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, kind: average|max}`` over all positions."""
    source = writer.source(options)
    _image(writer, options, source)
    kind = options.text("kind", "average", ("average", "max"))
    writer.add(options, name, "GlobalAveragePool" if kind == "average" else "GlobalMaxPool", (source,))


def _gemm(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{m, n, k, bias, act}``: a product of its own, with its own input."""
    m, n, k = options.size("m"), options.size("n"), options.size("k")
    source = writer.add_input(f"{name}.input", (m, k))
    weights = writer.weight(f"{name}.weights", (k, n))
    inputs = (source, weights, *_bias(writer, options, name, n, default=False))
    writer.add(options, name, "Gemm", inputs)


def _dense(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, out, bias, act}``: a product with weights along the last axis."""
    source = writer.source(options)
    features, out = writer.shape(source)[-1], options.size("out")
    weights = writer.weight(f"{name}.weights", (features, out))
    terms = _letters(len(writer.shape(source)) - 1)
    attributes: dict[str, OperatorAttribute] = {"terms": ((*terms, "k"), ("k", "n"), (*terms, "n"))}
    bias = _bias(writer, options, name, out)
    writer.add(options, name, "Einsum", (source, weights), attributes, bias="".join(bias))


def _einsum(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{equation: "b m k, k n -> b m n", inputs, sizes, bias, act}``; an operand without an input is a weight."""
    equation = options.text("equation")
    left, arrow, right = equation.partition("->")
    terms = tuple(tuple(part.split()) for part in (*left.split(","), right))
    if not arrow or len(terms) != 3 or not all(terms[:2]):
        options.fail(f"found '{equation}'; allowed two operands and a result: 'b m k, k n -> b m n'", "equation")
    given = options.names("inputs") or (writer.source(options),)
    if len(given) > 2:
        options.fail(f"found {len(given)} inputs; allowed 1 or 2", "inputs")
    operands = [writer.known(options, value, "inputs") for value in given]
    sizes = _term_sizes(writer, options, operands, terms)
    if len(operands) == 1:
        missing = [index for index in terms[1] if index not in sizes]
        if missing:
            options.fail(f"the size of '{missing[0]}' is not known; give it under 'sizes'")
        operands.append(writer.weight(f"{name}.weights", tuple(sizes[index] for index in terms[1])))
    width = sizes.get(terms[2][-1], 1) if terms[2] else 1
    bias = _bias(writer, options, name, width, default=False)
    writer.add(options, name, "Einsum", tuple(operands), {"terms": terms}, bias="".join(bias))


def _term_sizes(
    writer: GraphWriter, options: EntryOptions, operands: list[str], terms: tuple[tuple[str, ...], ...]
) -> dict[str, int]:
    """Sizes of the index names: those of the inputs, then those the entry gives."""
    sizes: dict[str, int] = {}
    for operand, term in zip(operands, terms, strict=False):
        shape = writer.shape(operand)
        if len(shape) != len(term):
            options.fail(f"'{' '.join(term)}' has {len(term)} names, but '{operand}' has the shape {list(shape)}")
        sizes.update(zip(term, shape, strict=True))
    for index, size in options.table("sizes").items():
        if sizes.setdefault(index, size) != size:
            options.fail(f"'{index}' is {sizes[index]} by its input and {size} here", "sizes")
    return sizes


def _joined(op: str) -> WriteLayer:
    def layer(writer: GraphWriter, options: EntryOptions, name: str) -> None:
        """``{inputs: [a, b, ...], act}`` element by element."""
        given = options.names("inputs") or options.fail("key 'inputs' is missing")
        writer.add(options, name, op, tuple(writer.known(options, value, "inputs") for value in given))

    return layer


def _concat(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{inputs: [a, b, ...], axis: 1}``."""
    given = options.names("inputs") or options.fail("key 'inputs' is missing")
    inputs = tuple(writer.known(options, value, "inputs") for value in given)
    writer.add(options, name, "Concat", inputs, {"axis": options.size("axis", 1, low=-8)})


def _append(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{state, input}``: new rows of a state, behind those that are there; the result is all of them."""
    source = writer.source(options)
    state = writer.known(options, options.text("state"), "state")
    rows = writer.states.get(state)
    if rows is None:
        options.fail(
            f"'{state}' is no state; allowed {', '.join(writer.states) or 'none, the file has no states'}", "state"
        )
    writer.add(options, name, "Append", (state, source), {"axis": rows.axis, "past": rows.past})


def _split(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, into: [names], axis, sizes}``: equal parts unless sizes are given."""
    source = writer.source(options)
    into = options.names("into") or options.fail("key 'into' is missing; allowed a list of names")
    outputs = tuple(writer.named(output) for output in into)
    inputs: tuple[str, ...] = (source,)
    if options.has("sizes"):
        inputs = (source, writer.numbers(f"{name}.sizes", options.sizes("sizes")))
    writer.add(options, name, "Split", inputs, {"axis": options.size("axis", 1, low=-8)}, outputs)


def _slice(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, axis: 1, start: 0, stop}``: the indices from start to before stop of one axis."""
    source = writer.source(options)
    shape, axis = writer.shape(source), options.size("axis", 1, low=-8)
    if not -len(shape) <= axis < len(shape):
        options.fail(f"found {axis}; allowed {-len(shape)} to {len(shape) - 1}", "axis")
    start, stop = options.size("start", 0, low=0), options.size("stop")
    if not start < stop <= shape[axis]:
        options.fail(f"found {stop}; allowed {start + 1} to {shape[axis]}, the size of the axis", "stop")
    bounds = {"starts": start, "ends": stop, "axes": axis}
    inputs = tuple(writer.numbers(f"{name}.{key}", (value,)) for key, value in bounds.items())
    writer.add(options, name, "Slice", (source, *inputs))


def _softmax(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, axis: -1}``."""
    source = writer.source(options)
    writer.add(options, name, "Softmax", (source,), {"axis": options.size("axis", -1, low=-8)})


def _layernorm(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input}``: over the last axis, with scale and bias."""
    source = writer.source(options)
    width = writer.shape(source)[-1:]
    inputs = (source, writer.weight(f"{name}.scale", width), writer.weight(f"{name}.bias", width))
    writer.add(options, name, "LayerNormalization", inputs, {"axis": -1})


def _rmsnorm(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input}``: over the last axis, with a scale."""
    source = writer.source(options)
    inputs = (source, writer.weight(f"{name}.scale", writer.shape(source)[-1:]))
    writer.add(options, name, "RMSNormalization", inputs, {"axis": -1})


def _act(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, function: relu|gelu|...}``."""
    source = writer.source(options)
    function = options.text("function", None, tuple(sorted(set(ACTIVATIONS) - {"relu6"})))
    op, attributes = ACTIVATIONS[function]
    writer.add(options, name, op, (source,), attributes)


def _reshape(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, shape: [...]}``; one size may be -1."""
    source = writer.source(options)
    shape = writer.numbers(f"{name}.shape", options.sizes("shape", low=-1))
    writer.add(options, name, "Reshape", (source, shape))


def _flatten(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input}``: all axes after the first in one."""
    writer.add(options, name, "Flatten", (writer.source(options),), {"axis": 1})


def _transpose(writer: GraphWriter, options: EntryOptions, name: str) -> None:
    """``{input, order: [...]}``."""
    source = writer.source(options)
    writer.add(options, name, "Transpose", (source,), {"perm": options.sizes("order", low=0)})


def _is_depthwise(options: EntryOptions) -> bool:
    return options.word("groups") == "depthwise"


def _image(writer: GraphWriter, options: EntryOptions, source: str) -> Shape:
    shape = writer.shape(source)
    return shape if len(shape) == 4 else options.fail(f"'{source}' has the shape {list(shape)}; allowed [n, c, h, w]")


def _pads(options: EntryOptions) -> dict[str, OperatorAttribute]:
    """``pad``: one size, [h, w], [top, left, bottom, right], or same (output = input / stride)."""
    if options.word("pad") == "same":
        return {"auto_pad": "SAME_UPPER"}
    return {"pads": options.sides("pad")}


def _bias(writer: GraphWriter, options: EntryOptions, name: str, width: int, default: bool = True) -> tuple[str, ...]:
    return (writer.weight(f"{name}.bias", (width,)),) if options.flag("bias", default) else ()


def _letters(count: int) -> tuple[str, ...]:
    return tuple(f"b{axis}" for axis in range(count - 1)) + (("m",) if count else ())


KINDS: dict[str, WriteLayer] = {
    "act": _act,
    "add": _joined("Add"),
    "append": _append,
    "concat": _concat,
    "conv": _conv,
    "dense": _dense,
    "einsum": _einsum,
    "embedding": embedding,
    "flatten": _flatten,
    "gemm": _gemm,
    "global_pool": _global_pool,
    "layernorm": _layernorm,
    "mul": _joined("Mul"),
    "pool": _pool,
    "reshape": _reshape,
    "rmsnorm": _rmsnorm,
    "slice": _slice,
    "softmax": _softmax,
    "split": _split,
    "transpose": _transpose,
}
MAIN = {"einsum": "equation", "act": "function", "add": "inputs", "mul": "inputs", "concat": "inputs"}
