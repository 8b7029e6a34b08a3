"""Reads the graph of an exported program from its JSON (torch/_export/serde/schema.py, major version 8).

Unions are objects with one member, which names the kind: ``{"as_int": 3}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from archsim.base.errors import ModelError
from archsim.frontend.torch.fields import JsonField
from archsim.frontend.torch.program import (
    NumberName,
    StoredTensor,
    TensorFacts,
    TensorName,
    TorchArgument,
    TorchCall,
    TorchGraph,
    TorchProgram,
    TorchSize,
)

SCHEMA = 8  # the major version that is read
DTYPES = {  # ScalarType of the schema
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8e4m3fn",
    30: "float8e5m2",
    31: "float8e4m3fnuz",
    32: "float8e5m2fnuz",
    34: "uint32",
    35: "uint64",
}
_STORED = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
_NAMESPACES = ("torch.ops.aten.", "torch.ops.higher_order.", "torch.ops.transformers.", "torch.ops.")
_DEEPEST = 32  # graphs inside of graphs


def program(document: object, weights: object = None) -> TorchProgram:
    """The program of a decoded document. ``weights``: the decoded list of which parameter lies in which file, from
    which follows which are one. Raises ModelError that names the place that does not fit."""
    root = JsonField(document, "model.json")
    version = root.at("schema_version").at("major").integer()
    if version != SCHEMA:
        raise ModelError(f"model.json: schema version {version}; allowed {SCHEMA}, as torch 2.13 writes it")
    module = root.at("graph_module")
    graph = _graph(module.at("graph"), 0)
    ranges = {name: _range(each) for name, each in root.at("range_constraints").items()}
    return TorchProgram(graph, dict(_stored(module.at("signature"), _memories(weights))), ranges)


def _range(found: JsonField) -> tuple[int, int | None]:
    low, high = found.get("min_val"), found.get("max_val")
    return (0 if low is None else low.integer(), None if high is None else high.integer())


def _memories(weights: object) -> Mapping[str, str]:
    """Parameter -> where its numbers lie."""
    if weights is None:
        return {}
    files = JsonField(weights, "weights_config.json").at("config")
    return {name: each.at("path_name").text() for name, each in files.items() if not _is_meta(each)}


def _is_meta(entry: JsonField) -> bool:
    """Whether a parameter has no numbers, so that where they lie says nothing."""
    device = entry.at("tensor_meta").at("device").at("type")
    return device.text() == "meta"


def _stored(signature: JsonField, memories: Mapping[str, str]) -> Mapping[str, StoredTensor]:
    """Inputs that the model brings along."""
    found = {}
    for spec in signature.at("input_specs").each():
        kind, body = spec.only()
        if kind in _STORED:
            name = body.at(_STORED[kind]).text()
            memory = memories.get(name, f"{kind} {name}")
            found[body.at("arg").at("name").text()] = StoredTensor(name, memory, kind == "parameter")
        elif kind not in ("user_input", "constant_input"):
            spec.fail("a tensor or a number as input")
    return found


def _graph(found: JsonField, depth: int) -> TorchGraph:
    if depth > _DEEPEST:
        found.fail(f"at most {_DEEPEST} graphs inside of one another")
    return TorchGraph(
        inputs=tuple(_input(each) for each in found.at("inputs").each()),
        outputs=tuple(name for each in found.at("outputs").each() for name in _names(each)),
        calls=tuple(_call(each, depth) for each in found.at("nodes").each()),
        tensors={name: _facts(each) for name, each in found.at("tensor_values").items()},
        numbers={name: _size(each) for name, each in found.at("sym_int_values").items()},
    )


def _input(found: JsonField) -> str:
    kind, body = found.only()
    return body.at("name").text() if kind == "as_tensor" else ""


def _names(found: JsonField) -> tuple[str, ...]:
    """Names of the tensors of an output; '' for what is none."""
    kind, body = found.only()
    if kind == "as_tensor":
        return (body.at("name").text(),)
    if kind == "as_sym_int":
        return (body.at("as_name").text(),) if body.get("as_name") is not None else ("",)
    if kind == "as_tensors":
        return tuple(each.at("name").text() for each in body.each())
    if kind == "as_optional_tensors":
        return tuple(name for each in body.each() for name in _names(each))
    return ("",)


def _call(found: JsonField, depth: int) -> TorchCall:
    target, metadata = found.at("target").text(), found.get("metadata")
    outputs = tuple(name for each in found.at("outputs").each() for name in _names(each))
    arguments = {}
    for position, each in enumerate(found.at("inputs").each()):
        name = each.at("name").text() or str(position)
        arguments[name] = _argument(each.at("arg"), depth)
    label = found.get("name")
    op = next((target.removeprefix(space) for space in _NAMESPACES if target.startswith(space)), target)
    stack = metadata.get("nn_module_stack") if metadata is not None else None
    return TorchCall(op, label.text() if label else op, _module(stack.text() if stack else ""), arguments, outputs)


def _module(stack: str) -> str:
    """The path of the innermost module: entries are ``key,path,class``, outermost first."""
    return stack.rpartition(";")[2].split(",")[1] if stack.count(",") >= 2 else ""


def _facts(found: JsonField) -> TensorFacts:
    code = found.at("dtype").integer()
    if code not in DTYPES:
        found.at("dtype").fail("a type of real numbers")
    return TensorFacts(tuple(_size(each) for each in found.at("sizes").each()), DTYPES[code])


def _size(found: JsonField) -> TorchSize:
    kind, body = found.only()
    if kind == "as_int":
        return body.integer()
    return body.at("expr_str").text() if kind == "as_expr" else found.fail("a number or a formula")


def _number(found: JsonField) -> TorchArgument:
    kind, body = found.only()
    return NumberName(body.text()) if kind == "as_name" else _SCALARS[kind](body) if kind in _SCALARS else None


def _tensor(found: JsonField) -> TorchArgument:
    kind, body = found.only()
    return TensorName(body.at("name").text()) if kind == "as_tensor" else None


def _argument(found: JsonField, depth: int) -> TorchArgument:
    kind, body = found.only()
    if kind == "as_graph":
        return _graph(body.at("graph"), depth + 1)
    if kind in _SCALARS:
        return _SCALARS[kind](body)
    if kind in _LISTS:
        return tuple(_LISTS[kind](each) for each in body.each())
    return None if kind in _IGNORED else found.fail("an argument of a known kind")


_SCALARS: dict[str, Callable[[JsonField], TorchArgument]] = {
    "as_tensor": lambda found: TensorName(found.at("name").text()),
    "as_optional_tensor": _tensor,
    "as_int": JsonField.integer,
    "as_float": JsonField.number,
    "as_bool": JsonField.truth,
    "as_string": JsonField.text,
    "as_scalar_type": lambda found: DTYPES.get(found.integer(), "unknown"),
    "as_sym_int": _number,
    "as_sym_bool": _number,
    "as_sym_float": _number,
}
_LISTS: dict[str, Callable[[JsonField], TorchArgument]] = {
    "as_tensors": _SCALARS["as_tensor"],
    "as_optional_tensors": _tensor,
    "as_ints": JsonField.integer,
    "as_floats": JsonField.number,
    "as_bools": JsonField.truth,
    "as_strings": JsonField.text,
    "as_sym_ints": _number,
    "as_sym_floats": _number,
    "as_int_lists": lambda found: tuple(each.integer() for each in found.each()),
}
_IGNORED = ("as_none", "as_memory_format", "as_layout", "as_device", "as_custom_obj", "as_operator", "as_complex")
