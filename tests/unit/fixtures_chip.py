"""A small chip with every kind of part, from text, for energy and account tests."""

from __future__ import annotations

from archsim.spec.architecture import Architecture
from archsim.spec.load import loads

CHIP = """
schema: archsim.chip/1
name: small
source: "by definition: round numbers for tests"
technology: {node: 45nm, voltage: 0.9 V}
clock: 1 GHz
hierarchy:
  - host: {launch: 1 us, depth: 1, issue: 0 s, link: 1 GB/s, compute: 1 GFLOP/s}
  - dram: {name: dram, standard: ddr4, speed: 2400 MT/s, width: 64 b, channels: 2, capacity: 1 GiB, keeps: all}
  - dma: {name: dma}
  - sram: {name: l1, size: 128 KiB, banks: 2, word: 8 B, ports: {shared: 1}, keeps: [inputs, weights, outputs]}
  - sram: {name: acc, size: 32 KiB, banks: 2, word: 32 B, ports: {read: 1, write: 1}, keeps: [partials]}
  - parallel:
      - array: {name: mxu, kind: systolic, shape: [4, 4], dataflow: weight_stationary, rates: {int8: 1, bf16: 1/2}}
      - vector: {name: vpu, lanes: {int8: 4, int32: 4}, functions: {exp: 4}}
"""


def small_chip(**values: object) -> Architecture:
    """The chip with values set by key path, ``__`` for the points: ``small_chip(l1__banks=4)``."""
    return loads(CHIP, {key.replace("__", "."): value for key, value in values.items()})
