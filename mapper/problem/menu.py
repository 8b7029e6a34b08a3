"""Tiles that a library's kernels come in: what an entry of its menu means for a layer.

An entry (m, n, k) says how many output rows, output columns and steps of the reduction a core works on at a time; of a
layer that is no product, m outputs. Of several dims of rows or columns the innermost are whole as long as they fit; a
reduction over several dims, as that of a convolution, is cut as the search likes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mapper.problem.problem import Problem

MenuTile = tuple[int, int, int]  # (m, n, k)


def entries_of(problem: Problem, menu: tuple[MenuTile, ...]) -> tuple[MenuTile, ...]:
    """The entries that hold for a problem: a product that the vector unit does is none of the library's."""
    return () if problem.layer.kind == "matmul" and problem.engine != "array" else menu


def tiles_of(problem: Problem, entry: MenuTile) -> dict[str, int]:
    """The tile of every dim of the layer that an entry cuts, whatever part a core has of it; no larger than the dim."""
    rows, columns, steps = entry
    found = {**_inwards(problem, "M", rows), **_inwards(problem, "N", columns)}
    cuttable = _cuttable(problem, "K")
    if len(cuttable) == 1 and cuttable[0] not in problem.taps:
        found[cuttable[0]] = min(steps, problem.layer.dims[cuttable[0]])
    return found


def on_menu(problem: Problem, entry: MenuTile, tiles: Mapping[str, int]) -> bool:
    """Whether a core's part of a problem has an entry's ``tiles``, and whole ones of them."""
    for dim, tile in tiles_of(problem, entry).items():
        part, extent = problem.dims[dim], problem.layer.dims[dim]
        if tiles[dim] != tile or (part % tile and part != extent):
            return False
    return True


def _inwards(problem: Problem, group: str, most: int) -> dict[str, int]:
    found = dict[str, int]()
    for dim in reversed(_cuttable(problem, group)):
        found[dim] = min(most, problem.layer.dims[dim])
        most = max(1, most // found[dim])
    return found


def _cuttable(problem: Problem, group: str) -> Sequence[str]:
    return [dim for dim in problem.groups[group] if dim not in problem.whole and problem.layer.dims[dim] > 1]
