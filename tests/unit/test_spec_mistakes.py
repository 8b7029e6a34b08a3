"""Mistakes planted in a chip file: each message has file:line, key path, value, what is allowed, nearest name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, NotBuiltError
from archsim.spec import load

GOOD = """\
name: test_chip
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
dtypes: {weights: int8, inputs: int8, outputs: int8, accumulate: int32}
hierarchy:
  - host: {launch: 2 us, depth: 2, issue: 0.2 us, link: 16 GB/s, compute: 50 GFLOP/s}
  - dram:
      name: dram
      standard: lpddr5
      speed: 6400 MT/s
      width: 16 b
      channels: 4
      capacity: 8 GiB
      keeps: all
  - sram:
      name: l1
      size: 256 KiB
      banks: 8
      word: 32 B
      ports: {read: 1, write: 1}
      keeps: [inputs, weights, outputs]
      slots: 2
  - sram: {name: acc, size: 64 KiB, banks: 4, word: 64 B, keeps: [partials]}
  - parallel:
      - array:
          name: mxu
          shape: [16, 16]
          dataflow: weight_stationary
          rates: {int8: 1, bf16: 1/2}
      - vector:
          name: vpu
          lanes: 64
"""


CONTROLLED = """standard: lpddr5
      speed: 6400 MT/s
      width: 16 b
      channels: 4
      capacity: 8 GiB
      keeps: all
"""
CONSTANT = """standard: constant
      bandwidth: 1 GB/s
      capacity: 8 GiB
      keeps: all
  - dma: {requests: 4}
"""


@dataclass(frozen=True)
class Mistake:
    """Replace ``old`` by ``new``; the message is at ``line`` and contains every one of ``says``."""

    name: str
    old: str
    new: str
    line: int
    says: tuple[str, ...]


def mistake(name: str, old: str, new: str, line: int, *says: str) -> Mistake:
    return Mistake(name, old, new, line, says)


ABOVE_ACC = "  - vector: {name: v, lanes: 4}\n  - sram: {name: acc"
MISTAKES = [
    mistake("misspelt key", "banks: 8", "bansk: 8", 18, "l1.bansk", "unknown key 'bansk'", "did you mean 'banks'?"),
    mistake("misspelt top-level key", "clock: 1", "clok: 1", 3, "clok", "unknown key", "did you mean 'clock'?"),
    mistake("key of another part", "size: 256 KiB", "capacity: 256 KiB", 17, "l1.capacity", "did you mean 'size'?"),
    mistake("misspelt value", "accumulate: int32", "accumulate: int23", 4, "dtypes.accumulate", "'int23'", "'int32'?"),
    mistake("misspelt role", "[inputs, weights,", "[inputs, weihgts,", 21, "l1.keeps", "'weihgts'", "'weights'?"),
    mistake("misspelt part kind", "- vector:", "- vektor:", 30, "vektor", "allowed dram, cache, sram", "'vector'?"),
    mistake("wrong unit", "clock: 1 GHz", "clock: 1 GiB", 3, "clock", "'1 GiB'", "Hz, kHz, MHz, GHz"),
    mistake("unit in lower case", "256 KiB", "256 kib", 17, "l1.size", "'256 kib'", "did you mean 'KiB'?"),
    mistake("clock for transfers", "6400 MT/s", "3200 MHz", 10, "dram.speed", "'3200 MHz'", "MT/s, GT/s"),
    mistake("bare number", "size: 256 KiB", "size: 262144", 17, "l1.size", "262144", "bare number", "KiB, MiB"),
    mistake("negative size", "size: 256 KiB", "size: -256 KiB", 17, "l1.size", "'-256 KiB'", "negative", "KiB"),
    mistake("negative count", "banks: 8", "banks: -8", 18, "l1.banks", "found -8", "1 to 65536"),
    mistake("zero", "channels: 4", "channels: 0", 12, "dram.channels", "found 0", "1 to 1024"),
    mistake("zero size", "size: 256 KiB", "size: 0 KiB", 17, "l1.size", "'0 KiB'", "1 B to 16 TiB"),
    mistake("infinite", "clock: 1 GHz", "clock: .inf", 3, "clock", "'.inf'", "GHz"),
    mistake("not a number", "bf16: 1/2", "bf16: .nan", 29, "mxu.rates.bf16", "'.nan'", "1/2"),
    mistake("denominator zero", "bf16: 1/2", "bf16: 1/0", 29, "mxu.rates.bf16", "'1/0'", "denominator 0"),
    mistake("duplicate key", "banks: 8", "size: 1 MiB", 18, "duplicate key 'size'", "first at line 17"),
    mistake("duplicate name", "name: acc", "name: l1", 23, "l1.name", "'l1'", "line 16", "unique"),
    mistake("missing section", "clock: 1 GHz\n", "", 1, "clock: missing", "1 kHz to 100 GHz"),
    mistake("missing key", "      word: 32 B\n", "", 15, "l1.word: missing", "1 B to 64 KiB"),
    mistake("empty value", "channels: 4", "channels:", 12, "dram.channels", "found nothing", "1 to 1024"),
    mistake("wrong type", "banks: 8", "banks: many", 18, "l1.banks", "'many'", "whole numbers"),
    mistake("list for a mapping", "{read: 1, write: 1}", "[1, 1]", 20, "l1.ports", "a list", "read, write, shared"),
    mistake("text for a list", "shape: [16, 16]", "shape: 16x16", 27, "mxu.shape", "'16x16'", "a list of 2"),
    mistake("sandwiched folded level", "slots: 2", "filled_by: array", 23, "acc", "folded 'l1'", "filled_by: array"),
    mistake("min > max", "issue: 0.2 us", "issue: 3 us", 6, "host.issue", "'3 us'", "0 s to 2 us"),
    mistake("word wider than bank", "word: 32 B", "word: 64 KiB", 19, "l1.word", "'64 KiB'", "1 B to 32 KiB"),
    mistake("misspelt interleave", "slots: 2", "interleave: xro", 22, "l1.interleave", "'xro'", "word, xor", "'xor'?"),
    mistake("block of half a word", "slots: 2", "interleave: 48 B", 22, "l1.interleave", "'48 B'", "multiple of the"),
    mistake("block beyond a bank", "slots: 2", "interleave: 64 KiB", 22, "l1.interleave", "'64 KiB'", "32 KiB (size /"),
    mistake("hash of 6 banks", "banks: 8", "interleave: xor\n      banks: 6", 18, "l1.interleave", "power of two"),
    mistake("padding in bytes", "slots: 2", "padding: 32 B", 22, "l1.padding", "'32 B'", "whole numbers 0 to"),
    mistake("padding of a role not kept", "slots: 2", "padding: {kv: 1}", 22, "l1.padding", "'kv'", "inputs, weights"),
    mistake("ports of nobody", "write: 1}", "write: 1, dam: {read: 1}}", 20, "l1.ports.dam", "did you mean 'dma'?"),
    mistake("own ports, none", "write: 1}", "write: 1, dma: {}}", 20, "l1.ports.dma", "found no port", "{read: N}"),
    mistake("own ports of both kinds", "1}", "1, dma: {shared: 1, read: 1}}", 20, "l1.ports.dma", "`shared` beside"),
    mistake("unknown dataflow", "weight_stationary", "weight_stationery", 28, "mxu.dataflow", "'weight_stationary'?"),
    mistake("no such map", "channels: 4", "address_map: RoRa", 12, "dram.address_map", "'RoRa'", "RoRaBaCoBg"),
    mistake("part of a map", "channels: 4", "address_map: row bank", 12, "dram.address_map", "no bankgroup"),
    mistake("timeout of open rows", "channels: 4", "row_timeout: 50 ns", 12, "dram.row_timeout", "rows: timeout"),
    mistake("queue beyond the kernel", "channels: 4", "read_queue: 129", 12, "dram.read_queue", "1 to 128"),
    mistake("no requests", "channels: 4", "requests: 0", 12, "dram.requests", "found 0", "1 to 65536"),
    mistake("requests of no burst", CONTROLLED, CONSTANT, 13, "dma.requests", "constant", "no bursts"),
    mistake("unknown DRAM standard", "lpddr5", "lpdr5", 9, "dram.standard", "'lpdr5'", "did you mean 'lpddr5'?"),
    mistake("speed the standard lacks", "6400 MT/s", "6401 MT/s", 10, "dram.speed", "6401", "6400"),
    mistake("unknown technology", "node: 7nm", "node: 2nm", 2, "technology.node", "'2nm'", "7nm"),
    mistake("tab", "      banks: 8", "\tbanks: 8", 18, "tab", "allowed spaces"),
    mistake("role without a place", "keeps: [partials]", "keeps: [kv]", 14, "dram.keeps", "'partials'", "sram below"),
    mistake("dtype without a rate", "inputs: int8", "inputs: fp8", 29, "mxu.rates", "fp8xint8", "bf16, int8"),
    mistake("slots of a role not kept", "slots: 2", "slots: {kv: 2}", 22, "l1.slots", "'kv'", "inputs, weights"),
    mistake("zero slots", "slots: 2", "slots: 0", 22, "l1.slots", "found 0", "1 to 1024"),
    mistake("constant-rate key", "channels: 4", "bandwidth: 1 GB/s", 12, "dram.bandwidth", "speed, width"),
    mistake("name of a key", "name: acc", "name: clock", 23, "clock.name", "top-level key"),
    mistake("two keys in a part", "  - host: {", "  - dma: {}\n    host: {", 6, "hierarchy[0]", "2 keys (dma, host)"),
    mistake("memory below a leaf", "  - sram: {name: acc", ABOVE_ACC, 24, "acc", "below the vector 'v'", "parallel"),
    mistake("bare estimate", "lanes: 64", "source: estimated\n          lanes: 64", 32, "vpu.source", "reasoning"),
    mistake("source of nothing", "lanes: 64", "lanes: 64\n          sources: {lane: x}", 33, "vpu.sources", "'lanes'?"),
    mistake("broken YAML", "[16, 16]", "[16, 16", 28, "not YAML"),
]  # fmt: skip


def message(tmp_path: Path, text: str) -> str:
    path = tmp_path / "chip.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load.load(path)
    assert error.value.exit_code == 2
    return str(error.value).replace(f"{tmp_path}/", "")


def test_the_good_chip_is_good(tmp_path: Path) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(GOOD)
    assert load.load(path).name == "test_chip"


@pytest.mark.parametrize("case", MISTAKES, ids=[case.name for case in MISTAKES])
def test_mistakes(tmp_path: Path, case: Mistake) -> None:
    assert GOOD.count(case.old) >= 1
    found = message(tmp_path, GOOD.replace(case.old, case.new, 1))
    assert f"chip.yaml:{case.line}:" in found, found
    for words in case.says:
        assert words in found, found


def test_there_are_thirty_of_them() -> None:
    assert len(MISTAKES) >= 30


def test_all_problems_of_a_file_in_one_message(tmp_path: Path) -> None:
    text = GOOD.replace("banks: 8", "banks: 0").replace("clock: 1 GHz", "clock: 1").replace("lanes: 64", "lane: 64")
    found = message(tmp_path, text)
    assert found.startswith("3 problems:")
    order = ["3:1: clock", "18:7: l1.banks", "32:11: vpu.lane"]
    assert sorted(order, key=found.index) == order


MISSPELT = [
    ("size: 256 KiB", "sise: 256 KiB\n      sources: {size: a data sheet}", "17:7: l1.sise: unknown key 'sise'"),
    ("size: 256 KiB", "bytes: 256 KiB", "17:7: l1.bytes: unknown key 'bytes'"),
    ("clock: 1 GHz", "clok: 1 GHz", "3:1: clok: unknown key 'clok'"),
    ("node: 7nm", "nod: 7nm", "2:14: technology.nod: unknown key 'nod'"),
]


@pytest.mark.parametrize(("old", "new", "says"), MISSPELT, ids=[case[1] for case in MISSPELT])
def test_a_misspelt_key_is_told_once(tmp_path: Path, old: str, new: str, says: str) -> None:
    """What is missing for that reason, and what speaks of it, is not told beside it."""
    found = message(tmp_path, GOOD.replace(old, new, 1))
    assert found.startswith(f"chip.yaml:{says}") and "\n" not in found


def test_what_else_is_missing_is_told(tmp_path: Path) -> None:
    text = GOOD.replace("size: 256 KiB", "sise: 256 KiB", 1).replace("      word: 32 B\n", "", 1)
    found = message(tmp_path, text)
    assert "2 problems:" in found and "l1.word: missing" in found and "l1.size" not in found
    assert "(did you mean 'size'?)" in found


PRIVATE = "sram: {name: v, size: 1 KiB, word: 4 B, keeps: [kv]}"
NETWORK = "noc: {name: mesh, topology: mesh, shape: [2, 2], link: 32 B}"
LATER = [
    ("  - sram: {name: acc", "  - link: {}\n  - sram: {name: acc", "part kind 'link' is not built yet", 23),
    ("  - sram: {name: acc", "  - fanout: {size: 4}\n  - sram: {name: acc", "part kind 'fanout' is not built", 23),
    ("slots: 2", "from: dram", "l1.from: key 'from' is not built yet", 22),
    ("      - vector:", f"      - {PRIVATE}\n      - vector:", "a memory inside parallel is not built yet", 30),
    ("      - vector:", f"      - {NETWORK}\n      - vector:", "a network inside parallel is not built yet", 30),
    ("      - vector:", "      - parallel: []\n      - vector:", "parallel inside parallel is not built yet", 30),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "says", "line"), LATER, ids=[case[2] for case in LATER])
def test_what_is_not_built_says_so(tmp_path: Path, old: str, new: str, says: str, line: int) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(NotBuiltError, match=says) as error:
        load.load(path)
    assert f"chip.yaml:{line}:" in str(error.value)
    assert error.value.exit_code == 2


OPTIONS = [
    ({"dram.chanels": 4}, "--set dram.chanels: no such key path", "did you mean 'dram.channels'?"),
    ({"l2.size": "1 MiB"}, "l2.size", "did you mean 'l1.size'?"),
    ({"name": "other"}, "--set name", "no such key path"),
    ({"dram.channels": 0}, "dram.channels: found 0", "1 to 1024"),
    ({"l1.size": 4096}, "l1.size: found 4096, a bare number", "KiB"),
    ({"mxu.rates.int9": 1}, "mxu.rates.int9", "did you mean 'int8'?"),
    ({"clock": "fast"}, "--set: clock: found 'fast'", "GHz"),
]


@pytest.mark.parametrize(("values", "first", "second"), OPTIONS, ids=[str(case[0]) for case in OPTIONS])
def test_options(tmp_path: Path, values: dict[str, object], first: str, second: str) -> None:
    with pytest.raises(ConfigError) as error:
        load.loads(GOOD, values)
    assert first in str(error.value)
    assert second in str(error.value)


@pytest.mark.parametrize("text", ["dram.channels", "=4", "dram.channels=", "a=[1", "a=!!python/name:os.system"])
def test_assignments_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        load.assignments([text])


def test_a_path_may_be_given_once() -> None:
    with pytest.raises(ConfigError, match="given twice"):
        load.assignments(["clock=1 GHz", "clock=2 GHz"])
