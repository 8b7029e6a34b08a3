"""Moves over a network, to the picosecond, on one that delivers everything after 10 ns and keeps a diary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from archsim.base.errors import NotBuiltError, ProgramError
from archsim.facts.noc.topology import Topology
from archsim.ir.activity import Activity
from archsim.ir.asm.parser import parse_program
from archsim.ir.check.program import check
from archsim.ir.program import Affine, Clip, Command, CommandLoop, Extent, Region
from archsim.ir.rows import Record
from archsim.noc.network import NetworkStats
from archsim.noc.shipments import MessageLoad, Shipment, ShipmentDelivery
from archsim.sim.messages import Message, MessageBatch
from archsim.spec.network import Noc
from archsim.system import simulate
from tests.laws.builders import flat, move, program, queue, tensor, vector
from tests.laws.many_cores import CHIP, grid, one, to_cores

FLIGHT_PS = 10_000
DRAM, L2 = (100,), (200, 201)  # the nodes of the ports; cores are nodes 0 to 3
SENT: list[tuple[int, Message]] = []


class Fixed:
    """Every message arrives a fixed time after it was sent, whatever its length."""

    def __init__(self, spec: Noc) -> None:
        self._waiting: list[tuple[int, int]] = []
        self._loads: list[list[tuple[int, Message]]] = []
        self.topology = Topology("none", 0, 0, (), ())

    def node(self, core: int) -> int:
        return core

    def ports(self, part: str) -> tuple[int, ...]:
        return {"dram": DRAM, "l2": L2}[part]

    def load(self, *batches: MessageBatch) -> MessageLoad:
        """Which messages are sent how long after the start."""
        found: list[tuple[int, Message]] = []
        for messages, request in batches:
            found += [(0, request)] if request is not None else []
            found += [(FLIGHT_PS if request is not None else 0, message) for message in messages]
        flits = sum(message.flits for _, message in found)
        self._loads.append(sorted(found, key=lambda each: each[0]))
        return MessageLoad(len(self._loads) - 1, 0, max(found)[0] + FLIGHT_PS, ((flits, 2 * flits),))

    def submit(self, at_ps: int, shipments: Sequence[Shipment]) -> None:
        sent = [each for shipment in shipments for each in self._loads[shipment.load.number]]
        SENT.extend((at_ps + after_ps, message) for after_ps, message in sent)
        self._waiting += [(at_ps + shipment.load.least_ps, shipment.id) for shipment in shipments]
        self._waiting.sort()

    def advance(self, until_ps: int) -> list[ShipmentDelivery]:
        """The first to arrive."""
        if not self._waiting or self._waiting[0][0] > until_ps:
            return []
        end_ps, number = self._waiting.pop(0)
        return [ShipmentDelivery(number, end_ps)]

    def next_event_ps(self) -> int | None:
        return self._waiting[0][0] if self._waiting else None

    @property
    def stats(self) -> NetworkStats:
        return NetworkStats((), (), (), 0, 0, 0.0)


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    SENT.clear()
    monkeypatch.setattr("archsim.noc.network.Network", Fixed)
    yield


def sent() -> list[tuple[int, int, tuple[int, ...], int]]:
    """(ns, source, targets, flits) of all messages so far."""
    return [(at_ps // 1000, message.source, message.targets, message.flits) for at_ps, message in SENT]


def run(command: Command, core: int = 3, **chip: Any) -> tuple[Record, Activity]:
    activity = simulate(one(core, command), grid(noc=chip))
    return activity.records[f"core[{core}].load"][0], activity


def test_a_read_is_asked_for_then_read_then_sent_part_by_part() -> None:
    """64 B a cycle, the first byte 20 cycles after it was asked for: parts of 4096 B end 64 cycles apart."""
    record, activity = run(move("m", "x", "t3", 10_000))
    assert sent() == [
        (0, 3, DRAM, 1),
        (94, 100, (3,), 128),
        (158, 100, (3,), 128),
        (187, 100, (3,), 57),
    ]
    assert record.phases == (("dram", 187_000), ("noc", 197_000), ("sram_port", 313_000))  # 313 flits on a link
    counts = {key[1:]: count for key, count in activity.counts.items()}
    assert counts["mesh", "link_flits"] == 1 + 128 + 128 + 57
    assert counts["mesh", "router_flits"] == 2 * counts["mesh", "link_flits"]
    assert counts["dram", "read_bytes"] == counts["l1", "write_bytes"] == 10_000


def test_without_requests_the_port_knows() -> None:
    run(move("m", "x", "t3", 4096), request_flits=0)
    assert sent() == [(84, 100, (3,), 128)]


def test_a_write_enters_at_the_start_and_is_written_when_it_has_arrived() -> None:
    record, _ = run(move("m", "t3", "y", 8192))
    assert sent() == [(0, 3, DRAM, 128), (0, 3, DRAM, 128)]
    assert record.phases[:2] == (("noc", 10_000), ("dram", 158_000))


def test_shared_sram_takes_turns_between_its_ports() -> None:
    """Parts of 4096 B from address 0 on: ports 0, 1, 1 (the digits of 2 in base 2 add up to 1); a request to each
    port, its parts when that has arrived.
    """
    record, _ = run(move("m", "s", "t3", 12_000))
    assert sent() == [
        (0, 3, (200,), 1),
        (0, 3, (201,), 1),
        (10, 200, (3,), 128),
        (10, 201, (3,), 128),
        (10, 201, (3,), 119),
    ]
    assert record.phases == (("noc", 20_000), ("sram_port", 375_000))  # no faster than 375 flits on a link
    SENT.clear()
    run(move("m", "t3", "s", 8192))
    assert sent() == [(0, 3, (200,), 128), (0, 3, (201,), 128)]


def test_a_part_goes_where_its_address_says_in_every_iteration() -> None:
    source = flat("src", "s", offset=Affine(0, (("i", 4096),)))
    command = CommandLoop("i", 3, (move("m", "s", "t3", 4096, reads=(source,)),))
    stores = one(3).tensors
    simulate(program(queue("core[3].load", command), tensors=stores), grid(noc={"request_flits": 0}))
    assert [source for _, source, _, _ in sent()] == [200, 201, 201]


def test_between_cores_and_to_several() -> None:
    run(move("m", "t1", "t3", 5000))
    run(to_cores("m", "t1", (0, 1, 2), 4096))
    run(to_cores("m", "t1", (1,), 4096))
    assert sent() == [(0, 1, (3,), 128), (0, 1, (3,), 29), (0, 1, (0, 2), 128)]
    SENT.clear()
    _, activity = run(to_cores("m", "x", (3, 0, 2), 4096))
    assert sent() == [(0, 3, DRAM, 1), (94, 100, (3, 0, 2), 128)]
    counts = {key[1:]: count for key, count in activity.counts.items()}
    assert counts["l1", "write_bytes"] == 3 * 4096


def test_what_stays_above_the_network_does_not_cross() -> None:
    run(move("m", "x", "s", 4096))
    assert sent() == []


def test_fill_comes_from_the_engines_core() -> None:
    command = move("m", "x", "t3", 4096, reads=())
    run(command)
    run(replace(command, writes=(flat("dst", "t0"),)))
    assert sent() == [(0, 3, (0,), 128)]


def test_clipped_bytes_do_not_travel() -> None:
    """What the source lacks is filled in where the rest arrives."""
    clipped = Region("src", "x", 1, (("x", 1),), clips=(Clip("x", Affine(0), 64),))
    _, activity = run(
        Command("m", "MOVE", "one", extents=(Extent("x", 4096),), reads=(clipped,), writes=(flat("dst", "t3"),))
    )
    assert [flits for *_, flits in sent()] == [1, 2]
    assert activity.counts["one", "l1", "write_bytes"] == 4096


def test_a_read_without_bursts_knows_no_limit_and_one_with_them_keeps_it() -> None:
    """With 64 bursts under way at most (DDR4: 64 B) a part is asked for when the one before it has been read."""
    ddr4 = CHIP.replace(
        "standard: constant, bandwidth: 64 B/cycle, latency: 20 cycles",
        "standard: ddr4, speed: 2400 MT/s, width: 64 b, channels: 1",
    )
    dma = "  - dma: {name: dma, outstanding: 64}\n  - sram: {name: l2"
    free = simulate(one(3, move("m", "x", "t3", 16_384)), grid(ddr4))
    few = simulate(one(3, move("m", "x", "t3", 16_384)), grid(ddr4.replace("  - sram: {name: l2", dma)))
    assert few.total_ps > free.total_ps
    assert few.dram["dram"].useful_read_bytes == free.dram["dram"].useful_read_bytes == 16_384


@pytest.mark.parametrize("fidelity", ["exact", "fast"])
def test_engines_and_ports_offer_so_many_bursts_a_cycle(fidelity: str) -> None:
    """256 bursts of 64 B, read and written: one in 10 ns by an engine of 100 MHz; two cores share the port's one in
    0.83 ns."""
    ddr4 = CHIP.replace(
        "standard: constant, bandwidth: 64 B/cycle, latency: 20 cycles",
        f"standard: ddr4, speed: 2400 MT/s, width: 64 b, channels: 8, fidelity: {fidelity}",
    )
    slow = "  - dma: {name: dma, clock: 100 MHz, requests: 1}\n  - sram: {name: l2"
    for command in (move("m", "x", "t3", 16_384), move("m", "t3", "x", 16_384)):
        free = simulate(one(3, command), grid(ddr4))
        few = simulate(one(3, command), grid(ddr4.replace("  - sram: {name: l2", slow)))
        assert few.total_ps > 255 * 10_000 * 0.95 > 2 * free.total_ps
        assert [few.dram["dram"].read_bytes, few.dram["dram"].write_bytes] == [
            free.dram["dram"].read_bytes,
            free.dram["dram"].write_bytes,
        ]
    narrow = ddr4.replace("channels: 8,", "channels: 8, requests: 1,")
    both = program(
        queue("core[2].load", move("a", "x", "t2", 16_384)),
        queue("core[3].load", move("b", "x", "t3", 16_384)),
        tensors=one(0).tensors,
    )

    def last_beat_ps(chip: str) -> int:
        """Of what either core reads."""
        records = simulate(both, grid(chip)).records
        return max(dict(records[f"core[{core}].load"][0].phases)["dram"] for core in (2, 3))

    least_ps = 511 * 10**6 // 1200 * (1 if fidelity == "exact" else 0.9)
    assert last_beat_ps(narrow) > least_ps > 1.3 * last_beat_ps(ddr4)


LOOKUPS = """
program lookups on grid
layer l
tensor t in {memory} at 0 bytes 32000 dtype int8 role tables shape [1000, 32] preloaded
tensor u in l1[2] at 0 bytes 9600 dtype int8 role inputs shape [300, 32] preloaded
queue core[2].load engine load unit dma:
    {op} l.g [r=300, c=32] role tables {combine}
        index uniform(seed=1) rows 1000 row_bytes 32 at r: 0
        src {src} dst {dst}
"""
OPERANDS = {"GATHER": ("t{c:1}", "u{r:32, c:1}"), "SCATTER": ("u{r:32, c:1}", "t{c:1}")}


def rows(op: str, memory: str = "dram", combine: str = "") -> Activity:
    source, target = OPERANDS[op]
    text = LOOKUPS.format(op=op, memory=memory, src=source, dst=target, combine=combine)
    if op == "SCATTER":
        text = text.replace("engine load", "engine store").replace("core[2].load", "core[2].store")
    listing = parse_program(text, "lookups.asm")
    check(listing, grid())
    return simulate(listing, grid())


def test_rows_come_back_in_messages() -> None:
    """300 rows of 32 B: 128 in a message."""
    activity = rows("GATHER")
    assert [entry[1:] for entry in sent()] == [(2, DRAM, 1), (100, (2,), 128), (100, (2,), 128), (100, (2,), 44)]
    (record,) = activity.records["core[2].load"]
    assert [phase for phase, _ in record.phases][:2] == ["dram", "noc"]
    assert activity.counts["l", "dram", "read_bytes"] == 9600


def test_rows_are_written_when_they_have_arrived() -> None:
    activity = rows("SCATTER")
    assert sent() == [(0, 2, DRAM, 128), (0, 2, DRAM, 128), (0, 2, DRAM, 44)]
    (record,) = activity.records["core[2].store"]
    assert record.phases[0] == ("noc", 10_000)
    assert [phase for phase, _ in record.phases][1] == "dram"


def test_rows_of_a_shared_sram() -> None:
    activity = rows("GATHER", "l2")
    assert sum(flits for _, source, _, flits in sent() if source in L2) == 300
    assert activity.counts["l", "l2", "read_bytes"] == 9600


def test_rows_are_not_combined_across_a_network() -> None:
    with pytest.raises(NotBuiltError, match="combine 'add' onto rows in DRAM over a network"):
        rows("SCATTER", combine="combine add")


# names of cores and memories


def test_a_core_computes_in_memories_of_its_own() -> None:
    stores = (tensor("near", "l1[1]"), tensor("far", "l1[2]"), tensor("shared", "l2"))
    for name, memory in (("far", r"l1\[2\]"), ("shared", "l2")):
        listing = program(queue("core[1].vector", vector("v", "near", name, 4)), tensors=stores)
        for way in (check, simulate):
            with pytest.raises(
                ProgramError, match=rf"core\[1\] computes only in memories of its own.*l1\[1\]|'{memory}'"
            ):
                way(listing, grid())


def test_names_that_are_none() -> None:
    for memory in ("l1", "l1[4]", "l2[0]", "l3"):
        with pytest.raises(ProgramError, match=r"no explicit memory .*there are: dram, l1\[0\] to l1\[3\], l2"):
            check(program(tensors=(tensor("t", memory),)), grid())
    for name in ("core[4].load", "main.load"):
        with pytest.raises(ProgramError, match="stands in no core"):
            check(program(replace(queue("core[0].load"), name=name)), grid())
    twice = program(queue("core[2].vector"), replace(queue("core[2].vector"), name="core[2].vpu"))
    with pytest.raises(ProgramError, match=r"'vpu' of core\[2\] has 1 vector engine"):
        check(twice, grid())


def test_capacity_and_overlap_are_of_each_core() -> None:
    beside = tuple(tensor(f"t{core}", f"l1[{core}]") for core in range(4))
    idle = queue("core[0].load")
    check(program(idle, tensors=beside), grid())
    with pytest.raises(ProgramError, match=r"overlap.*memory 'l1\[1\]'"):
        check(program(idle, tensors=(*beside, tensor("more", "l1[1]"))), grid())
    with pytest.raises(ProgramError, match=r"memory 'l1\[2\]', which has \[0, 1048576\)"):
        check(program(tensors=(tensor("t", "l1[2]", base=1),)), grid())


def test_every_engine_of_every_core_has_a_row() -> None:
    activity = simulate(one(3, move("m", "x", "t3", 64)), grid())
    kinds = ("load", "store", "array", "vector")
    assert sorted(activity.records) == sorted(f"core[{core}].{kind}" for core in range(4) for kind in kinds)
