"""Decoding one token is bound by DRAM: a chip that reads weights and caches back to back comes close to its pins."""

from __future__ import annotations

from pathlib import Path

import archsim

LEAST = 0.80  # of the DRAM's peak over the whole layer: first weights and last sums are on the way alone
LAYER = """
schema: archsim.workload/1
name: decode
description: one decoder layer of Llama 3 8B, one token with a cache of 4096, rotary embedding left out
source: "huggingface.co/meta-llama/Meta-Llama-3-8B config.json: hidden 4096, 32 heads, 8 of keys and values, ffn 14336"
parameters: {past: 4096, hidden: 4096, kv: 8, group: 4, dim: 128, ffn: 14336}
inputs: {x: [1, 1, hidden], kh: [1, past, kv, dim], vh: [1, past, kv, dim]}
layers:
  - rmsnorm: {name: norm1, input: x}
  - dense: {name: query, input: norm1, out: kv * group * dim, bias: false}
  - dense: {name: key, input: norm1, out: kv * dim, bias: false}
  - dense: {name: value, input: norm1, out: kv * dim, bias: false}
  - reshape: {name: qh, input: query, shape: [1, 1, kv, group, dim]}
  - einsum: "b s h g d, b t h d -> b h g s t"
    name: scores
    inputs: [qh, kh]
  - softmax: {name: prob, axis: -1}
  - einsum: "b h g s t, b t h d -> b s h g d"
    name: context
    inputs: [prob, vh]
  - einsum: "b s h g d, h g d c -> b s c"
    name: projection
    sizes: {c: hidden}
  - add: {name: sum1, inputs: [projection, x]}
  - rmsnorm: {name: norm2}
  - dense: {name: gate, input: norm2, out: ffn, bias: false, act: swish}
  - dense: {name: up, input: norm2, out: ffn, bias: false}
  - mul: {name: gated, inputs: [gate, up]}
  - dense: {name: down, out: hidden, bias: false}
  - add: {name: output, inputs: [down, sum1]}
outputs: [output, key, value]
"""


def test_a_decoder_layer_on_tpu_v4i_uses_its_pins(tmp_path: Path) -> None:
    """226 MB of weights and caches in 614.4 GB/s, without the net."""
    path = tmp_path / "decode.yaml"
    path.write_text(LAYER)
    result = archsim.run(path, on="tpu_v4i", dtype="int8", net=False).summary
    assert result["dram"]["read_bytes"] > 226_000_000
    assert result["dram"]["bandwidth_utilization"] >= LEAST
