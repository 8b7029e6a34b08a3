"""A small package of chiplets with a network each, from text, for tests of networks in networks."""

from __future__ import annotations

from archsim.spec.architecture import Architecture
from archsim.spec.load import loads

PACKAGE = """\
name: package_of_four
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: constant, bandwidth: 64 GB/s, latency: 50 ns, capacity: 1 GiB, keeps: all}
  - sram: {name: l2, size: 1 MiB, banks: 8, word: 32 B, keeps: all}
  - noc:
      name: package
      topology: mesh
      shape: [2, 2]
      phy: ucie_standard
      attach: {dram: [[1, 1]], l2: [[0, 0]]}
  - noc:
      name: mesh
      topology: mesh
      shape: [2, 2]
      link: 64 B
      attach: {package: [[0, 0]]}
  - sram: {name: l1, size: 64 KiB, banks: 4, word: 16 B, keeps: all}
  - parallel:
      - array: {name: mxu, shape: [8, 8], rates: {int8: 1}}
      - vector: {name: vpu, lanes: 16, functions: {exp: 4, divide: 4, sqrt: 4}}
"""


def package(old: str = "", new: str = "", **values: object) -> Architecture:
    """The chip with a text replaced and values set by key path, ``__`` for the points: ``package(mesh__vcs=2)``."""
    assert PACKAGE.count(old) >= 1
    return loads(PACKAGE.replace(old, new, 1), {key.replace("__", "."): value for key, value in values.items()})
