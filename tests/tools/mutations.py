"""Mutants of files: lines, words, numbers, characters of texts; fields and bytes of ONNX models and .pt2 archives.
Equal for a seed."""

from __future__ import annotations

import copy
import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any

import onnx

NUMBERS = [
    "0",
    "-1",
    "1e25",
    "1e99",
    "0.1",
    "1/0",
    "1/3",
    "9" * 30,
    "9" * 45,
    "2147483648",
    "-0.5",
    ".inf",
    "nan",
    "0x10",
]
WORDS = [
    "true",
    "null",
    "~",
    '""',
    "[]",
    "{}",
    "x",
    "all",
    "none",
    "[1]",
    "{a: 1}",
    "[[]]",
    "{a: {b: 1}}",
    "- 1",
    "..",
    "/",
]
UNITS = ["GHz", "MiB", "mm2", "V", "ns", "rocket", "B/s", "pJ", "b", "%"]
CHARACTERS = [
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\t",
    "\r",
    "\n",
    '"',
    "'",
    ":",
    ",",
    "{",
    "}",
    "[",
    "]",
    "#",
    "&a ",
    "*a",
    "!!x ",
    "\ud7ff",
    "\\",
]
ESCAPED = ['"\\0"', '"\\e[31m"', '"\\u202e"', '"a\\nb"', '"[bold]"', '"=1+1"', '"../../x"', '"\\0.yaml"', '"a/b.onnx"']
_NUMBER = re.compile(r"(?<![A-Za-z_])[0-9][0-9.]*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUE = re.compile(r"(?<=: )[^,{}\[\]\n#]+")

Text = Callable[[str, random.Random], str]


def mutated(kind: str, data: bytes, pick: random.Random) -> bytes:
    """``data`` of a file of a kind with one to three changes."""
    for _ in range(pick.choice([1, 1, 1, 2, 3])):
        data = _BINARY[kind](data, pick) if kind in _BINARY else _text(data, pick)
    return data


def _text(data: bytes, pick: random.Random) -> bytes:
    if pick.random() < 0.06:
        return _bytes(data, pick)
    text = data.decode("utf-8", "surrogateescape")
    return pick.choice(_OF_TEXT)(text, pick).encode("utf-8", "surrogateescape")


def _one(pattern: re.Pattern[str], text: str, pick: random.Random, new: Callable[[str], str]) -> str:
    """One match of a pattern replaced."""
    found = [match.span() for match in pattern.finditer(text)]
    if not found:
        return text + new("")
    start, end = pick.choice(found)
    return text[:start] + new(text[start:end]) + text[end:]


def _number(text: str, pick: random.Random) -> str:
    return _one(_NUMBER, text, pick, lambda _: pick.choice(NUMBERS))


def _value(text: str, pick: random.Random) -> str:
    return _one(_VALUE, text, pick, lambda _: pick.choice([*WORDS, *NUMBERS, *ESCAPED]))


def _unit(text: str, pick: random.Random) -> str:
    return _one(_NUMBER, text, pick, lambda old: f"{old} {pick.choice(UNITS)}")


def _misspelt(text: str, pick: random.Random) -> str:
    def new(word: str) -> str:
        at = pick.randrange(len(word)) if word else 0
        return pick.choice([word[:at] + word[at + 1 :], word[:at] + "x" + word[at:], word.upper(), word + "s"])

    return _one(_WORD, text, pick, new)


def _other_word(text: str, pick: random.Random) -> str:
    words = _WORD.findall(text) or ["x"]
    return _one(_WORD, text, pick, lambda _: pick.choice(words))


def _line(text: str, pick: random.Random) -> str:
    """A line gone, twice, elsewhere, or with another indentation."""
    lines = text.split("\n")
    at, way = pick.randrange(len(lines)), pick.randrange(4)
    line = lines.pop(at)
    if way == 1:
        lines[at:at] = [line, line]
    elif way == 2:
        lines.insert(pick.randrange(len(lines) + 1), line)
    elif way == 3:
        lines.insert(at, pick.choice([" " + line, line[1:], "\t" + line, "  - " + line]))
    return "\n".join(lines)


def _character(text: str, pick: random.Random) -> str:
    at = pick.randrange(len(text) + 1)
    return text[:at] + pick.choice(CHARACTERS) + text[at + pick.randrange(2) :]


def _cut(text: str, pick: random.Random) -> str:
    return text[: pick.randrange(len(text) + 1)]


def _longer(text: str, pick: random.Random) -> str:
    return _one(
        _VALUE, text, pick, lambda old: pick.choice([old * 200, "[" * 60, "[" + "1, " * 300 + "1]", "x" * 5000])
    )


_OF_TEXT: tuple[Text, ...] = (
    _number, _number, _number, _value, _value, _unit, _misspelt, _misspelt, _other_word, _line, _line, _character, _cut,
    _longer,
)  # fmt: skip


def _bytes(data: bytes, pick: random.Random) -> bytes:
    """Bytes changed, gone, or added."""
    at, way = pick.randrange(len(data) + 1), pick.randrange(4)
    if way == 0:
        return data[:at]
    if way == 1:
        return data[:at] + bytes([pick.randrange(256)]) + data[at + 1 :]
    if way == 2:
        return data[:at] + bytes(pick.randrange(256) for _ in range(pick.randrange(1, 9))) + data[at:]
    return data[:at] + data[at + pick.randrange(1, 9) :]


def _onnx(data: bytes, pick: random.Random) -> bytes:
    if pick.random() < 0.3:
        return _bytes(data, pick)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception:
        return _bytes(data, pick)
    if proto.graph.node:
        pick.choice(_OF_MODEL)(proto, pick)
    return bytes(proto.SerializeToString())


def _op_type(proto: onnx.ModelProto, pick: random.Random) -> None:
    node = pick.choice(proto.graph.node)
    names = [
        "Conv",
        "Gemm",
        "MatMul",
        "Add",
        "Concat",
        "Slice",
        "Resize",
        "Gather",
        "LSTM",
        "Softmax",
        "Einsum",
        "Split",
    ]
    node.op_type = pick.choice([*names, "Pad", "Expand", "Tile", "TopK", "If", "Loop", "QuantizeLinear", "", "[bold]"])


def _attribute(proto: onnx.ModelProto, pick: random.Random) -> None:
    node = pick.choice(proto.graph.node)
    names = [
        "pads",
        "strides",
        "dilations",
        "group",
        "axis",
        "perm",
        "kernel_shape",
        "auto_pad",
        "keepdims",
        "equation",
    ]
    value = pick.choice(
        [0, -1, 7, 10**9, 2**62, [0], [1, 1], [1, 1, 1, 1], [-1, 0], [10**9] * 4, "SAME_UPPER", "x", 0.5]
    )
    name = pick.choice(names)
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])


def _wiring(proto: onnx.ModelProto, pick: random.Random) -> None:
    node = pick.choice(proto.graph.node)
    names = [name for each in proto.graph.node for name in (*each.input, *each.output)]
    ends = pick.choice([node.input, node.output])
    if ends:
        at = pick.randrange(len(ends))
        ends[at] = pick.choice([*names, "", "nothing", "\x00", "[/red]"])


def _shape(proto: onnx.ModelProto, pick: random.Random) -> None:
    size = pick.choice([0, -1, 1, 5, 2**31, 2**62])
    if proto.graph.initializer and pick.random() < 0.5:
        tensor = pick.choice(proto.graph.initializer)
        if tensor.dims:
            tensor.dims[pick.randrange(len(tensor.dims))] = size
    elif proto.graph.input:
        dims = pick.choice(proto.graph.input).type.tensor_type.shape.dim
        if dims and pick.random() < 0.8:
            pick.choice(dims).dim_value = size
        elif dims:
            del dims[pick.randrange(len(dims))]


def _types(proto: onnx.ModelProto, pick: random.Random) -> None:
    dtype = pick.choice([0, 1, 2, 7, 8, 9, 11, 16, 23, 99])
    if proto.graph.initializer and pick.random() < 0.5:
        pick.choice(proto.graph.initializer).data_type = dtype
    elif proto.graph.input:
        pick.choice(proto.graph.input).type.tensor_type.elem_type = dtype


def _structure(proto: onnx.ModelProto, pick: random.Random) -> None:
    graph, way = proto.graph, pick.randrange(6)
    if way == 0:
        del graph.node[pick.randrange(len(graph.node))]
    elif way == 1:
        graph.node.append(pick.choice(graph.node))
    elif way == 2 and graph.initializer:
        graph.initializer.append(pick.choice(graph.initializer))
    elif way == 3 and graph.output:
        graph.output[0].name = pick.choice(["x", "nothing", ""])
    elif way == 4:
        proto.opset_import[0].version = pick.choice([0, 1, 7, 99, 2**40])
    else:
        graph.name = pick.choice(["", "\x1b[31m", "a/b", "x" * 1000])


def _external(proto: onnx.ModelProto, pick: random.Random) -> None:
    if not proto.graph.initializer:
        return
    tensor = pick.choice(proto.graph.initializer)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(
        key="location", value=pick.choice(["a\x00b", "../x", "/etc/passwd", "", "w.bin", "x" * 5000])
    )


_OF_MODEL: tuple[Callable[[onnx.ModelProto, random.Random], None], ...] = (
    _op_type, _attribute, _attribute, _wiring, _shape, _shape, _types, _structure, _external,
)  # fmt: skip


def _archive(data: bytes, pick: random.Random) -> bytes:
    """Of a .pt2: some of its bytes, its members, or the program in it."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {item.filename: archive.read(item) for item in archive.infolist()}
        name = next(name for name in members if name.endswith("models/model.json"))
        document = json.loads(members[name])
    except Exception:
        return _bytes(data, pick)
    if not isinstance(document, dict) or not document:
        return _bytes(data, pick)
    way = pick.random()
    if way < 0.15:
        return _bytes(data, pick)
    if way < 0.25:
        _members(members, name, pick)
    else:
        _document(document, pick)
        members[name] = json.dumps(document).encode("utf-8", "surrogateescape")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _members(members: dict[str, bytes], program: str, pick: random.Random) -> None:
    """Without a member, with one of its bytes changed, or with another program."""
    way, name = pick.randrange(4), pick.choice(sorted(members))
    if way == 0:
        del members[name]
    elif way == 1:
        members[name] = _bytes(members[name], pick)
    elif way == 2:
        members[program.replace("model.json", "other.json")] = members[program]
    else:
        members[program] = pick.choice([b"", b"[]", b"{}", b"[" * 100_000, b"nan", b"\xff", b'{"a": 1e999}'])


def _document(document: Any, pick: random.Random) -> None:
    """A value, a member or an element changed somewhere in a JSON document."""
    places = _places(document)
    holder, key = pick.choice(places)
    way = pick.randrange(5)
    if way == 0:
        del holder[key]
    elif way == 1:
        other = pick.choice(places)
        holder[key] = copy.deepcopy(other[0][other[1]])
    elif way == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif isinstance(holder[key], str) and pick.random() < 0.5:
        holder[key] = pick.choice(CALLS)
    elif isinstance(holder[key], int):
        holder[key] = pick.choice([0, -1, 1, 2, 3, 7, 13, 2**31, 2**63, -(2**63), 10**30, True])
    else:
        holder[key] = pick.choice([None, 0, -1, "x", "", [], {}, True, 1e308, float("nan"), [[]], {"as_int": 2**62}])


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) of a document, with those where the program stands several times."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            found += [(holder, key)] * (1 if isinstance(value, dict | list) else 3)
            if isinstance(value, dict | list):
                waiting.append(value)
    return found


CALLS = [
    *(f"torch.ops.aten.{name}" for name in (
        "add.Tensor", "mul.Tensor", "cat.default", "view.default", "expand.default", "slice.Tensor", "index.Tensor",
        "softmax.int", "linear.default", "conv2d.default", "split.Tensor", "roll.default", "arange.default",
        "embedding.default", "max_pool2d.default", "relu_.default", "layer_norm.default", "einsum.default", "x",
    )),
    "torch.ops.higher_order.wrap_with_set_grad_enabled", "", "x", "[bold]", "\x1b[31m", "Symbol('s0')",
    "Mul(Integer(2), Symbol('s1'))", "Pow(Integer(9), Integer(999999))", "__import__('os')", "(" * 5000, "relu_", "q",
]  # fmt: skip
_BINARY = {"onnx": _onnx, "pt2": _archive}
