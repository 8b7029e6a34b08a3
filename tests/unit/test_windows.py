"""Windows of a nest: where they come from, how a listing states them, what is refused; and what a file may say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, ModelError, ProgramError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, Nest, Window
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.forms.workload import workload_from_yaml, workload_to_yaml
from archsim.ir.program import MatmulNest, Program
from archsim.ir.workload import Axis, Layer
from tests.tools.plugins import PLUGINS
from tests.unit.fixtures_check import GOLDEN, chip, command, edit

ROWS, COLUMNS = Window("h", "r", 1, 1), Window("w", "s", 1, 1)
NEST = command("conv1.mm").nest
assert NEST is not None


def windowed(*windows: Window) -> Program:
    """The golden Program whose first convolution's nest has windows."""
    assert NEST is not None
    return edit("conv1.mm", nest=replace(NEST, windows=windows))


def convolution() -> Layer:
    """The first layer of the golden workload: h+r-1 and w+s-1, stride and dilation 1."""
    return workload_from_yaml((GOLDEN / "workload.yaml").read_text(), "workload.yaml").layers[0]


def with_axes(layer: Layer, *axes: Axis) -> Layer:
    """The layer with other axes of its input."""
    return replace(layer, inputs=(replace(layer.inputs[0], axes=axes), *layer.inputs[1:]))


def test_a_layer_says_its_windows_in_memory_order() -> None:
    layer = convolution()
    assert layer.windows == (ROWS, COLUMNS)
    channels, rows, columns = Axis((("c", 1),)), Axis((("h", 2), ("r", 3)), -1), Axis((("s", 1), ("w", 4)))
    assert with_axes(layer, columns, rows, channels).windows == (Window("w", "s", 4, 1), Window("h", "r", 2, 3))
    assert with_axes(layer, Axis((("h", 1), ("w", 1), ("r", 1))), Axis((("s", 1),)), channels).windows == ()
    assert with_axes(layer, Axis((("h", 1), ("r", 1))), Axis((("h", 1), ("s", 1))), channels).windows == ()
    assert with_axes(layer, Axis((("h", 1), ("w", 1))), Axis((("r", 1), ("s", 1))), channels).windows == ()
    assert replace(layer, kind="vector").windows == ()


def test_a_listing_states_them_and_reads_back() -> None:
    program = windowed(Window("h", "r", 2, 1), COLUMNS)
    text = print_program(program)
    assert "nest m(h, w) n(k) k(r, s, c) window(2*h+r, w+s)" in text
    assert parse_program(text, "p.asm") == program
    turned = text.replace("window(2*h+r, w+s)", "window(r+2*h, s+w)")
    assert parse_program(turned, "p.asm") == program
    assert "window" not in print_program(parse_program((GOLDEN / "program.asm").read_text(), "program.asm"))


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("window()", "at least one window"),
        ("window(h)", "a sum of one extent of m and one of k"),
        ("window(h+w)", "a sum of one extent of m and one of k"),
        ("window(h+r+1)", "a sum of one extent of m and one of k"),
        ("window(h-r)", "a sum of one extent of m and one of k"),
        ("window(h+h+r)", "a sum of one extent of m and one of k"),
        ("window(h+k)", "variable"),
        ("window(h+r, w+r)", "'w' and 'r', of which another window has one already"),
    ],
)
def test_a_listing_with_other_sums_is_refused(clause: str, message: str) -> None:
    text = print_program(windowed(ROWS)).replace("window(h+r)", clause)
    with pytest.raises(ProgramError, match=r"p\.asm:\d+: expected ") as caught:
        parse_program(text, "p.asm")
    assert message in str(caught.value)


def test_windows_that_the_bytes_bear_out_are_accepted() -> None:
    check(windowed(ROWS, COLUMNS), chip())
    check(windowed(Window("h", "r", 3, 3)), chip())  # as wide apart, as often together


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            lambda: windowed(Window("h", "r", 2, 1)),
            r"a window 2\*h\+1\*r, but its operand 'a' moves by 112 bytes",
        ),
        (lambda: windowed(Window("h", "s", 1, 1)), "and 8 along 's'; allowed the same steps"),
        (lambda: windowed(Window("h", "r", 9, 1)), "allowed the same steps"),  # said not to overlap, but does
        (lambda: windowed(Window("k", "r", 1, 1)), "allowed one output row"),
        (lambda: windowed(ROWS, Window("w", "r", 1, 1)), "of which another window has one already"),
        (lambda: windowed(Window("h", "r", 0, 1)), "steps of 0 and 1"),
    ],
)
def test_windows_that_the_bytes_do_not_bear_out_are_refused(program: Callable[[], Program], message: str) -> None:
    """Else a Program could claim that an array reads fewer inputs than it does."""
    with pytest.raises(ProgramError, match=message):
        check(program(), chip())


def test_windows_that_do_not_overlap_may_lie_closer_together() -> None:
    """At stride 5 with 3 taps no input is read twice: a slot keeps 3 of every 5 rows, so bytes step by 3."""
    old = command("conv1.mm")
    assert NEST is not None
    inputs = next(region for region in old.reads if region.operand == "a")
    moved = replace(inputs, strides=tuple((d, 32 if d == "r" else s) for d, s in inputs.strides))
    reads = tuple(moved if region is inputs else region for region in old.reads)
    check(edit("conv1.mm", reads=reads, nest=replace(NEST, windows=(Window("h", "r", 5, 1),))), chip())


def test_a_workload_file_states_no_windows() -> None:
    """They follow from how a layer indexes its input."""
    text = workload_to_yaml(workload_from_yaml((GOLDEN / "workload.yaml").read_text(), "workload.yaml"))
    with pytest.raises(ConfigError, match="window"):
        workload_from_yaml(text.replace("k(r, s, c)", "k(r, s, c) window(h+r)"), "workload.yaml")


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (Window("k", "r", 1, 1), "allowed one output row"),
        (Window("p", "q", 1, 1), "allowed one output row"),
        (Window("p", "r", 1, 0), "steps of 1 and 0"),
    ],
)
def test_a_nest_refuses_windows_of_other_dims(window: Window, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Nest((), ("p", "q"), ("k",), ("c", "r"), (window,))


EXTRA = """
from archsim.facts.dataflows.weight_stationary import HELD, OPTIONS, fanouts, fold, registers
SUMMARY = "as weight_stationary"
"""


def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put one dataflow called ``own`` into a plugin directory."""
    (tmp_path / "dataflows").mkdir()
    (tmp_path / "dataflows" / "own.py").write_text(EXTRA + text)
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(tmp_path))


def test_what_a_file_says_of_windows_is_true_or_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(tmp_path, monkeypatch, 'WINDOWS = "yes"')
    with pytest.raises(ConfigError, match=r"'own' \(.*own.py\): WINDOWS is 'yes'; allowed True and False"):
        catalogue.wants_windows("own")
    assert not catalogue.wants_windows("weight_stationary")


def test_what_a_file_says_of_arrays_is_true_or_false(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(tmp_path, monkeypatch, "ARRAYS = 1")
    with pytest.raises(ConfigError, match=r"'own' \(.*own.py\): ARRAYS is 1; allowed True and False"):
        catalogue.takes_arrays("own")
    assert catalogue.takes_arrays("weight_stationary")


@pytest.mark.parametrize(
    "spread", ["{'rows': ()}", "{'rows': (), 'cols': (), 'deep': ()}", "{'rows': ('x',), 'cols': ()}"]
)
def test_what_a_file_spreads_are_its_axes_and_the_nests_dims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spread: str
) -> None:
    plugin(tmp_path, monkeypatch, f"def spread(nest, array):\n    return {spread}\n")
    with pytest.raises(
        ConfigError, match="dataflow 'own' .*: spread gives axes rows.*; allowed exactly rows, cols, with"
    ):
        catalogue.spread_of("own", Nest((), ("m",), ("n",), ("k",)), ArrayShape(2, 2))


def test_one_role_or_several_may_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(PLUGINS))
    assert catalogue.held(catalogue.get("row_stationary")) == ("weights", "inputs")
    assert catalogue.held(catalogue.get("output_stationary")) == ("partials",)


def test_a_nest_without_windows_is_as_before() -> None:
    assert MatmulNest(("m",), ("n",), ("k",)).windows == Nest((), ("m",), ("n",), ("k",)).windows == ()
