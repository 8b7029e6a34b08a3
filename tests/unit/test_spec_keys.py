"""A key of a chip part is written once: one field more in a part's class, and every reader of chip files has it."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest

from archsim.base.errors import ConfigError
from archsim.spec import schema
from archsim.spec.keys import keys_of, texts
from archsim.spec.load import load, loads
from archsim.spec.memories import Cache, Memory
from archsim.spec.tree import inner_paths
from archsim.spec.value_domains import Domain
from tests.tools.commands import ROOT

CHIP = """
name: small
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: lpddr5, speed: 6400 MT/s, width: 16 b, channels: 4, capacity: 8 GiB, keeps: all}
  - noc: {name: mesh, topology: mesh, shape: [2, 2], link: 32 B, attach: {dram: [[0, 0]]}}
  - sram: {name: l1, size: 256 KiB, banks: 8, word: 16 B, keeps: all}
  - dma: {}
  - parallel:
      - array: {name: mxu, shape: [16, 16], rates: {int8: 1}}
      - vector: {name: vpu, lanes: 64}
"""


class OneMore(NamedTuple):
    """A field that a part gets: in which file and before which line; and what is then said of its key."""

    module: str
    before: str
    field: str
    part: str
    key: str
    good: str
    bad: str
    allowed: str
    kept: object
    usual: object
    section: str
    number: bool = True


COUNT = OneMore(
    "archsim.spec.architecture",
    "    merged: Annotated[",
    '    ahead_rows: Annotated[int, Key("ahead", d.count(0, 64), "rows that are fetched ahead")] = 7\n',
    "dma",
    "ahead",
    "9",
    "65",
    "whole numbers 0 to 64",
    9,
    7,
    "schema.Dma",
)
SIZE = OneMore(
    "archsim.spec.memories",
    '    banks: Annotated[int, Key("banks", d.count(1, 65536), "banks", of=_SRAM)]',
    '    line_buffer_bytes: Annotated[int, Key("ahead", d.whole(units.SIZE, "1 B", "4 KiB"), "a row ahead", of=_SRAM)]'
    " = 64\n",
    "l1",
    "ahead",
    "2 KiB",
    "8 KiB",
    "1 B to 4 KiB",
    2048,
    64,
    "schema_memory.Sram",
)
WORD = OneMore(
    "archsim.spec.memories",
    "    read_queue: Annotated[",
    '    ahead: Annotated[str, Key("ahead", d.choice("never", "always", "hit"), "rows opened early")] = "never"\n',
    "dram",
    "ahead",
    "always",
    "often",
    "never, always, hit",
    "always",
    "never",
    "schema_memory.Dram",
    number=False,
)
TIME = OneMore(
    "archsim.spec.architecture",
    "    weight_double_buffer: Annotated[",
    '    ahead_cycles: Annotated[int, cycles("ahead", "of a command that is known ahead")] = 0\n',
    "mxu",
    "ahead",
    "2 ns",
    "2 GHz",
    "cycles",
    2,
    0,
    "schema.Array",
)

FLITS = OneMore(
    "archsim.spec.network",
    "    header_flits: Annotated[",
    '    ahead_flits: Annotated[int | None, Key("ahead", d.count(1, 8), "flits that may run ahead")] = None\n',
    "mesh",
    "ahead",
    "4",
    "9",
    "whole numbers 1 to 8",
    4,
    None,
    "schema_noc.Noc",
)
SHOWN = "tests.tools.one_table"  # runs and shows the golden model
MORE = {"count": COUNT, "size": SIZE, "word": WORD, "time": TIME, "flits": FLITS}


class _Edited(SourceFileLoader):
    """Loads a file of the tree with one field more."""

    more: OneMore

    def get_code(self, fullname: str) -> CodeType | None:
        text = self.get_data(self.path).decode()
        matching = [line for line in text.splitlines(keepends=True) if line.startswith(self.more.before)]
        assert len(matching) == 1, f"{self.more.before!r} is the beginning of {len(matching)} lines"
        return compile(text.replace(matching[0], self.more.field + matching[0]), self.path, "exec", dont_inherit=True)


class _Finder:
    def __init__(self, more: OneMore) -> None:
        self.more = more

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.more.module:
            return None
        file = str(ROOT / f"{fullname.replace('.', '/')}.py")
        loader = _Edited(fullname, file)
        loader.more = self.more
        return spec_from_file_location(fullname, file, loader=loader)


def _new(module: str) -> bool:
    """Whether a module is archsim's, or holds what it imported from there."""
    return module.partition(".")[0] in ("archsim", "mapper") or module in ("tests.tools.chip_page", SHOWN)


@contextmanager
def edited(more: OneMore) -> Iterator[None]:
    """archsim imported anew, with a field more in one file; afterwards the one of before is back."""
    before = {name: module for name, module in sys.modules.items() if _new(name)}
    finder = _Finder(more)
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _new(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def field_name(more: OneMore) -> str:
    return more.field.partition(":")[0].strip()


def of_part(chip: Any, more: OneMore) -> Any:
    part = next(part for part in chip.parts() if part.name == more.part)
    return getattr(part.control if more is WORD else part, field_name(more))


@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
def test_one_field_is_a_key_everywhere(more: OneMore) -> None:
    path = f"{more.part}.{more.key}"
    plain = loads(CHIP)
    with pytest.raises(ConfigError, match="no such key path"):
        loads(CHIP, {path: more.good})
    with edited(more):
        front = importlib.import_module("archsim.spec.load")
        errors = importlib.import_module("archsim.base.errors")
        usual, chip = front.loads(CHIP), front.loads(CHIP, front.assignments([f"{path}={more.good}"]))
        assert of_part(usual, more) == more.usual and of_part(chip, more) == more.kept
        with pytest.raises(errors.ConfigError, match=more.allowed) as refused:
            front.loads(CHIP, front.assignments([f"{path}={more.bad}"]))
        assert path in str(refused.value)

        text = front.to_yaml(chip)
        assert front.loads(text) == chip and f"{more.key}: " in text
        assert (path in chip.sources) == more.number
        assert len({usual.sha256, chip.sha256}) == 2 and plain.sha256 != chip.sha256
        assert (plain.sha256 == usual.sha256) == (more.usual is None)  # a key without a value is not in the text

        known = json.loads(importlib.import_module("archsim.lab.files.schemas").schema("chip"))["$defs"]
        assert more.allowed in known[more.section]["properties"][more.key]["description"]
        page = importlib.import_module("tests.tools.chip_page").chip_page()
        assert page.count(f"| `{more.key}` |") == 1
    assert loads(CHIP) == plain


@pytest.mark.slow
def test_a_new_key_stands_where_chips_and_options_are_shown(tmp_path: Path) -> None:
    """In JSON, terminal, Markdown, HTML, a comparison and a sweep."""
    with edited(COUNT):
        importlib.import_module(SHOWN).check_key(tmp_path, f"{COUNT.part}.{COUNT.key}", (2, 3))


def test_a_key_that_a_file_states_in_the_part_itself_is_read() -> None:
    with edited(COUNT):
        front = importlib.import_module("archsim.spec.load")
        assert front.loads(CHIP.replace("dma: {}", "dma: {ahead: 3}")).dma.ahead_rows == 3


def test_every_section_has_the_keys_of_its_part() -> None:
    for kind, model in schema.PARTS.items():
        part = {"dram": Memory, "sram": Memory, "registers": Memory, "cache": Cache}.get(kind)
        if part is not None:
            assert {item.key.name for item in keys_of(part, kind)} | {"source", "sources"} == set(model.model_fields)


def test_what_a_domain_writes_it_reads_back() -> None:
    """Of every key of every part of the shipped chips that a domain alone says: text to value to text."""
    seen = 0
    for name in ("edge_npu", "simba", "mtia_v1"):
        for part in load(name).parts():
            for key, found in texts(part, part.kind):
                if isinstance(key.form, Domain):
                    assert key.form.written(key.form.convert(found)) == found
                    seen += 1
    assert seen > 200


def test_paths_below_a_section_are_those_of_its_keys_and_none_below_a_list() -> None:
    noc, array = schema.PARTS["noc"], schema.PARTS["array"]
    assert {"lanes", "rate", "coding", "latency", "energy"} <= set(inner_paths(noc, "phy"))
    assert inner_paths(array, "fanouts") == [] and inner_paths(array, "startup") == []
