"""Entries as object files: put into memory and called without Numba, as compiled code calls them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from archsim.base import entries, machine_code, native, sources
from archsim.base.jit import entry, njit
from archsim.base.parts import CompiledEntry
from archsim.base.words import UnknownKindError, described, in_memory, text_of

fits = pytest.mark.skipif(not native.FITS, reason="object files of this machine are not read")


class Pair(NamedTuple):
    """Two parts of a value."""

    cells: Any
    share: float


@entry
@njit
def _mixed(cells: Any, pair: Any, number: int, fraction: float, flag: bool) -> tuple[int, float, bool]:
    """What of each argument arrives."""
    cells[0] = number
    return int(cells[1] + pair.cells[0, 1]), fraction + pair.share, not flag


@entry
@njit
def _counted(step: int) -> int:
    found = 0
    for number in range(0, 10, step):
        found += number
    return found


@entry
@njit
def _nothing(cells: Any) -> None:
    cells[0] += 1


@entry
@njit
def _of_table(kind: Any, table: int, a: int, b: int, c: int) -> int:
    """As entries of models are called, by address."""
    return table + a + b + c


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Entries are kept in a folder of their own, and forgotten."""
    for each in (_mixed, _counted, _nothing, _of_table):
        monkeypatch.setattr(each, "place", tmp_path)
        monkeypatch.setattr(each, "_is_native", native.FITS)
        monkeypatch.setattr(each, "_calls", {})
        monkeypatch.setattr(each, "_codes", {})
    return tmp_path


def called() -> tuple[Any, list[int]]:
    """What the entry of many kinds says, and what it wrote."""
    cells = np.arange(3)
    pair = Pair(np.arange(4.0).reshape(2, 2), 0.25)
    return _mixed(cells, pair, -7, 0.5, False), cells.tolist()


def test_arguments_and_results_of_all_kinds_arrive() -> None:
    assert called() == ((2, 0.75, True), [-7, 1, 2])
    assert _nothing(cells := np.zeros(2, np.int32)) is None and cells.tolist() == [1, 0]


@fits
def test_what_is_kept_is_called_as_what_was_compiled(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = called()
    (file,) = place.rglob("*.code")
    monkeypatch.setattr(_mixed, "_calls", {})
    monkeypatch.setattr(_mixed, "_codes", {})
    monkeypatch.setattr(native, "keep", None)  # nothing is compiled again
    assert called() == first and [*place.rglob("*.code")] == [file]


@fits
def test_what_is_in_memory_is_not_put_there_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for the address of an entry, or calls it with other values of the same kinds."""
    loaded: list[bytes] = []
    load = machine_code.load
    monkeypatch.setattr(machine_code, "load", lambda code: loaded.append(code) or load(code))
    addresses = {_of_table.address((np.zeros(2), number)) for number in range(3)}  # type: ignore[attr-defined]
    assert len(addresses) == 1
    _nothing(np.zeros(2))
    _nothing(np.ones(3))
    assert len(loaded) == 2


@fits
def test_what_compiled_code_raises_is_raised() -> None:
    assert _counted(3) == 18
    with pytest.raises(ValueError, match="range"):
        _counted(0)


@fits
@pytest.mark.parametrize("damage", [lambda text: text[:-1], lambda text: b"", lambda text: text[:-1] + b"x"])
def test_a_damaged_file_is_compiled_again(
    damage: Any, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert _counted(3) == 18
    (file,) = place.rglob("*.code")
    file.write_bytes(damage(file.read_bytes()))
    monkeypatch.setattr(_counted, "_calls", {})
    monkeypatch.setattr(_counted, "_codes", {})
    monkeypatch.setattr(entries, "_told", {})
    assert _counted(3) == 18 and native.read(file, place) is not None
    assert "compiled again" in capsys.readouterr().err


@fits
def test_what_cannot_be_put_into_memory_is_numbas_and_compiled_once(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(native._RESULTS, "int64")
    assert _counted(3) == 18
    assert len([*place.rglob("*.code")]) == len([*place.rglob("*.nbi")]) == 1
    monkeypatch.setattr(_counted, "_calls", {})
    monkeypatch.setattr(_counted, "_codes", {})
    monkeypatch.setattr(native, "keep", None)  # nothing is compiled again
    assert _counted(3) == 18


@fits
def test_nothing_is_kept_when_sources_have_changed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "are_as_read", lambda: False)
    assert _counted(3) == 18
    assert not [*place.rglob("*.code")] and not [*place.rglob("*.nbi")]


@fits
def test_settings_of_numba_that_change_no_code_share_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = set()
    for name in ("NUMBA_NUM_THREADS", "NUMBA_CACHE_DIR", "NUMBA_OPT"):
        monkeypatch.setenv(name, "1")
        native._processor.cache_clear()
        files.add(native.file_of(_counted.py_func, place, ""))  # type: ignore[attr-defined]
    monkeypatch.undo()
    native._processor.cache_clear()
    assert len(files) == 2


@fits
def test_what_is_no_object_file_of_this_machine_is_refused() -> None:
    for code in (b"", b"\x7fELF\x01\x01" + bytes(64), b"MZ" + bytes(80)):
        with pytest.raises(machine_code.UnloadableError):
            machine_code.load(code)


@fits
def test_a_symbol_that_nobody_has_is_refused() -> None:
    with pytest.raises(machine_code.UnloadableError, match="no_such_function_anywhere"):
        machine_code._of_c_library("no_such_function_anywhere")
    assert machine_code._of_c_library("memset") != 0


@fits
@pytest.mark.slow
def test_a_process_that_finds_its_entries_imports_no_compiler(place: Path) -> None:
    """The next process of the same command has neither Numba nor LLVM."""
    script = place / "adding.py"
    script.write_text(
        "import sys\nimport numpy as np\nfrom archsim.base.jit import entry, njit\n"
        "@entry\n@njit\ndef add(cells, number):\n    return cells[0] + number\n"
        "print(add(np.arange(3) + 4, 5), 'numba' in sys.modules, 'llvmlite' in sys.modules)\n"
    )
    env = {**os.environ, "ARCHSIM_CACHE": str(place / "cache"), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    env.pop("ARCHSIM_NO_CACHE", None)
    said = [
        subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert said == [["9", "True", "True"], ["9", "False", "False"]]


def test_kinds_tell_what_numba_tells_apart() -> None:
    """Layout, dims, types, whether an array may be written, and the classes of tuples."""
    cells = np.zeros((2, 3))
    locked = np.zeros((2, 3))
    locked.flags.writeable = False
    values = [
        cells, np.asfortranarray(cells), cells[:, ::2], cells[0], cells.astype(np.int32), locked, 1, 1.0, True,
        (1, 1.0), (1.0, 1), Pair(1, 1.0), np.zeros(2, np.dtype([("a", np.int32)])),
    ]  # fmt: skip
    texts = []
    for value in values:
        kinds: list[Any] = []
        described((value,), kinds, [])
        texts.append(text_of(kinds))
    assert len(set(texts)) == len(texts)


def test_words_are_how_numba_lays_values_out() -> None:
    cells = np.arange(6, dtype=np.int32).reshape(2, 3)
    words: list[Any] = []
    described((Pair(cells, 0.5), 3), [], words)
    assert words == [0, 0, 6, 4, cells.ctypes.data, 2, 3, 12, 4, 0.5, 3]
    assert in_memory([1, 0.5]) == [1, int(np.float64(0.5).view(np.int64))]


@pytest.mark.parametrize("value", ["text", None, 1 << 63, np.float32(1)])
def test_what_has_no_words_is_left_to_numba(value: Any) -> None:
    with pytest.raises(UnknownKindError):
        described((value,), [], [])


def test_entries_stay_functions_of_their_names() -> None:
    made: Any = _mixed
    assert (made.__name__, made.__doc__) == ("_mixed", "What of each argument arrives.")
    assert isinstance(made, CompiledEntry)
