"""The catalog of dataflows, what their files say of fan-outs and registers, and what they refuse."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.facts.dataflows import catalogue
from archsim.facts.dataflows.fold import ArrayShape, EdgeStream, Nest
from tests.tools.plugins import PLUGINS, WINDOWED

NAMES = catalogue.names()
NEST = Nest(batch=(), m=("m",), n=("n",), k=("k",))
TWO = Fraction(2)
BITS = {"inputs": 4, "weights": 4, "partials": 32}
SHIPPED = (
    "dot_product",
    "input_stationary",
    "output_stationary",
    "register_blocked",
    "weight_stationary",
    "weight_stationary_units",
)
PLUGIN = """
from archsim.facts.dataflows.weight_stationary import HELD, OPTIONS, fanouts, registers
from archsim.facts.dataflows import weight_stationary
SUMMARY = "as weight_stationary"
def fold(nest, extents, array, *, accumulate):
    return weight_stationary.fold(nest, extents, array, accumulate=accumulate)
"""


def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put one dataflow called ``mine`` into a plugin directory."""
    (tmp_path / "dataflows").mkdir()
    (tmp_path / "dataflows" / "mine.py").write_text(text)
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(tmp_path))


def test_names_are_the_files_with_a_fold() -> None:
    """Helpers beside them (fold, systolic, catalog) are no dataflows."""
    assert NAMES == SHIPPED


def test_unknown_name_says_the_nearest() -> None:
    """A misspelt dataflow is a ConfigError with a hint and the list."""
    with pytest.raises(ConfigError, match="did you mean 'weight_stationary'") as caught:
        catalogue.get("wieght_stationary")
    assert all(name in str(caught.value) for name in SHIPPED)


def test_one_file_adds_a_dataflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in a plugin directory is listed and works."""
    plugin(tmp_path, monkeypatch, PLUGIN)
    assert catalogue.names() == tuple(sorted((*SHIPPED, "mine")))
    extents, array = {"m": 5, "n": 6, "k": 7}, ArrayShape(2, 3)
    ours, theirs = (catalogue.get(name).fold for name in ("mine", "weight_stationary"))
    assert ours(NEST, extents, array, accumulate=True) == theirs(NEST, extents, array, accumulate=True)


def test_incomplete_file_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin without HELD and registers is named with both."""
    lacking = PLUGIN.replace("HELD, OPTIONS, fanouts, registers", "OPTIONS, fanouts")
    plugin(tmp_path, monkeypatch, lacking)
    with pytest.raises(ConfigError, match=r"mine\.py: is no dataflow: it does not define HELD, registers;"):
        catalogue.get("mine")


@pytest.mark.parametrize("name", sorted({*NAMES, WINDOWED}))
def test_description_is_usable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One-line summary, held roles with a register each, two axes of the array's size."""
    monkeypatch.setenv("ARCHSIM_PLUGINS", str(PLUGINS))
    dataflow = catalogue.get(name)
    assert dataflow.SUMMARY
    assert "\n" not in dataflow.SUMMARY
    rows, cols = dataflow.fanouts(3, 5)
    assert (rows["axis"], rows["size"], cols["axis"], cols["size"]) == ("rows", 3, "cols", 5)
    kept = {role for file in dataflow.registers(BITS, ArrayShape(3, 5)) for role in file["keeps"]}
    held = set(catalogue.held(dataflow))
    assert held and held <= kept
    shared = {role for axis in (rows, cols) for role in (*axis["multicast"], *axis["reduce"])}
    assert shared <= {"inputs", "weights", "partials"}
    stated = catalogue.spread_of(name, NEST, ArrayShape(3, 5)) is not None
    assert stated or not held & shared, "what stays in a PE is shared along an axis, so it must state what it spreads"


@pytest.mark.parametrize(
    ("name", "array", "sizes"),
    [
        ("weight_stationary", ArrayShape(2, 2), {"weights": 1, "inputs": 1, "partials": 4}),
        ("weight_stationary", ArrayShape(2, 2, TWO, True), {"weights": 2, "inputs": 1, "partials": 4}),
        ("input_stationary", ArrayShape(2, 2, Fraction(4), True), {"inputs": 4, "weights": 2, "partials": 4}),
        ("output_stationary", ArrayShape(2, 2, TWO), {"partials": 4, "inputs": 1, "weights": 1}),
        ("dot_product", ArrayShape(2, 2, Fraction(1, 2)), {"weights": 1, "inputs": 1}),
        ("register_blocked", ArrayShape(2, 2, TWO, block=3), {"partials": 36, "inputs": 3, "weights": 3}),
    ],
)
def test_register_sizes(name: str, array: ArrayShape, sizes: dict[str, int]) -> None:
    """Values per PE x bits, rounded up to bytes (4-bit factors, 32-bit sums)."""
    files = catalogue.get(name).registers(BITS, array)
    assert {file["keeps"][0]: file["size_bytes"] for file in files} == sizes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("weight_double_buffer", True, "true"), ("fold_overlap", True, "true"), ("load_rows", 2, "2"), ("block", 2, "2")],
)
def test_option_without_meaning_is_refused(name: str, option: str, value: int, said: str) -> None:
    """No option is silently ignored."""
    dataflow = catalogue.get(name)
    array = ArrayShape(2, 2, **{option: value})  # type: ignore[arg-type]
    extents = {"m": 9, "n": 9, "k": 9}
    if option in dataflow.OPTIONS:
        plain = dataflow.fold(NEST, extents, ArrayShape(2, 2), accumulate=False)
        fold = dataflow.fold(NEST, extents, array, accumulate=False)
        if option == "block":
            assert all(fold.streams[name].accesses < plain.streams[name].accesses for name in ("a", "b"))
        else:
            assert fold.cycles < plain.cycles
        return
    with pytest.raises(ConfigError, match=f"{option}: {said}' has no meaning for dataflow '{name}'"):
        dataflow.fold(NEST, extents, array, accumulate=False)
    with pytest.raises(ConfigError, match=option):
        dataflow.registers(BITS, array)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("extents", [{"m": 1, "n": 1}, {"m": 1, "n": 0, "k": 1}, {"m": -3, "n": 1, "k": 1}])
def test_missing_or_empty_extent(name: str, extents: dict[str, int]) -> None:
    """The dim without a positive extent is named."""
    bad = next(dim for dim in ("m", "n", "k") if extents.get(dim, 0) < 1)
    with pytest.raises(ModelError, match=f"'{bad}' needs an extent >= 1"):
        catalogue.get(name).fold(NEST, extents, ArrayShape(2, 2), accumulate=False)


def test_a_block_of_sums_reads_operands_once() -> None:
    """By hand: 40 x 70 sums of 9 steps, blocks of 16 x 32 in parts of 4 x 8: 10 x 9 parts of 9 cycles; the inputs are
    read for each of 3 blocks of columns, the weights for each of 3 blocks of rows."""
    extents, array = {"m": 40, "n": 70, "k": 9}, ArrayShape(4, 8, block=4)
    fold = catalogue.get("register_blocked").fold(NEST, extents, array, accumulate=True)
    assert (fold.cycles, fold.cycles_stream) == (10 * 9 * 9, 10 * 9 * 9)
    streams = {name: stream.accesses for name, stream in fold.streams.items()}
    assert streams == {"a": 3 * 40 * 9, "b": 3 * 9 * 70, "acc_read": 40 * 70, "acc_write": 40 * 70}
    found = fold.inner_actions
    macs = 40 * 70 * 9
    columns, rows = 8 + 8 + 6, 4 + 4 + 4  # of PEs, in blocks of 32, 32 and 6 columns, of 16, 16 and 8 rows
    assert found["register_read.a"] == found["register_read.b"] == found["mac"] == macs
    assert found["register_write.a"] == found["wire.a"] == 40 * 9 * columns
    assert found["register_write.b"] == found["wire.b"] == 9 * 70 * rows
    assert found["register_read.acc"] == found["register_write.acc"] == 40 * 70 * 10
    assert found["wire.acc"] == 2 * 40 * 70


def test_impossible_shapes() -> None:
    """Sizes below 1, rates of 0 and a dim in two parts are refused."""
    for rows, cols, rate in ((0, 1, 1), (1, -1, 1), (1, 1, 0), (1, 1, -2)):
        with pytest.raises(ConfigError, match="found"):
            ArrayShape(rows, cols, Fraction(rate))
    with pytest.raises(ModelError, match="twice"):
        Nest(batch=("c",), m=("p",), n=(), k=("c",))


@pytest.mark.parametrize(
    ("rate", "pack", "cycles"),
    [("1", 1, 7), ("1/2", 1, 14), ("1/4", 1, 28), ("2/3", 1, 11), ("2", 2, 7), ("3/2", 2, 10), ("8", 8, 7)],
)
def test_rate(rate: str, pack: int, cycles: int) -> None:
    """A rate is met by packing along the reduction and by the pace of steps: here 7 steps."""
    array = ArrayShape(4, 4, Fraction(rate))
    assert (array.pack, array.run_cycles(7)) == (pack, cycles)
    assert array.macs_per_cycle == 16 * Fraction(rate)


def test_one_by_hand() -> None:
    """Weight-stationary 5 x 3 x 4 on 2 x 2, base: 2 x 2 folds of 2 + 5 + 2 cycles."""
    extents = {"m": 5, "n": 3, "k": 4}
    fold = catalogue.get("weight_stationary").fold(NEST, extents, ArrayShape(2, 2), accumulate=True)
    assert (fold.cycles_load, fold.cycles_fill, fold.cycles_stream, fold.cycles_drain) == (8, 4, 20, 4)
    assert fold.cycles == 36
    assert fold.streams == {
        "a": EdgeStream(2 * 5 * 4, "read"),
        "b": EdgeStream(4 * 3, "read"),
        "acc_read": EdgeStream(2 * 5 * 3, "read"),
        "acc_write": EdgeStream(2 * 5 * 3, "write"),
    }
    assert fold.inner_actions["mac"] == 60
    assert fold.inner_actions["register_write.b"] == 3 * 2 * (1 + 2)  # each column loads two rows, twice
