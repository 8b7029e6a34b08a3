"""Hazards over all token-legal interleavings: races, live slots, unwritten bytes, shared addresses."""

from __future__ import annotations

import pytest

from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.check.program import check
from tests.unit.fixtures_check import chip

HEAD = """
program p on golden
layer l
tensor x in dram at 0 bytes 64 dtype int8 role inputs shape [8, 8] preloaded
tensor y in dram at 64 bytes 64 dtype int8 role outputs shape [8, 8]
tensor t in l1 at 4096 bytes 64 dtype int8 role inputs shape [8, 8]
tensor u in l1 at 5120 bytes 64 dtype int8 role inputs shape [8, 8]
semaphore s
semaphore v
"""
QUEUES = {
    "load": "queue load engine load unit dma:",
    "store": "queue store engine store unit dma:",
    "vector": "queue vector engine vector unit vpu:",
}
VECTOR = "function relu passes 1 dtypes int8"
ALL = "{i:8, j:1}"


def build(declarations: str = "", **bodies: str) -> str:
    text = HEAD + declarations + "\n"
    for name, header in QUEUES.items():
        lines = [f"    {line}\n" for line in bodies.get(name, "").strip("\n").split("\n") if line.strip()]
        text += header + "\n" + "".join(lines)
    return text


def accepted(text: str) -> None:
    check(parse_program(text), chip())


def refused(text: str) -> str:
    with pytest.raises(ProgramError) as error:
        check(parse_program(text), chip())
    return str(error.value)


def load(name: str, clauses: str = "", rows: int = 8, at: int = 0) -> str:
    """Rows of x into t."""
    return f"MOVE l.{name} [i={rows}, j=8] src x{ALL}+{at} dst t{ALL}+{at} {clauses}"


def use(name: str, clauses: str = "", rows: int = 8, at: int = 0) -> str:
    """Rows of t into u."""
    return f"VECTOR l.{name} [i={rows}, j=8] {VECTOR} in0 t{ALL}+{at} out u{ALL}+{at} {clauses}"


# tensors ---------------------------------------------------------------------------------------------


def test_read_after_write_needs_a_token() -> None:
    accepted(build(load=load("a", "signal s"), vector=use("b", "wait s")).replace("semaphore v\n", ""))
    found = refused(build(load=load("a"), vector=use("b")))
    assert found == (
        "race: l.a of load writes and l.b of vector reads bytes [0, 64) of tensor 't', "
        "and neither happens before the other"
    )


def test_token_given_before_the_write_does_not_order_it() -> None:
    text = build(load=load("a", "signal s", rows=4) + "\n" + load("c", rows=4, at=32), vector=use("b", "wait s"))
    assert "race: l.c of load writes and l.b of vector reads bytes [32, 64)" in refused(text)


def test_tokens_order_through_a_third_queue() -> None:
    middle = "SYNC l.m wait s signal v"
    accepted(build(load=load("a", "signal s"), store=middle, vector=use("b", "wait v")))


def test_write_after_read_needs_a_token() -> None:
    again = "\n".join([load("a", "signal s"), load("c", "wait v")])
    accepted(build(load=again, vector=use("b", "wait s signal v")))
    early = "\n".join([load("a", "signal s"), load("c"), "SYNC l.d wait v"])
    found = refused(build(load=early, vector=use("b", "wait s signal v")))
    assert "race: l.c of load writes and l.b of vector reads" in found


def test_two_writers_need_an_order() -> None:
    store = f"MOVE l.c [i=8, j=8] src x{ALL} dst t{ALL}"
    assert "race: l.a of load writes and l.c of store writes" in refused(build(load=load("a"), store=store))
    accepted(build(load=load("a", "signal s"), store=f"{store} wait s"))


def test_disjoint_bytes_need_no_order() -> None:
    accepted(build(load=load("a", rows=4), store="\n".join([load("c", rows=4, at=32)])))


def test_interleaved_columns_are_told_apart_byte_by_byte() -> None:
    left = f"MOVE l.a [i=8, j=4] src x{ALL} dst t{ALL}"
    right = f"MOVE l.c [i=8, j=4] src x{ALL}+4 dst t{ALL}+4"
    accepted(build(load=left, store=right))
    wider = right.replace("j=4", "j=5").replace("+4", "+3")
    assert "bytes [3, 4) of tensor 't'" in refused(build(load=left, store=wider))


def test_read_of_columns_that_nobody_wrote() -> None:
    left = f"MOVE l.a [i=8, j=4] src x{ALL} dst t{ALL} signal s"
    narrow = f"VECTOR l.b [i=8, j=4] {VECTOR} in0 t{ALL} out u{ALL} wait s"
    accepted(build(load=left, vector=narrow))
    found = refused(build(load=left, vector=use("b", "wait s")))
    assert "read of unwritten bytes: l.b of vector reads bytes [0, 64) of tensor 't'" in found
    holes = f"{left}\nMOVE l.c [i=8, j=2] src x{ALL} dst t{ALL}+5"
    both = build(load=holes.replace(" signal s", "") + " signal s", vector=use("b", "wait s"))
    assert "has written bytes [4, 5) of tensor 't'" in refused(both)


def test_tiles_together_cover_a_read() -> None:
    tiles = "\n".join([load("a", rows=4), load("c", "signal s", rows=4, at=32)])
    accepted(build(load=tiles, vector=use("b", "wait s")))
    columns = f"MOVE l.a [i=8, j=4] src x{ALL} dst t{ALL}\nMOVE l.c [i=8, j=4] src x{ALL} dst t{ALL}+4 signal s"
    accepted(build(load=columns, vector=use("b", "wait s")))


def test_read_before_write_in_the_same_queue() -> None:
    order = [use("b"), f"VECTOR l.a [i=8, j=8] {VECTOR} in0 x{ALL} out t{ALL}"]
    accepted(build(vector="\n".join(reversed(order))))
    assert "read of unwritten bytes: l.b" in refused(build(vector="\n".join(order)))


def test_fill_counts_as_written_and_padding_is_not_read() -> None:
    padded = "MOVE l.a [i=8, j=8] src x{i:8, j:1}-8 clip(i: -1 of 8) dst t{i:8, j:1} signal s"
    accepted(build(load=padded, vector=use("b", "wait s")))
    fill = "MOVE l.a [i=8, j=8] dst t{i:8, j:1} fill -128 signal s"
    accepted(build(load=fill, vector=use("b", "wait s")))
    assert "touches bytes [-8, 56)" in refused(
        build(load=padded.replace("clip(i: -1 of 8)", "").replace("signal s", ""))
    )


def test_combining_move_reads_its_destination() -> None:
    add = load("c", "combine add signal s")
    accepted(build(load=load("a") + "\n" + add, vector=use("b", "wait s")))
    assert "read of unwritten bytes: l.c of load" in refused(build(load=add, vector=use("b", "wait s")))


def test_vector_accumulation_starts_fresh() -> None:
    text = """for k in 3:
        VECTOR l.b [i=8, j=8] function mac passes 1 dtypes int8 in0 x{i:8, j:1} in1 x{i:8, j:1} in2 u{i:8, j:1}
            fresh first(k) out t{i:8, j:1}"""
    first = f"VECTOR l.a [i=8, j=8] {VECTOR} in0 x{ALL} out u{ALL}"
    accepted(build(vector=f"{first}\n{text}"))
    assert "reads bytes [0, 64) of tensor 'u'" in refused(build(vector=text))
    assert "l.b[k=0] of vector reads bytes [0, 64) of tensor 't'" in refused(
        build(vector=f"{first}\n{text.replace('first(k)', 'last(k)')}")
    )


# rings -----------------------------------------------------------------------------------------------

RING = "ring r in l1 at 0 slots 2 bytes 64 dtype int8 role inputs writer load readers vector"
FILL = f"MOVE l.a [i=8, j=8] src x{ALL} dst r{ALL} wait r.free signal r.full"
DRAIN = f"VECTOR l.b [i=8, j=8] {VECTOR} in0 r{ALL} out u{ALL} wait r.full signal r.free"


def around(fill: str = FILL, drain: str = DRAIN, trips: int = 5, ring: str = RING) -> str:
    return build(ring, load=f"for n in {trips}:\n        {fill}", vector=f"for m in {trips}:\n        {drain}")


def test_double_buffer_goes_around() -> None:
    for slots in (1, 2, 3):
        accepted(around(ring=RING.replace("slots 2", f"slots {slots}")))


def test_slot_used_before_it_is_taken() -> None:
    found = refused(around(fill=FILL.replace(" wait r.free", "") + "\n        SYNC l.z wait r.free"))
    assert "signals slot 0 of ring 'r' full before it is taken by l.z" in found
    late = FILL.replace(" wait r.free signal r.full", "") + "\n        SYNC l.z wait r.free signal r.full"
    assert "l.a[n=0] of load touches ring 'r' before it took a slot" in refused(around(fill=late))


def test_read_of_more_than_was_written() -> None:
    found = refused(around(fill=FILL.replace("i=8", "i=7")))
    assert "l.b[m=0] of vector reads bytes [0, 64) of slot 0 of ring 'r'" in found
    assert "has written bytes [56, 57) of slot 0" in found


def test_read_after_the_slot_was_given_back() -> None:
    parts = DRAIN.replace(" signal r.free", "")
    late = f"{parts}\n        SYNC l.z signal r.free"
    accepted(around(drain=late))
    early = f"SYNC l.z wait r.full signal r.free\n        {parts.replace(' wait r.full', '')}"
    found = refused(around(drain=early))
    assert found.startswith("live slot overwritten: l.a[n=2] of load writes bytes [0, 64) of slot 2 of ring 'r'")
    assert "l.b[m=0] of vector has surely read bytes [0, 64) of slot 0" in found
    accepted(around(drain=early, trips=2))  # nothing comes around to overwrite them


def test_write_after_the_slot_was_signalled_full() -> None:
    late = f"SYNC l.z wait r.free signal r.full\n        {FILL.replace(' wait r.free signal r.full', '')}"
    assert "race: l.a[n=0] of load writes and l.b[m=0] of vector reads" in refused(around(fill=late))


def test_every_reader_holds_its_slot() -> None:
    ring = RING.replace("readers vector", "readers vector, store")
    keep = f"for o in 5:\n        MOVE l.c [i=8, j=8] src r{ALL} dst y{ALL} wait r.full signal r.free"
    fill, drain = f"for n in 5:\n        {FILL}", f"for m in 5:\n        {DRAIN}"
    accepted(build(ring, load=fill, vector=drain, store=keep))
    early = keep.replace(" wait r.full signal r.free", "").replace(
        "MOVE", "SYNC l.z wait r.full signal r.free\n        MOVE"
    )
    assert "of store has surely read" in refused(build(ring, load=fill, vector=drain, store=early))


HALO = "ring r in l1 at 0 slots 2 bytes 64 dtype int8 role inputs retain 16 writer load readers vector"
TOP = f"MOVE l.top [i=8, j=8] when first(n) src x{ALL} dst r{ALL} wait r.free signal r.full"
NEXT = f"MOVE l.next [i=6, j=8] when !first(n) retains src x{ALL} dst r{ALL}+16 wait r.free signal r.full"


def test_halo_stays_in_the_ring() -> None:
    accepted(around(fill=f"{TOP}\n        {NEXT}", ring=HALO))
    forgotten = f"{TOP}\n        {NEXT.replace(' retains', '')}"
    found = refused(around(fill=forgotten, ring=HALO))
    assert "l.b[m=1] of vector reads bytes [0, 64) of slot 1" in found
    assert "has written bytes [0, 1) of slot 1" in found


def test_move_into_the_halo_races_with_the_last_reader() -> None:
    wide = NEXT.replace("i=6", "i=8").replace("+16", "")
    found = refused(around(fill=f"{TOP}\n        {wide}", ring=HALO))
    assert "race: l.next[n=1] of load writes and l.b[m=0] of vector reads bytes" in found


def test_first_slot_has_nothing_to_retain() -> None:
    assert "there is nothing to retain yet" in refused(around(fill=NEXT.replace(" when !first(n)", ""), ring=HALO))


# shared addresses ------------------------------------------------------------------------------------


def test_two_stores_may_share_bytes_one_after_the_other() -> None:
    other = "tensor w in l1 at 4100 bytes 8 dtype int8 role inputs shape [8]"
    write = "MOVE l.c [j=8] src x{j:1} dst w{j:1}"
    accepted(build(other, load=load("a", "signal s") + f"\n{write} wait v", vector=use("b", "wait s signal v")))
    found = refused(build(other, load=load("a", "signal s") + f"\n{write}", vector=use("b", "wait s")))
    assert found == (
        "overlap: tensor 't' and tensor 'w' share bytes [4100, 4108) of memory 'l1' and are in use together: "
        "l.b of vector uses tensor 't' and does not happen before l.c of load writes tensor 'w'"
    )


def test_going_back_to_the_earlier_store_is_refused() -> None:
    other = "tensor w in l1 at 4100 bytes 8 dtype int8 role inputs shape [8]"
    body = "\n".join([load("a"), "MOVE l.c [j=8] src x{j:1} dst w{j:1}", load("d")])
    assert "overlap: tensor 't' and tensor 'w'" in refused(build(other, load=body))


def test_preloaded_data_is_there_from_the_start() -> None:
    same = "tensor z in dram at 100 bytes 8 dtype int8 role outputs shape [8]"
    out = f"MOVE l.c [i=8, j=8] src t{ALL} dst y{ALL} wait s"
    accepted(build(same, load=load("a", "signal s"), store=out))
    found = refused(build("tensor z in dram at 40 bytes 64 dtype int8 role inputs shape [64] preloaded"))
    assert found.endswith("in use together: both are preloaded")
    over = "tensor z in dram at 32 bytes 8 dtype int8 role outputs shape [8]"
    write = "MOVE l.c [j=8] src t{j:1} dst z{j:1} wait s"
    accepted(build(over, load=load("a", "signal s"), store=write))  # x is not read any more
    later = f"{write}\nMOVE l.d [j=8] src x{{j:1}} dst y{{j:1}}"
    assert "overlap: tensor 'x' and tensor 'z'" in refused(build(over, load=load("a", "signal s"), store=later))
