"""Files of every kind that mutants are made of: those that are shipped, the goldens, and small ones written here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
OWN = ("chip", "technology", "dram", "link", "scenario", "workload", "einsums", "sweep", "cluster", "mapping")
FOREIGN = ("timeloop", "accelforge", "zigzag", "scalesim")  # files of other tools, which are imported
YAML = (*OWN, *FOREIGN[:3])
TEXT = (*YAML, "mapping_txt", "asm", "topology", "trace", "scalesim")
KINDS = (*TEXT, "onnx", "pt2")
SUFFIX = {
    "mapping_txt": ".txt",
    "asm": ".asm",
    "topology": ".csv",
    "trace": ".csv",
    "onnx": ".onnx",
    "pt2": ".pt2",
    "scalesim": ".cfg",
}  # else .yaml

_TOPOLOGY = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 10, 10, 3, 3, 4, 8, 1,
conv2DP, 8, 8, 3, 3, 8, 1, 2,
conv3, 6, 7, 1, 1, 8, 8, 1, 2:4,
"""
_GEMMS = "Layer, M, N, K,\nfc1, 16, 8, 4,\nfc2, 3, 5, 7, 2,\n"
_TRACE = "cycle,address,write\n0,0,0\n4,64,1\n9,0x1000,R\n100,8192,W\n"
_TIMES = "time_ns, address, write\n0.5, 0, read\n2, 64, write\n"
CLUSTER = """schema: archsim.cluster/1
kind: slurm
jobs: 8
cores: 16
memory: 64 GiB
walltime: 4 h
queue: batch
account: project7
directives: ["--exclusive", "-C fast"]
environment: [module load python/3.11]
interface: ib0
python: /shared/bin/python
"""
_SWEEP = """schema: archsim.sweep/1
name: small
chip: chip.yaml
models: [tiny.csv, {model: net.yaml, batch: 2, parameters: {size: 8}}]
axes:
  l1.size: [8 KiB, 16 KiB]
  l1.banks: [4, 8]
  dram.bandwidth: {log2: [8 GB/s, 16 GB/s]}
  clock: {range: [0.8 GHz, 1.2 GHz], steps: 3}
zip: [[l1.size, l1.banks]]
constraints: ["area_mm2 <= 100", "power_avg_w <= 2"]
objectives: [latency_s, max utilization]
fidelity: fast
search: {method: random, trials: 4, seed: 1}
limits: {time: 5 min, memory: 4 GiB}
dtype: int8
"""
_NET = """schema: archsim.workload/1
name: net
description: one of each kind
source: "estimated: a test"
parameters: {batch: 1, size: 12}
inputs: {image: [batch, 3, size, size]}
layers:
  - conv: {name: stem, out_channels: 8, kernel: 3, stride: 2, pad: 1, act: relu6}
  - conv: {name: deep, groups: depthwise, kernel: [3, 3], pad: same}
  - add: {name: sum, inputs: [deep, stem]}
  - pool: {kind: average, kernel: 2}
  - global_pool: {}
  - flatten: {}
  - repeat: 2
    name: blocks
    carry: x
    layers:
      - dense: {name: up, input: x, out: 8 * size // 12, act: gelu}
      - layernorm: {}
  - einsum: "b k, k n -> b n"
    sizes: {n: 6}
  - softmax: {axis: -1}
  - embedding: {name: emb, rows: 50, dim: 4, lookups: [2, 3], distribution: zipf, exponent: 1.2, reduce: sum}
outputs: [emb]
"""


@cache
def seeds(kind: str) -> Mapping[str, bytes]:
    """Name and contents of each file of a kind, in a fixed order."""
    if kind == "onnx":
        return _models()
    if kind == "pt2":
        return {name: (GOLDEN / "torch" / f"{name}.pt2").read_bytes() for name in ("bags", "block", "images")}
    texts = {
        "cluster": {"slurm": CLUSTER, "local": "kind: local\nworkers: 4\n"},
        "sweep": {"small": _SWEEP},
        "topology": {"conv": _TOPOLOGY, "gemm": _GEMMS},
        "trace": {"cycles": _TRACE, "times": _TIMES},
    }
    if kind in texts:
        return {name: text.encode() for name, text in texts[kind].items()}
    if kind == "mapping":
        return {"exported": _exported().encode(), "golden": (GOLDEN / "mapping.yaml").read_bytes()}
    own = {"workload": {"net": _NET.encode()}, "mapping_txt": {"golden": _mapping_text().encode()}}
    return own.get(kind, {}) | {path.stem: path.read_bytes() for path in _files(kind)}


def beside() -> Mapping[str, bytes]:
    """Files that the others name, in their folder."""
    return {
        "chip.yaml": (GOLDEN / "chip.yaml").read_bytes(),
        "tiny.csv": _TOPOLOGY.encode(),
        "small.csv": _TOPOLOGY.encode(),
        "large.csv": _GEMMS.encode(),
        "net.yaml": _NET.encode(),
    }


def _files(kind: str) -> list[Path]:
    if kind in FOREIGN:
        found = sorted((ROOT / "studies" / "validation" / "import" / kind).iterdir())
        return [path for path in found if path.suffix in (".yaml", ".cfg") and not path.name.endswith(".ert.yaml")]
    configs = {"chip": "accelerators", "technology": "technology", "dram": "dram", "link": "links"}
    configs |= {"workload": "workloads", "scenario": "scenarios"}
    golden = {"chip": "chip.yaml", "scenario": "scenario.yaml", "einsums": "workload.yaml"}
    golden |= {"asm": "program.asm"}
    found = sorted((ROOT / "configs" / configs[kind]).glob("*.yaml")) if kind in configs else []
    found += [GOLDEN / golden[kind]] if kind in golden else []
    return found + (sorted((ROOT / "studies" / "kernels").glob("*.asm")) if kind == "asm" else [])


def _exported() -> str:
    """A mapping of the golden workload that runs as it is."""
    from archsim.ir.text import mapping_to_yaml, workload_from_yaml
    from archsim.spec.load import load
    from mapper.compile import Options, compile_model

    workload = workload_from_yaml((GOLDEN / "workload.yaml").read_text(encoding="utf-8"))
    return mapping_to_yaml(compile_model(workload, load(GOLDEN / "chip.yaml"), Options()).mapping)


def _mapping_text() -> str:
    from archsim.ir.text import mapping_from_yaml, mapping_to_text, workload_from_yaml

    workload = workload_from_yaml((GOLDEN / "workload.yaml").read_text(encoding="utf-8"))
    mapping = mapping_from_yaml((GOLDEN / "mapping.yaml").read_text(encoding="utf-8"))
    return mapping_to_text(mapping, {layer.name: layer.dims for layer in workload.layers})


def _models() -> Mapping[str, bytes]:
    """Small graphs: convolutions, a matmul chain, attention, look-ups."""
    weights = {"w": _array(4, 3, 3, 3), "b": _array(4), "m": _array(16, 8), "t": _array(20, 4)}
    whole = {"shape": np.asarray([1, -1], np.int64), "axes": np.asarray([1], np.int64)}
    conv = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("MaxPool", ["r"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "shape"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "m"], ["y"], name="fc"),
    ]
    attention = [
        helper.make_node("Transpose", ["x"], ["t0"], name="turn", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["x", "t0"], ["s"], name="scores"),
        helper.make_node("Softmax", ["s"], ["a"], name="soft", axis=-1),
        helper.make_node("MatMul", ["a", "x"], ["o"], name="context"),
        helper.make_node("Add", ["o", "x"], ["y"], name="sum"),
    ]
    gather = [
        helper.make_node("Gather", ["t", "x"], ["g"], name="rows", axis=0),
        helper.make_node("ReduceSum", ["g", "axes"], ["y"], name="bag", keepdims=0),
    ]
    return {
        "conv": _model(conv, (1, 3, 8, 8), TensorProto.FLOAT, weights, whole),
        "attention": _model(attention, (1, 6, 4), TensorProto.FLOAT, {}, {}),
        "gather": _model(gather, (2, 3), TensorProto.INT64, weights, whole),
    }


def _model(
    nodes: list[onnx.NodeProto],
    shape: tuple[int, ...],
    dtype: int,
    weights: Mapping[str, np.ndarray],
    whole: Mapping[str, np.ndarray],
) -> bytes:
    used = {name for node in nodes for name in node.input}
    held = [numpy_helper.from_array(array, name) for name, array in {**weights, **whole}.items() if name in used]
    graph = helper.make_graph(
        nodes,
        "seed",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        held,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    return bytes(made.SerializeToString())


def _array(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
