"""Measured rates of DRAM parts on disk: found again, never taken for others, and the same with or without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from archsim.base import caches, measured
from archsim.base.measured import MeasuredIntegers
from archsim.facts.dram import catalogue
from archsim.facts.dram.address import DEFAULT, by_name
from archsim.facts.dram.device import ControllerPolicy
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.interface import RowList, Transfer, TransferCompletion
from archsim.memory.dram.sampling import MEASURED, PatternSampler

FAR_PS = 10**15


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(caches.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(caches.OFF_VARIABLE, raising=False)
    return tmp_path


def unmeasurable() -> tuple[int, ...]:
    raise AssertionError("measured again")


def files(folder: Path) -> list[Path]:
    return sorted((folder / "dram").glob("*.jsonl"))


def test_what_was_measured_is_found_again(cached: Path) -> None:
    assert MeasuredIntegers(MEASURED, "part").numbers("rate", lambda: (3, -(10**30))) == (3, -(10**30))
    assert MeasuredIntegers(MEASURED, "part").numbers("rate", unmeasurable) == (3, -(10**30))
    with pytest.raises(AssertionError, match="again"):
        MeasuredIntegers(MEASURED, "part").numbers("other rate", unmeasurable)
    with pytest.raises(AssertionError, match="again"):
        MeasuredIntegers(MEASURED, "other part").numbers("rate", unmeasurable)


def test_other_code_measures_anew(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MeasuredIntegers(MEASURED, "part").numbers("rate", lambda: (1,))
    monkeypatch.setattr(measured, "code_sha256", lambda sources: "changed")
    assert MeasuredIntegers(MEASURED, "part").numbers("rate", lambda: (2,)) == (2,)
    assert len(files(cached)) == 2


def test_the_code_is_that_of_the_model() -> None:
    """The controller's kernels and the sampler are in the hash that names a file."""
    assert all(module.startswith(MEASURED.sources) for module in (PatternSampler.__module__, FastDram.__module__))
    assert caches.code_sha256(MEASURED.sources) != caches.code_sha256(("archsim.memory.dram.compiled",))


def test_lines_that_were_cut_short_are_no_lines(cached: Path) -> None:
    first = MeasuredIntegers(MEASURED, "part")
    first.numbers("a", lambda: (1, 23))
    first.numbers("b", lambda: (4, 56))
    (file,) = files(cached)
    text = file.read_bytes().rstrip(b"\n")
    for end in range(len(text) - 1, text.index(b"4, 56"), -1):
        file.write_bytes(text[:end])
        again = MeasuredIntegers(MEASURED, "part")
        assert again.numbers("a", unmeasurable) == (1, 23)
        assert again.numbers("b", lambda: (7,)) == (7,)
        assert MeasuredIntegers(MEASURED, "part").numbers("b", unmeasurable) == (7,)


def test_a_file_that_is_no_text_is_begun_anew(cached: Path) -> None:
    MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (1,))
    (file,) = files(cached)
    file.write_bytes(b'\xff\xfe{}\n["a"\n17\n{"b": 1}\n')
    assert MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (2,)) == (2,)


@pytest.mark.parametrize(
    "line", ["[[1], 2]", "[" * 100_000, f'["{measured._digest("a")}", "x"]'], ids=["unhashable", "deep", "text"]
)
def test_lines_of_others_are_no_lines(cached: Path, line: str) -> None:
    MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (1,))
    (file,) = files(cached)
    file.write_text(line)
    assert MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (2,)) == (2,)


def test_a_large_file_is_begun_anew(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (1,))
    monkeypatch.setattr(measured, "MOST_BYTES", 8)
    assert MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (2,)) == (2,)


def test_a_cache_that_cannot_be_written_is_no_error(cached: Path) -> None:
    (cached / "dram").write_text("a file")
    assert MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (1,)) == (1,)
    assert (cached / "dram").read_text() == "a file"


def test_without_caches_nothing_is_written(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(caches.OFF_VARIABLE, "1")
    known = MeasuredIntegers(MEASURED, "part")
    assert known.numbers("a", lambda: (1,)) == known.numbers("a", unmeasurable) == (1,)
    assert not (cached / "dram").exists()


def fast() -> FastDram:
    part = catalogue.dram("ddr4", 2400, 64, 1, 1 << 30)
    return FastDram(part, ControllerPolicy(), by_name(DEFAULT, part.device), interleave_bytes=part.device.burst_bytes)


def ended(rows: RowList) -> list[TransferCompletion]:
    """Crowds of contiguous, strided and scattered transfers to their ends."""
    model, found = fast(), []
    regions = [Transfer(i, i % 2 == 1, i << 20, 4096, (8,), (65536,)) for i in range(5)]
    scattered = [Transfer(9, False, 0, 0, outstanding=4, rows=rows)]
    model.submit(0, [*regions, Transfer(5, False, 0, 1 << 16), *scattered])
    while model.next_event_ps() is not None:
        found += model.advance(FAR_PS)
    return found


def listed(stride: int) -> RowList:
    places = np.arange(64)
    return RowList(64, places * stride, np.full(64, 64), places, 4, 10**9)


@pytest.mark.slow
def test_law_48_the_same_ends_cold_warm_and_without(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 48: the fast model gives the same completions whatever was measured before."""
    cold, held = ended(listed(64)), files(cached)[0].read_bytes()
    measure: Callable[..., object] = PatternSampler._model
    monkeypatch.setattr(PatternSampler, "_model", lambda *_, **__: unmeasurable())
    assert ended(listed(64)) == cold and files(cached)[0].read_bytes() == held
    monkeypatch.setattr(PatternSampler, "_model", measure)
    monkeypatch.setenv(caches.OFF_VARIABLE, "1")
    assert ended(listed(64)) == cold


@pytest.mark.slow
def test_law_48_lists_of_a_kind_are_not_taken_for_one_another(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 48: of lists of one kind a run measures the first that it meets, whichever an earlier run has met."""
    ended(listed(64))
    after_others = ended(listed(1 << 17))
    monkeypatch.setenv(caches.OFF_VARIABLE, "1")
    assert ended(listed(1 << 17)) == after_others != ended(listed(64))
