"""Chips from text: resolution, values set by key path, canonical text, determinism."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.spec import load
from archsim.spec.architecture import ROLES, Architecture, Fanout, RegisterFile
from archsim.spec.dtypes import BITS
from archsim.spec.expand import ArrayFacts, Sugar
from archsim.spec.memories import PortSet
from archsim.spec.peaks import dram_bytes_per_s

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "chip.yaml"
SMALL = """\
name: small
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: constant, bandwidth: 25.6 GB/s, latency: 3.5 ns, capacity: 1 GiB, keeps: all}
  - sram: {name: l1, size: 64 KiB, banks: 4, word: 16 B, keeps: all}
  - parallel:
      - array: {name: mxu, shape: [4, 8], rates: {int8: 1, bf16: 0.5, int8xint4: 2}}
      - vector: {name: vpu, lanes: 16}
"""


def test_units_clocks_and_sugar_are_resolved() -> None:
    chip = load.loads(SMALL)
    dram, l1 = chip.memories
    assert dram.bytes_per_cycle == Fraction(128, 5)
    assert dram.latency_cycles == 4
    assert l1.bytes_per_cycle_of("dma", write=False) == 64
    assert l1.slots == dict.fromkeys(ROLES, 2)
    array = chip.arrays[0]
    assert array.dataflow == "weight_stationary"
    assert array.rate("int8", "int4") == 2
    assert array.rate("bf16", "bf16") == Fraction(1, 2)
    assert [fanout.size for fanout in array.fanouts] == [4, 8]
    assert {role for file in array.registers for role in file.keeps} >= {"weights"}
    assert chip.vectors[0].lanes == dict.fromkeys(BITS, 16)
    assert chip.dtypes["partials"] == "int32"
    assert chip.host is None
    assert chip.sources["clock"] == "user"
    assert chip.sources["mxu.sync_stages"] == "default"
    assert chip.sources["mxu.fanouts"] == "derived: dataflow weight_stationary"


def test_clocks_are_inherited_downwards() -> None:
    text = SMALL.replace("name: l1,", "name: l1, clock: 500 MHz,").replace("name: vpu,", "name: vpu, clock: 2 GHz,")
    clocks = {part.name: part.clock_hz // 10**6 for part in load.loads(text).parts()}
    assert clocks == {"dram": 1000, "l1": 500, "dma": 1000, "mxu": 500, "vpu": 2000}


def test_facts_can_come_from_a_callable() -> None:
    def facts(sugar: Sugar, bits: object) -> ArrayFacts:
        assert sugar[:3] == ("weight_stationary", 4, 8)
        return ArrayFacts(
            (Fanout("all", 32, (), ("partials",)),), (RegisterFile("r", ("weights",), 1),), ("fold_overlap",)
        )

    assert load.loads(SMALL, facts=facts).arrays[0].fanouts == (Fanout("all", 32, (), ("partials",)),)


def test_an_infinite_memory() -> None:
    chip = load.loads(SMALL.replace("25.6 GB/s", "infinite"))
    assert chip.memories[0].bytes_per_cycle is None
    assert dram_bytes_per_s(chip.memories[0]) is None
    assert load.loads(load.to_yaml(chip)) == chip


def test_replace_by_key_path() -> None:
    chip = load.load("edge_npu")
    faster = load.replace(chip, {"dram.channels": 8, "clock": "1.2 GHz", "mxu.shape": [64, 64], "l1.slots.weights": 3})
    assert faster.memory("dram").channels == 8
    assert faster.clock_hz == faster.memory("l1").clock_hz == faster.arrays[0].clock_hz == 1_200_000_000
    assert [fanout.size for fanout in faster.arrays[0].fanouts] == [64, 64]
    assert faster.memory("l1").slots["weights"] == 3
    assert faster.memory("l1").slots["inputs"] == 2
    assert faster.sources["dram.channels"] == "option: replace"
    assert faster.sources["dram.speed"] == chip.sources["dram.speed"]
    assert faster.sha256 != chip.sha256
    assert chip == load.load("edge_npu")


def test_replace_of_a_name_and_of_its_chip_agree() -> None:
    values = {
        "l1.size": "4 MiB",
        "mxu.dataflow": "input_stationary",
        "dtypes.inputs": "bf16",
        "dtypes.weights": "bf16",
    }
    assert load.replace("edge_npu", values) == load.replace(load.load("edge_npu"), values)


def test_a_constant_rate_does_not_change_with_the_clock() -> None:
    chip = load.replace(load.loads(SMALL), {"clock": "2 GHz"})
    assert dram_bytes_per_s(chip.memories[0]) == 25_600_000_000
    assert chip.memories[0].bytes_per_cycle == Fraction(64, 5)


def test_every_known_key_path_is_accepted() -> None:
    paths = load.key_paths("edge_npu")
    assert {
        "clock",
        "dtypes.weights",
        "dram.channels",
        "l1.ports.read",
        "host.launch",
        "technology.voltage",
    } <= set(paths)
    assert not {"name", "hierarchy", "l1.name", "l1.source"} & set(paths)


def test_assignments_are_read_as_yaml() -> None:
    values = load.assignments(["dram.channels=8", "clock = 2 GHz", "mxu.shape=[8, 8]"])
    assert values == {"dram.channels": 8, "clock": "2 GHz", "mxu.shape": [8, 8]}


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(1, 64),
    st.integers(1, 64),
    st.sampled_from(["output_stationary", "weight_stationary", "input_stationary"]),
    st.fractions(Fraction(1, 64), 4, max_denominator=64),
    st.integers(1, 10**7),
    st.integers(1, 8),
)
def test_random_chips_round_trip(rows: int, cols: int, flow: str, rate: Fraction, bandwidth: int, slots: int) -> None:
    """Canonical text is read back to the same chip, whatever its numbers."""
    values = {
        "mxu.shape": [rows, cols],
        "mxu.dataflow": flow,
        "mxu.rates.fp8": str(rate),
        "l1.slots.weights": slots,
    }
    chip = load.loads(SMALL, {**values, "dram.bandwidth": f"{bandwidth} kB/s", "clock": "700 MHz"})
    again = load.loads(load.to_yaml(chip))
    assert again == chip
    assert again.arrays[0].rates["fp8", "fp8"] == rate


def test_overrides_of_energy_area_and_leakage() -> None:
    extra = "name: l1, energy: {read: 1.2 pJ}, area: 0.5 mm2, leakage: 10 mW, sources: {energy: CACTI},"
    chip = load.loads(SMALL.replace("name: l1,", extra))
    l1 = chip.memory("l1")
    assert (l1.energy_pj["read"].value, l1.energy_pj["read"].source) == (1.2, "CACTI")
    assert l1.area_mm2 is not None
    assert l1.leakage_w is not None
    assert (l1.area_mm2.value, l1.leakage_w.value, l1.leakage_w.source) == (0.5, 0.01, "user")
    assert load.loads(load.to_yaml(chip)) == chip


def test_expanded_and_generic_arrays() -> None:
    generic = SMALL.replace("shape: [4, 8],", "kind: generic, shape: [4, 8],")
    chip = load.loads(generic)
    assert (chip.arrays[0].dataflow, chip.arrays[0].form) == ("dot_product", "generic")
    with pytest.raises(ConfigError, match=r"mxu\.kind: found 'systolic' with dataflow 'dot_product'; allowed generic"):
        load.loads(SMALL.replace("shape:", "dataflow: dot_product, shape:"))
    with pytest.raises(ConfigError, match=r"mxu\.fold_overlap: found true"):
        load.loads(generic.replace("shape:", "fold_overlap: true, shape:"))
    with pytest.raises(ConfigError, match=r"mxu\.fanouts: found sizes that multiply to 31; allowed 32"):
        load.loads(SMALL.replace("shape:", "fanouts: [{axis: a, size: 31}], shape:"))


def test_shared_ports_and_folded_memories() -> None:
    registers = "  - registers: {name: latches, size: 64 B, keeps: [weights]}\n  - parallel:"
    text = SMALL.replace("word: 16 B,", "word: 16 B, ports: {shared: 2},").replace("  - parallel:", registers)
    chip = load.loads(text)
    assert chip.memory("l1").ports.shared
    assert chip.memory("l1").bytes_per_cycle_of_all(write=False) == 128
    assert chip.memory("latches").filled_by == "array"
    assert chip.inner("weights").name == "l1"
    assert load.loads(load.to_yaml(chip)) == chip
    with pytest.raises(ConfigError, match=r"l1\.ports: found `shared` beside"):
        load.loads(SMALL.replace("word: 16 B,", "word: 16 B, ports: {shared: 2, read: 1},"))


def test_named_ports_interleave_and_padding() -> None:
    """Common ports stay as they are; an engine's own are beside them; all of it reads back."""
    ports = "ports: {read: 1, write: 1, dma: {write: 1}, array: {read: 2}, vector: {shared: 1}}"
    stated = f"word: 16 B, interleave: 64 B, padding: {{inputs: 1}}, {ports},"
    chip = load.loads(SMALL.replace("word: 16 B,", stated))
    l1 = chip.memory("l1")
    assert (l1.interleave, l1.block_bytes, dict(l1.padding_words)) == ("block", 64, {"inputs": 1})
    own = {"dma": PortSet(0, 1), "array": PortSet(2, 0), "vector": PortSet(1, 1, shared=True)}
    assert (l1.ports, l1.private_ports) == (PortSet(1, 1), own)
    assert l1.port_group("dma", write=True) == ("dma", own["dma"])
    assert l1.port_group("dma", write=False) == ("", l1.ports)
    width = l1.banks * l1.word_bytes
    assert l1.bytes_per_cycle_of("array", write=False) == 2 * width
    assert l1.bytes_per_cycle_of_all(write=False) == 4 * width
    peaks = "dma 64 B/cycle = 64 GB/s write; array 128 B/cycle = 128 GB/s read; vector 64 B/cycle = 64 GB/s, read or"
    assert peaks in load.to_yaml(chip)
    assert load.loads(load.to_yaml(chip)) == chip
    assert chip.sources["l1.interleave"] == "user"
    plain, hashed = load.loads(SMALL), load.loads(SMALL.replace("word: 16 B,", "word: 16 B, interleave: xor,"))
    assert (plain.memory("l1").interleave, hashed.memory("l1").interleave) == ("word", "xor")
    assert "l1.interleave" not in plain.sources


def test_keys_that_would_be_ignored_are_refused() -> None:
    """Banks of a folded memory are inside the array's formula; an engine that is not there has no ports."""
    folded = "  - sram: {name: near, size: 1 KiB, word: 8 B, keeps: [weights], filled_by: array, %s}\n  - parallel:"
    for key in ("interleave: xor", "padding: 1", "ports: {dma: {read: 1}}"):
        name = "ports.dma" if "dma" in key else key.partition(":")[0]
        with pytest.raises(ConfigError, match=rf"near\.{name}: has no meaning with `filled_by: array`"):
            load.loads(SMALL.replace("  - parallel:", folded % key))
    lonely = SMALL.replace("      - vector: {name: vpu, lanes: 16}\n", "")
    lonely = lonely.replace("word: 16 B,", "word: 16 B, ports: {vector: {read: 1}},")
    with pytest.raises(ConfigError, match=r"l1\.ports\.vector: found ports of an engine that this chip lacks"):
        load.loads(lonely)


def run(code: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout


def test_importing_the_loader_is_light() -> None:
    """The front of the room imports neither the schema library nor anything heavy."""
    heavy = run(
        "import sys, archsim.spec.load; "
        "print(sorted({'pydantic', 'numpy', 'numba', 'simpy', 'pandas', 'onnx'} & set(sys.modules)))"
    )
    assert heavy.strip() == "[]"


@pytest.mark.slow
def test_the_hash_does_not_depend_on_the_hash_seed() -> None:
    code = "from archsim.spec.load import load, to_yaml; c = load('tpu_v1'); print(c.sha256, to_yaml(c))"
    assert len({run(code, PYTHONHASHSEED=seed) for seed in ("0", "1", "77")}) == 1


def test_architecture_stays_plain_data() -> None:
    chip = load.load(GOLDEN)
    assert isinstance(chip, Architecture)
    assert replace(chip, name="other") != chip
