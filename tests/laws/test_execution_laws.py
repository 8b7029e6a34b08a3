"""Random layers x random chips x random legal mappings: mapped, checked, simulated, executed, all equal."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from archsim.facts.dataflows import catalogue
from tests.tools.fuzz import run_case, run_graph
from tests.tools.graphs import Writer
from tests.tools.layers import small_chip

CASES, BATCH = 500, 25
MOST_REFUSED = 0.3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_law_42_random_layers_compute_the_model(first: int) -> None:
    """Law 42 with laws 38 and 43: any layer under any legal mapping computes the model, bit for bit in integers and to
    rounding in real numbers, under 3 orders; the compiler's counts are the machine's, its bound is not above the
    simulation, and the assembly round-trips.
    """
    outcomes = [run_case(case) for case in range(first, first + BATCH)]
    refused = [outcome.refused for outcome in outcomes if outcome.refused]
    assert len(refused) <= BATCH / 2, refused


@pytest.mark.slow
def test_cases_cover_every_dataflow_engine_and_kind() -> None:
    """What the campaign must not lose: every dataflow found, all engines, the operators that hold surprises."""
    outcomes = [run_case(case, orders=1) for case in range(0, CASES, 4)]
    found = Counter(name for outcome in outcomes for name in (*outcome.operators, outcome.dataflow, *outcome.engines))
    assert {"array", "vector", "copy", *catalogue.names()} <= set(found)
    assert {"Conv", "Gemm", "MatMul", "MaxPool", "AveragePool", "Add", "Einsum"} <= set(found)
    assert sum(bool(outcome.refused) for outcome in outcomes) <= MOST_REFUSED * len(outcomes)


def writer(*shape: int) -> Writer:
    to = Writer(random.Random(0))
    to.source("x", shape)
    return to


@pytest.mark.parametrize("seed", range(12))
def test_a_window_slides_only_as_one_block_of_rows(seed: int) -> None:
    """With two images in a slot the halo of each lies apart: such tiles are fetched anew."""
    to = writer(2, 3, 9, 8)
    to.add("Conv", to.last, to.weight((4, 3, 3, 3)), pads=(1, 1, 1, 1))
    run_graph(to.graph(), small_chip(1 << 11, 1 << 10), str(seed), seed)


def test_a_batch_of_images_slides_image_by_image() -> None:
    to = writer(3, 4, 12, 12)
    to.add("Conv", to.last, to.weight((6, 4, 5, 5)), to.weight((6,)), pads=(2, 2, 2, 2))
    run_graph(to.graph(), small_chip(1 << 10, 1 << 10), "", 0)


@pytest.mark.parametrize("resident", [True, False])
def test_an_axis_that_lies_in_the_padding_alone(resident: bool) -> None:
    """One column, and the window stands beside it: every product is with a zero."""
    to = writer(1, 3, 6, 2)
    if resident:
        to.add("Relu", to.last)
    to.add("Conv", to.last, to.weight((3, 3, 2, 1)), to.weight((3,)), strides=(2, 3), pads=(1, 1, 1, 0))
    run_graph(to.graph(), small_chip(), "", 1)


@pytest.mark.parametrize("reader", ["", "Conv"])
@pytest.mark.parametrize("seed", range(4))
def test_padding_by_a_copy(reader: str, seed: int) -> None:
    """Straight from DRAM into a tensor on chip what lies in the padding is not read, and through a ring neither."""
    to = writer(1, 2, 5, 4)
    to.add("Pad", to.last, to.ints(1, 0, 2, 1, 0, 1, 0, 2))
    if reader:
        to.add("Conv", to.last, to.weight((3, 3, 2, 2)))
    run_graph(to.graph(), small_chip(), str(seed) if seed else "", seed)


def test_repeating_reads_once_and_writes_often() -> None:
    to = writer(1, 6, 4, 2)
    scales = to.number(1.0, 1.0, 2.0, 1.0)
    to.add("Resize", to.last, "", scales, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    run_graph(to.graph(), small_chip(banks=1, word=1), "", 0)


def test_a_made_bias_does_not_take_the_name_of_the_models() -> None:
    to = writer(2, 6)
    to.add("MatMul", to.last, to.weight((6, 5)))
    own = f"{to.nodes[-1].name}.bias"
    to.values[own] = to.values.pop(to.weight((5,)))
    to.values[own] = type(to.values[own])(own, (5,), "constant", sources=(own,))
    to.shapes[own] = (5,)
    to.add("Add", to.last, own)
    run_graph(to.graph(), small_chip(), "", 3)
