"""Whether an ONNX file means what it says: names given once, element types, an operator set and shapes that are known.

What a runtime would refuse, or would take for something else than was meant, is refused here with the node or tensor:
nothing of it shows in cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx

from archsim.base.errors import ModelError
from archsim.frontend.onnx.dtypes import BITS, NAMES
from archsim.ir.graph import Graph, Shape

_DEFAULT_DOMAINS = ("", "ai.onnx")
DeclaredShapes = Mapping[str, tuple[int | None, ...]]  # shapes by name, None where a dimension is left open


def check_opset(path: object, version: int) -> None:
    """Raises ModelError for an operator set that is newer than the ``onnx`` package which reads the file."""
    newest = onnx.defs.onnx_opset_version()
    if version > newest:
        raise ModelError(
            f"{path}: states opset {version}; allowed up to {newest}, the newest that the installed onnx "
            f"{onnx.__version__} knows: export it with an older one, or install a newer onnx"
        )


def check_names(path: object, graph: onnx.GraphProto) -> None:
    """Raises ModelError where two stored tensors, two inputs or two results have one name."""
    stored = [tensor.name for tensor in graph.initializer]
    made = [name for node in graph.node for name in node.output if name]
    for what, names in (("initializers", stored), ("graph inputs", [item.name for item in graph.input])):
        again = _again(names)
        if again is not None:
            raise ModelError(f"{path}: two {what} have the name '{again}', so one of them is lost; export it again")
    again = _again([*dict.fromkeys([*stored, *(item.name for item in graph.input)]), *made])
    if again is not None:
        raise ModelError(f"{path}: '{again}' is made twice; every result has a name of its own: export it again")


def check_types(graph: onnx.GraphProto, version: int) -> None:
    """Raises ModelError for inputs and stored tensors of a type that no engine has, or that a node may not read."""
    types = dict(_element_types(graph))
    read = {name for node in graph.node for name in node.input}
    for name in sorted(read & set(types)):
        if types[name] not in BITS:
            called = _type_name(types[name])
            raise ModelError(f"tensor '{name}' has elements of type {called}; allowed numbers: {_allowed(BITS)}")
    for node in graph.node:
        if node.domain in _DEFAULT_DOMAINS:
            _check_node(node, types, version)


def declared(graph: onnx.GraphProto) -> DeclaredShapes:
    """Shapes that the file states beside those of its inputs: of stored tensors, results and outputs."""
    stored = {tensor.name for tensor in graph.initializer}
    stated = [item for item in graph.input if item.name in stored]
    found = {}
    for item in (*stated, *graph.value_info, *graph.output):
        tensor = item.type.tensor_type
        if item.type.HasField("tensor_type") and tensor.HasField("shape"):
            found[item.name] = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim)
    return found


def check_shapes(graph: Graph, stated: DeclaredShapes) -> None:
    """Raises ModelError where a shape that the file states is not the one that its operators give."""
    makers = {name: node for node in (*graph.nodes, *graph.folded) for name in node.outputs}
    for name, shape in stated.items():
        value = graph.values.get(name)
        if value is None or _agrees(value.shape, shape):
            continue
        said = f"the file states shape {['?' if size is None else size for size in shape]} for '{name}'"
        if name in makers:
            makers[name].fail(f"makes {list(value.shape)}, but {said}; export it again")
        raise ModelError(f"{said}, but it has {list(value.shape)}; export it again")


def _agrees(shape: Shape, stated: tuple[int | None, ...]) -> bool:
    return len(shape) == len(stated) and all(
        said is None or said == size for size, said in zip(shape, stated, strict=True)
    )


def _again(names: Iterable[str]) -> str | None:
    """The first name that was there before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _element_types(graph: onnx.GraphProto) -> Iterator[tuple[str, int]]:
    for item in graph.input:
        if item.type.HasField("tensor_type"):
            yield item.name, item.type.tensor_type.elem_type
    for tensor in graph.initializer:
        yield tensor.name, tensor.data_type
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in _DEFAULT_DOMAINS:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR:
                    yield node.output[0], attribute.t.data_type


def _check_node(node: onnx.NodeProto, types: Mapping[str, int], version: int) -> None:
    """How many inputs a node reads, and of which types, against what ONNX lets its operator read; unknown ones: any."""
    try:
        schema = onnx.defs.get_schema(node.op_type, version, "")
    except onnx.defs.SchemaError:
        return
    formals = list(schema.inputs)
    if any(node.input[schema.max_input :]):
        raise ModelError(
            f"node '{node.name or node.output[0]}' ({node.op_type}): reads {len(node.input)} inputs; allowed "
            f"{schema.max_input} in opset {version}"
        )
    if not formals:
        return
    seen: dict[str, tuple[str, int]] = {}  # letter of a type -> the first input of it
    for position, name in enumerate(node.input):
        formal = formals[min(position, len(formals) - 1)]
        found = types.get(name)
        if found is None:
            continue
        where = f"node '{node.name or node.output[0]}' ({node.op_type}): input {position + 1}, '{name}',"
        if f"tensor({_onnx_name(found)})" not in formal.types:
            raise ModelError(f"{where} has elements of type {_type_name(found)}; allowed {_legible(formal.types)}")
        first, other = seen.setdefault(formal.type_str, (name, found))
        if other != found and formal.is_homogeneous:
            raise ModelError(
                f"{where} has elements of type {_type_name(found)} where '{first}' has {_type_name(other)}; "
                "allowed one type for both"
            )


def _onnx_name(code: int) -> str:
    """As in ``tensor(float)``."""
    return str(onnx.TensorProto.DataType.Name(code)).lower()


def _type_name(code: int) -> str:
    known = onnx.TensorProto.DataType.values()
    return NAMES.get(code) or (str(onnx.TensorProto.DataType.Name(code)).lower() if code in known else f"number {code}")


def _allowed(codes: Iterable[int]) -> str:
    return ", ".join(NAMES[code] for code in codes)


def _legible(types: Iterable[str]) -> str:
    """``float16, float32``: names of types as in this room."""
    names = {f"tensor({_onnx_name(code)})": NAMES[code] for code in BITS}
    return ", ".join(name for text, name in names.items() if text in types)
