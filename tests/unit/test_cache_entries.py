"""Entries of caches are believed only as they were written; whatever goes wrong costs the cache, never the result."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archsim.base import caches, entries
from archsim.base.measured import MeasuredIntegers
from archsim.base.registry import PLUGINS_VARIABLE
from archsim.ir.asm.printer import print_program
from archsim.ir.mapping import Loop
from archsim.ir.workload import Workload
from archsim.lab.run import run
from archsim.lab.run.job import Job
from archsim.memory.dram.sampling import MEASURED
from mapper.compile import Compiled, Options, compile_model
from mapper.given.judge import kept_fault
from mapper.search import exhaustive
from mapper.search.mapping_cache import SEAL, MappingCache
from tests.tools.layers import Net, small_chip


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process of its own."""
    monkeypatch.setattr(entries, "_told", {})


def model() -> Workload:
    net = Net(np.random.default_rng(0))
    return net.done(net.conv(net.source("x", (1, 9, 9, 8)), "y", 8, 3, 1, (1, 1, 1, 1)))


def compiled(folder: Path | None) -> Compiled:
    return compile_model(model(), small_chip(), Options(cache=folder))


PLAIN = compiled(None)
LISTING = print_program(PLAIN.program)


def kept(folder: Path) -> Path:
    """The file of mappings that a compilation leaves."""
    compiled(folder)
    (file,) = (folder / "mappings").iterdir()
    return file


def edited(file: Path, change: Callable[[dict[str, Any]], object], seal: bool = False) -> None:
    """All entries changed, with or without their checksums."""
    found = json.loads(file.read_text())
    for key, entry in found.items():
        change(entry)
        if seal:
            content = {name: value for name, value in entry.items() if name != SEAL}
            entry[SEAL] = entries.seal(file.name, key, content)
    file.write_text(json.dumps(found))


def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Layers that are searched from now on."""
    names: list[str] = []

    def counted(problem: Any, *rest: Any) -> Any:
        names.append(problem.layer.name)
        return plain(problem, *rest)

    plain = exhaustive.search
    monkeypatch.setattr(exhaustive, "search", counted)
    return names


def loops(entry: dict[str, Any]) -> list[list[Any]]:
    return [node["loop"] for node in entry["nodes"] if "loop" in node]


def to_ones(entry: dict[str, Any]) -> None:
    """A legal mapping, and the worst: tiles of one output row, column and feature each."""
    for loop in loops(entry):
        loop[1] = 1
    entry["nodes"] = [node for node in entry["nodes"] if "keep" in node or node["loop"][1] == 1]


def swap(file: Path) -> None:
    """Every entry under the key of another."""
    found = json.loads(file.read_text())
    file.write_text(json.dumps(dict(zip(found, [*list(found.values())[1:], next(iter(found.values()))], strict=True))))


WRONG: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "cut short": lambda file: file.write_bytes(file.read_bytes()[:-40]),
    "no text": lambda file: file.write_bytes(b"\xff\xfe\x00"),
    "deep": lambda file: file.write_text("[" * 100_000),
    "a list": lambda file: file.write_text("[1, 2]"),
    "entries of numbers": lambda file: edit_values(file, 3),
    "entries without fields": lambda file: edit_values(file, {}),
    "edited": lambda file: edited(file, lambda entry: entry.update(bound_cycles=1)),
    "tiles of one": lambda file: edited(file, to_ones),
    "another key's": swap,
    "of no type, sealed": lambda file: edited(file, lambda entry: entry.update(nodes=[{"loop": ["c", "2", ""]}]), True),
    "no dim, sealed": lambda file: edited(file, lambda entry: entry.update(nodes=[{"loop": ["zz", 2, ""]}]), True),
    "tiles of nothing, sealed": lambda file: edited(
        file, lambda e: [loop.__setitem__(1, 0) for loop in loops(e)], True
    ),
    "no unit, sealed": lambda file: edited(file, lambda entry: entry.update(unit="nothing"), True),
    "kept nowhere, sealed": lambda file: edited(file, lambda entry: entry.update(nodes=[]), True),
    "too large, sealed": lambda file: edited(
        file, lambda e: [node["keep"].__setitem__(2, 10**9) for node in e["nodes"] if "keep" in node], True
    ),
}


def edit_values(file: Path, value: object) -> None:
    file.write_text(json.dumps(dict.fromkeys(json.loads(file.read_text()), value)))


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_mappings_are_dropped_with_one_warning_and_searched_again(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = kept(tmp_path)
    right = file.read_bytes()
    WRONG[wrong](file)
    again = searched(monkeypatch)
    found = compiled(tmp_path)
    assert print_program(found.program) == LISTING and found.mapping == PLAIN.mapping and again
    told = capsys.readouterr().err
    assert told.count("warning:") == 1 and str(file) in told and "worked out again" in told
    assert len(entries.told()) == 1
    assert file.read_bytes() == right
    again.clear()
    compiled(tmp_path)
    assert not again and capsys.readouterr().err == ""


def test_entries_are_those_of_their_chip_and_code(tmp_path: Path) -> None:
    """A file under another's name, which stands for the chip and the code that made it."""
    file = kept(tmp_path)
    cache = MappingCache(tmp_path, "f" * 64)
    assert cache._path is not None
    file.rename(cache._path)
    stale = MappingCache(tmp_path, "f" * 64)
    assert all(stale.get(key) is None for key in json.loads(cache._path.read_text()))
    assert len(entries.told()) == 1


def test_a_worse_mapping_with_the_figures_of_a_better_one_is_found_out() -> None:
    """Where others may write, the checksum proves nothing, so the figures are worked out again."""
    from mapper.layers import Layers
    from mapper.options import resolve_dtypes

    layers = Layers(model(), small_chip(), resolve_dtypes(small_chip(), {}), Options())
    problem, mapping = layers.map_layer(0, layers.residency(frozenset()))
    assert problem is not None
    judged = (layers.chip, layers.dtypes, layers.rules[problem.layer.name])
    assert kept_fault(problem, mapping, *judged, figures=True) == ""
    cut = tuple(replace(node, tile=1) if isinstance(node, Loop) else node for node in mapping.nodes)
    assert any(isinstance(node, Loop) for node in cut)
    assert kept_fault(problem, replace(mapping, nodes=cut), *judged, figures=False) == ""
    assert "cycles where it states" in kept_fault(problem, replace(mapping, nodes=cut), *judged, figures=True)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of folders")
def test_sealed_forgeries_in_a_folder_of_all_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(tmp_path)
    edited(file, to_ones, seal=True)
    file.parent.chmod(0o777)
    again = searched(monkeypatch)
    assert print_program(compiled(tmp_path).program) == LISTING and again
    assert "cycles where it states" in entries.told()[0]


def test_what_another_process_has_kept_meanwhile_stays(tmp_path: Path) -> None:
    first, second = (MappingCache(tmp_path, "a" * 64) for _ in range(2))
    mapping = replace(PLAIN.mapping.layers[0], layer="")
    first.put("one", mapping)
    first.save()
    second.put("two", mapping)
    second.save()
    both = MappingCache(tmp_path, "a" * 64)
    assert both.get("one") == both.get("two") == mapping


def failing(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_costs_the_cache_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of mappings and rates together one warning."""
    monkeypatch.setenv(caches.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(caches.OFF_VARIABLE, raising=False)
    plain = Path.open

    def opened(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        return failing() if "a" in mode else plain(path, mode, *rest, **named)

    monkeypatch.setattr(os, "replace", failing)
    monkeypatch.setattr(Path, "open", opened)
    assert print_program(compiled(tmp_path).program) == LISTING
    assert MeasuredIntegers(MEASURED, "part").numbers("rate", lambda: (7,)) == (7,)
    told = capsys.readouterr().err
    assert told.count("warning:") == 1 and "No space left on device" in told and "not kept" in told
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("place", ["cache", "cache/mappings"])
def test_a_folder_that_is_none_costs_the_cache(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("a file")
    assert print_program(compiled(tmp_path / "cache").program) == LISTING
    assert capsys.readouterr().err.count("warning:") == 1


RATES: dict[str, Callable[[bytes], bytes]] = {
    "edited": lambda line: line.replace(b" 23]", b" 24]"),
    "cut short": lambda line: line.rstrip()[:-2],
    "another key's": lambda line: line.replace(line.split(b'"')[1], b"0" * 32),
    "no numbers": lambda line: line.replace(b" 23]", b' "23"]'),
}


@pytest.mark.parametrize("wrong", RATES)
def test_wrong_rates_are_dropped_with_one_warning_and_measured_again(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(caches.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(caches.OFF_VARIABLE, raising=False)
    MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (1, 23))
    MeasuredIntegers(MEASURED, "part").numbers("b", lambda: (5,))
    (file,) = (tmp_path / "dram").iterdir()
    first, *others = [line for line in file.read_bytes().splitlines(keepends=True) if line.strip()]
    file.write_bytes(b"".join([*others, RATES[wrong](first)]))
    known = MeasuredIntegers(MEASURED, "part")
    assert known.numbers("b", lambda: (0,)) == (5,)
    assert "a" not in known._known and known.numbers("a", lambda: (1, 23)) == (1, 23)
    told = capsys.readouterr().err
    assert told.count("warning:") == 1 and "1 of 2 rates" in told
    assert MeasuredIntegers(MEASURED, "part").numbers("a", lambda: (0, 0)) == (1, 23)
    assert capsys.readouterr().err == ""


def test_sealed_rates_that_are_none_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of 1 / 0, or a sample of two numbers."""
    monkeypatch.setenv(caches.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.delenv(caches.OFF_VARIABLE, raising=False)
    for numbers in ((1, 0), (1,), (1, 2, 3)):
        MeasuredIntegers(MEASURED, numbers).numbers("pace", lambda numbers=numbers: numbers)
        assert MeasuredIntegers(MEASURED, numbers).numbers("pace", lambda: (1, 2), least=(1, 1)) == (1, 2)
        assert MeasuredIntegers(MEASURED, numbers).numbers("pace", lambda: (3, 4), least=(1, 1)) == (1, 2)
    assert len(entries.told()) == 3


def test_law_48_a_damaged_cache_changes_nothing_in_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Law 48: what was wrong with a cache is said on stderr; the summary is the same, byte for byte."""
    monkeypatch.setattr("archsim.lab.run.job.folder", lambda: tmp_path)
    job = Job(model(), small_chip())
    before = json.dumps(run.execute(job).summary)
    edited(next((tmp_path / "mappings").iterdir()), to_ones)
    assert json.dumps(run.execute(job).summary) == before
    assert capsys.readouterr().err.count("warning:") == 1


def test_mappings_are_of_the_plugins_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dataflow's file that is edited prices anew: what was searched with the old one is not found."""
    dataflow = tmp_path / "plugins" / "dataflows" / "mine.py"
    dataflow.parent.mkdir(parents=True)
    without = MappingCache(tmp_path, "f" * 64)._path
    monkeypatch.setenv(PLUGINS_VARIABLE, str(tmp_path / "plugins"))
    places = [without]
    for text in ("HELD = 'inputs'\n", "HELD = 'weights'\n"):
        dataflow.write_text(text)
        places.append(MappingCache(tmp_path, "f" * 64)._path)
    assert len(set(places)) == 3


@pytest.mark.parametrize("error", [OSError("a text of its own"), OSError(13, "Permission denied")])
def test_a_file_that_cannot_be_read_says_why(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(entries, "warn", lambda _, text: said.append(text))
    entries.unread(Path("kept"), error)
    assert said == [f"cache kept: cannot be read ({error.strerror or error}); {entries.AGAIN}"]
