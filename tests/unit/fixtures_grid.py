"""A small chip with a network, from text, for tests of chips with many cores."""

from __future__ import annotations

from archsim.spec.architecture import Architecture
from archsim.spec.load import loads

GRID = """\
name: grid
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - host: {launch: 2 us, link: 16 GB/s, compute: 50 GFLOP/s}
  - dram: {name: dram, standard: constant, bandwidth: 25.6 GB/s, capacity: 1 GiB, keeps: all}
  - sram: {name: l2, size: 4 MiB, banks: 16, word: 32 B, keeps: all}
  - noc:
      name: mesh
      topology: mesh
      shape: [4, 2]
      link: 32 B
      attach:
        l2: [[0, 0], [3, 1]]
  - sram: {name: l1, size: 256 KiB, banks: 8, word: 16 B, keeps: all}
  - parallel:
      - array: {name: mxu, shape: [16, 16], rates: {int8: 1}}
      - vector: {name: vpu, lanes: 64}
"""


def grid(old: str = "", new: str = "", **values: object) -> Architecture:
    """The chip with a text replaced and values set by key path, ``__`` for the points: ``grid(mesh__vcs=2)``."""
    assert GRID.count(old) >= 1
    return loads(GRID.replace(old, new, 1), {key.replace("__", "."): value for key, value in values.items()})
