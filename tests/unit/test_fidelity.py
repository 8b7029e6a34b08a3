"""Which models of DRAM and network a run uses, from what its Program sends."""

from __future__ import annotations

import pytest

from archsim.base.errors import ConfigError
from archsim.ir.asm.parser import parse_program
from archsim.ir.program import Command, CommandLoop, Extent, PlacedTensor, Program, Queue, Region, Ring
from archsim.lab.run.fidelity import EXACT_FLITS, affordable, flits, mean_routers, moved_bytes, with_fidelity
from archsim.spec.architecture import Architecture
from archsim.spec.load import load, loads
from archsim.system import simulate
from tests.tools.commands import GOLDEN

GRID = """
name: grid
technology: {node: 7nm, voltage: 0.75 V}
clock: 1 GHz
hierarchy:
  - dram: {name: dram, standard: lpddr5, speed: 6400 MT/s, width: 16 b, channels: 4, capacity: 8 GiB, keeps: all}
  - noc: {name: mesh, topology: mesh, shape: [4, 2], link: 32 B, attach: {dram: [[0, 0]]}}
  - sram: {name: l1, size: 256 KiB, word: 16 B, keeps: all}
  - array: {name: mxu, shape: [4, 4], rates: {int8: 1}}
"""
CHIP = loads(GRID)


def noc(chip: Architecture) -> str:
    assert chip.noc is not None
    return chip.noc.fidelity


def program(trips: int, target: tuple[str, ...] = ("l1[1]",), source: str = "dram") -> Program:
    """``trips`` moves of 100 bytes from a tensor to a ring in each of the memories ``target``."""
    tensor = PlacedTensor("x", source, 0, 100, "int8", "inputs", (100,), (1,))
    rings = tuple(Ring(f"r{n}", place, 0, 100, 1, "inputs", "int8", "q", ("a",)) for n, place in enumerate(target))
    writes = tuple(Region("dst", ring.name, 1, (("k", 1),)) for ring in rings)
    move = Command(
        "m", "MOVE", "a", "inputs", (), (), (), (Extent("k", 100),), (Region("src", "x", 1, (("k", 1),)),), writes
    )
    queue = Queue("core[1].load", "load", "dma", (CommandLoop("i", trips, (move,)),))
    return Program("p", "grid", ("a",), (tensor,), rings, (), (queue,))


def test_flits_of_moves_that_cross_the_network() -> None:
    """100 bytes are two packets of 64 bytes: 2 x (2 flits and a header)."""
    assert CHIP.noc is not None
    assert flits(program(10), CHIP.noc) == 60
    assert flits(program(10, ("l1[1]", "l1[2]")), CHIP.noc) == 120
    assert flits(program(10, ("l1[1]", "l1[2]"), "l1[2]"), CHIP.noc) == 60
    assert flits(program(10, ("dram",)), CHIP.noc) == 0
    assert moved_bytes(program(10), "dram") == 1000


def test_routers_in_the_mean() -> None:
    assert CHIP.noc is not None
    assert mean_routers(CHIP.noc) == sum(1 + x + y for x in range(4) for y in range(2)) / 8
    for topology, shape, expected in (("crossbar", [8], 1), ("bus", [8], 2), ("ring", [5], (1 + 2 + 3 + 3 + 2) / 5)):
        text = GRID.replace("topology: mesh", f"topology: {topology}").replace("[4, 2]", str(shape))
        found = loads(text.replace("[[0, 0]]", "[[0]]")).noc
        assert found is not None and mean_routers(found) == expected


def test_a_network_is_simulated_by_flits_where_that_is_affordable() -> None:
    most = int(EXACT_FLITS / (6 * 3))  # 6 flits a trip through 3 routers in the mean
    small, large = (affordable(CHIP, program(trips, ("l1[1]",))) for trips in (most, most + 1))
    assert small == (CHIP, ())
    chip, said = large
    assert noc(chip) == "link" and chip.memory("dram").fidelity == "exact"
    assert said == ("network simulated with fidelity link: some 480 M flits through routers; --fidelity exact insists",)
    link = loads(GRID, {"mesh.fidelity": "link"})
    assert affordable(link, program(most + 1)) == (link, ())


def test_dram_and_network_are_each_lowered_for_themselves() -> None:
    chip, said = affordable(CHIP, program(10**8, ("l1[0]",)))
    assert (noc(chip), chip.memory("dram").fidelity, len(said)) == ("link", "fast", 2)


def test_one_word_sets_both() -> None:
    fast = with_fidelity(CHIP, "fast")
    assert (noc(fast), fast.memory("dram").fidelity) == ("link", "fast")
    assert with_fidelity(fast, "exact").memory("dram").fidelity == "exact"
    assert noc(with_fidelity(fast, "exact")) == "flit"
    with pytest.raises(ConfigError, match="fidelity: found 'link'; allowed exact, fast"):
        with_fidelity(CHIP, "link")
    with pytest.raises(ConfigError, match="has no network, and no DRAM but of constant rate"):
        with_fidelity(load("scalesim_32x32"), "fast")


def test_a_part_that_cannot_have_it_is_named_with_what_is_allowed() -> None:
    """The message is about the option, not about a line of the chip's file."""
    a100 = load("a100")
    with pytest.raises(ConfigError) as caught:
        with_fidelity(a100, "exact")
    assert str(caught.value) == (
        "fidelity: found 'exact'; chip 'a100': part 'crossbar' cannot be simulated with fidelity flit (crossbar.shape: "
        "found a router of 188 ports, attached ones among them; allowed at most 60, or `fidelity: link`); "
        "allowed fast, or none, which is what the chip states: hbm exact, crossbar link"
    )
    assert with_fidelity(a100, "fast").memory("hbm").fidelity == "fast"


def test_bytes_asked_of_a_memory_are_those_of_its_own_stores() -> None:
    """The golden Program loads and stores each byte of its tensors in DRAM at least once, and l1 sees more."""
    program = parse_program((GOLDEN / "program.asm").read_text(encoding="utf-8"), "program.asm")
    asked = {name: moved_bytes(program, name) for name in ("dram", "l1", "nowhere")}
    assert asked["nowhere"] == 0
    counted = simulate(program, load(GOLDEN / "chip.yaml")).dram["dram"]
    assert asked["dram"] >= counted.useful_read_bytes + counted.useful_write_bytes > 0
    assert asked["dram"] != asked["l1"]
