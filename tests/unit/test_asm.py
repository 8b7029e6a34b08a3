"""The assembly listing: what may be left out, how it is laid out, and messages with file:line and the nearest name."""

from __future__ import annotations

import pytest

from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import WIDTH, dense_strides, print_program
from archsim.ir.asm.words import affine_text, quote
from archsim.ir.program import Affine, CommandLoop, LoopEdge, Program, Region, Token
from tests.unit.fixtures_check import GOLDEN, command, golden

TEXT = """
program p on golden
layer l1, l1.a
tensor x in dram at 0 bytes 32 dtype int32 role inputs shape [2, 4]
ring r in l1 at 0x40 slots 2 bytes 1_024 dtype int8 role inputs
    writer load readers array
semaphore done initial 2
queue load engine load unit dma:
  for i in 3:
    for j in 2:
      MOVE l1.a.move [h=8 | 12-8*i | 3, w=4]
        src x{h:16, w:4}
          -4+16*i clip(h: 8*i-1 of 12)
        wait r.free if first(i) & !last(j) wait done*2
        dst r{h:4, w:1} signal r.full
    SYNC other layer _host
queue array engine array unit mxu:
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return parse_program(TEXT, "p.asm")


def test_defaults_and_continuations(program: Program) -> None:
    assert program.layers == ("l1", "l1.a")
    assert program.tensors[0].strides == (16, 4)
    assert not program.tensors[0].preloaded
    assert (program.rings[0].base, program.rings[0].slot_bytes, program.rings[0].retain) == (64, 1024, 0)
    assert program.semaphores[0].initial == 2
    assert program.queues[1].body == ()


def test_command_in_loops(program: Program) -> None:
    outer = program.queues[0].body[0]
    assert isinstance(outer, CommandLoop)
    inner, sync = outer.body
    assert isinstance(inner, CommandLoop) and not isinstance(sync, CommandLoop)
    (move,) = inner.body
    assert not isinstance(move, CommandLoop)
    assert (inner.var, inner.trips) == ("j", 2)
    assert move.layer == "l1.a"  # the longest declared layer that the name begins with
    assert sync.layer == "_host"
    assert move.extents[0].limits == (Affine(12, (("i", -8),)), Affine(3))
    assert move.waits == (
        Token("r.free", 1, (LoopEdge("first", "i"), LoopEdge("last", "j", negated=True))),
        Token("done", 2),
    )
    source = move.reads[0]
    assert source.element_bytes == 4
    assert (source.strides, source.offset) == ((("h", 16), ("w", 4)), Affine(-4, (("i", 16),)))
    assert (source.clips[0].dim, source.clips[0].start, source.clips[0].length) == ("h", Affine(-1, (("i", 8),)), 12)
    assert move.writes == (Region("dst", "r", 1, (("h", 4), ("w", 1))),)


def test_listing_fits_the_page_and_repeats_nothing(program: Program) -> None:
    text = print_program(golden())
    assert max(map(len, text.splitlines()[2:])) <= WIDTH + len(" readers core[0].vector")
    assert "layer conv1 role" not in text and "strides" not in text and "element" not in text
    assert parse_program(print_program(program)) == program


def test_golden_reads_as_it_should() -> None:
    slide = command("conv1.load_x")
    assert slide.retains and slide.when == (LoopEdge("first", "p", negated=True),)
    assert slide.reads[0].offset == Affine(88, (("p", 480),))
    assert command("conv1.mm").fresh == ()
    assert command("conv2.mm").fresh == (LoopEdge("first", "u"),)
    assert command("conv1.drain").function == "requantise+relu"


@pytest.mark.parametrize(
    ("affine", "text"),
    [
        (Affine(), "0"),
        (Affine(-3), "-3"),
        (Affine(12, (("i", -8),)), "12-8*i"),
        (Affine(-1, (("i", 8), ("j", 1))), "8*i+j-1"),
        (Affine(5, (("i", 1), ("j", -1))), "i-j+5"),
        (Affine(0, (("i", 0),)), "0*i"),
        (Affine(0, (("a b", -1),)), '-"a b"'),
    ],
)
def test_affine_text(affine: Affine, text: str) -> None:
    assert affine_text(affine) == text


def test_quoting() -> None:
    plain = ["core[0].load", "a@b", "/f/0", "x>y", "_host"]
    assert [quote(name) for name in plain] == plain
    assert [quote(name) for name in ("", "1x", "a-b", 'a"b', "a b", "[0]")] == [
        '""',
        '"1x"',
        '"a-b"',
        '"a\\"b"',
        '"a b"',
        '"[0]"',
    ]


def test_dense_strides() -> None:
    assert dense_strides((2, 3, 4), "int32") == (48, 16, 4)
    assert dense_strides((), "int8") == ()
    assert dense_strides((5,), "nothing known") == ()


ERRORS = [
    ("program p on golden", "progam p on golden", 2, "expected 'program' and a name, found 'progam' (did you mean"),
    ("layer l1, l1.a", "layr l1", 3, "expected one of: layer, tensor, ring, semaphore, queue, found 'layr' (did"),
    ("layer l1, l1.a", "layer l1\nlayer l1", 4, "expected a new name, found layer 'l1' of line 3"),
    ("layer l1, l1.a", "layer l1, l1", 3, "expected a new name, found layer 'l1' of line 3"),
    ("bytes 32", "byts 32", 4, "found 'byts' (did you mean 'bytes'?)"),
    ("bytes 32", "bytes many", 4, "expected a number of bytes, found 'many'"),
    ("bytes 32 ", "", 4, "expected 'bytes', found the end of the line"),
    ("role inputs shape [2, 4]", "role inputs role inputs shape [2, 4]", 4, "expected 'role' only once, found 'role'"),
    ("shape [2, 4]", "shape [2 4]", 4, "expected ',', found '4'"),
    ("shape [2, 4]", "shape [2, 4", 4, "expected ',', found the end of the line"),
    ("at 0x40", "at 0x", 5, "expected a name, a number or punctuation, found '0x slots"),
    ("writer load", "writer lode", 6, "expected a queue (array, load), found 'lode' (did you mean 'load'?)"),
    ("semaphore done initial 2", "semaphore done initial", 7, "expected a number of tokens, found the end of the line"),
    ("tensor x", "tensor r", 5, "expected a new name, found ring 'r' of line 4"),
    ("engine load unit", "engine lod unit", 8, "array, vector, host, found 'lod' (did you mean 'load'?)"),
    ("unit dma:", "unit dma", 8, "expected ':', found the end of the line"),
    ("for j in 2:", "for i in 2:", 10, "expected a new name, found loop variable 'i' of line 9"),
    ("for j in 2:", "for j in two:", 10, "expected a number of trips, found 'two'"),
    ("for j in 2:", "for j of 2:", 10, "expected 'in' and the trips, found 'of'"),
    ("MOVE l1", "MOVEE l1", 11, "VECTOR, SETUP, HOST, SYNC, found 'MOVEE'"),
    ("MOVE l1.a.move", "MOVE", 11, "expected the name of the command, found '['"),
    ("12-8*i", "12-8*k", 11, "expected a number or a variable (i, j), found 'k'"),
    ("[h=8 |", "[h:8 |", 11, "expected '=', found ':'"),
    ("src x{", "source x{", 12, "found 'source'"),
    ("src x{", "src y{", 12, "expected a tensor or ring (r, x), found 'y'"),
    ("{h:16, w:4}", "{hh:16, w:4}", 12, "expected an extent of this command (h, w), found 'hh' (did you mean 'h'?)"),
    ("clip(h: 8*i-1 of 12)", "clip(h: 8*i-1 12)", 13, "expected 'of' and the length of the axis, found '12'"),
    ("wait r.free", "wait r.fre", 14, "a token (done, r.free, r.full), found 'r.fre' (did you mean 'r.free'?)"),
    ("if first(i)", "if frist(i)", 14, "expected a condition: first, last, found 'frist' (did you mean 'first'?)"),
    ("!last(j)", "!last(x)", 14, "expected an enclosing loop variable (i, j), found 'x'"),
    ("signal r.full", "signal r.full & r.free", 15, "found '&'"),
    ("signal r.full", "signal r.full ;", 15, "expected a name, a number or punctuation, found ';'"),
    ("SYNC other", "SYNC ot\"her", 16, "expected a name, a number or punctuation"),
    ("    SYNC other", "     SYNC other", 16, "expected a statement indented by 6 spaces, found 'SYNC'"),
    ("    SYNC other", "\tSYNC other", 16, "a tab as indentation; expected spaces"),
    ("layer _host", "layer l2", 16, "expected a layer"),
    ("queue array", "  queue array", 17, "found 'queue'"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), ERRORS, ids=[str(new) for _, new, *_ in ERRORS])
def test_errors_name_file_line_and_what_was_expected(old: str, new: str, line: int, message: str) -> None:
    assert old in TEXT
    broken = TEXT.replace(old, new, 1)
    with pytest.raises(ProgramError) as error:
        parse_program(broken, "p.asm")
    assert str(error.value).startswith(f"p.asm:{line}: "), error.value
    assert message in str(error.value)


def test_empty_file() -> None:
    with pytest.raises(ProgramError, match="p.asm:1: expected 'program NAME on CHIP', found nothing"):
        parse_program("# nothing but a comment\n", "p.asm")


def test_unknown_dtype_needs_element_bytes() -> None:
    odd = TEXT.replace("dtype int32", "dtype int5")
    with pytest.raises(ProgramError, match="expected 'element' and a number of bytes"):
        parse_program(odd, "p.asm")
    stated = odd.replace("shape [2, 4]", "shape [2, 4] strides [16, 4]")
    stated = stated.replace("-4+16*i clip", "-4+16*i element 4 clip")
    assert parse_program(stated).queues == parse_program(TEXT).queues


def test_every_line_of_the_golden_matters() -> None:
    """Whatever line is left out, the parser says so or the Program is another one."""
    lines = (GOLDEN / "program.asm").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.split("#")[0].strip():
            try:
                changed = parse_program("\n".join([*lines[:number], *lines[number + 1 :]]))
            except ProgramError:
                continue
            assert changed != golden()
