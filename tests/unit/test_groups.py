"""Groups of layers in mapping files: what is refused and where, and what a right one becomes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ArchsimError
from archsim.cli.app import main
from archsim.ir.workload import Workload
from archsim.lab.run import mapping_file
from archsim.lab.run.job import build
from archsim.lab.run.run import execute
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from tests.tools.layers import Net
from tests.unit.fixtures_groups import CONVOLUTIONS, IN_A_ROW, attention, saved

FIRST = "  - conv: {name: one, out_channels: 6, kernel: 1, act: relu}\n"
MIDDLE = "  - conv: {name: two, out_channels: 5, kernel: 3, pad: 1, act: relu}\n"
LAST = "  - conv: {name: three, out_channels: 4, kernel: 1}\n"
LOOP = "  - {loop: three.p, tile: 2}\n"
ONE = "  - {tensor: one, in: l1, slots: 2}\n"
MEMBERS = "  - {layer: one, ahead: 3}\n  - {layer: two, ahead: 1}\n  - {layer: three}\n"
SECOND = IN_A_ROW[IN_A_ROW.index("- layer: two") : IN_A_ROW.index("- layer: three")]

Edits = tuple[tuple[str, str], ...]
EDITS: list[tuple[Edits, Edits, str]] = [  # of the workload, of the mapping, and what is said
    ((), (("- {layer: three}", "- {layer: thre}"),), "no layer 'thre' in 'row' (did you mean 'three'?)"),
    ((), (("- {layer: three}", "- {layer: two}"),), "layer 'two' is in a group already; allowed in one"),
    (
        (),
        ((MEMBERS, "  - {layer: two, ahead: 1}\n  - {layer: one, ahead: 3}\n  - {layer: three}\n"),),
        "layer 'one' does not follow the member before it; allowed layers in a row",
    ),
    ((), ((MEMBERS, "  - {layer: one}\n"),), "shared loops or windows of one member; allowed in groups of several"),
    ((), (("  members:\n" + MEMBERS, "  members: []\n"),), "no members; allowed one or more"),
    ((), ((SECOND, ""),), "the mapping of its member 'two' is not stated; allowed all or none"),
    ((), ((LOOP, ""),), "0 shared loops; allowed 1 or 2"),
    ((), ((LOOP, LOOP.replace("three", "two")),), "over 'two.p'; allowed dims of its last member, 'three'"),
    ((), ((LOOP, LOOP.replace(".p", ".c")),), "loop over 'three.c'; allowed dims of its result: n, p, q, k"),
    ((), ((LOOP, LOOP.replace("2", "11")),), "tiles of 11 of 'three.p'; allowed one loop over a dim, 1 to 10"),
    ((), ((LOOP, LOOP * 2),), "tiles of 2 of 'three.p'; allowed one loop over a dim, 1 to 10"),
    ((), ((LOOP, LOOP.replace(".p", ".k")),), "'three.k' moves no axis of 'two' that is one dim of layer 'two'"),
    ((), (("three.b,", "thre.b,"),), "it holds 'b' of 'thre', which is no member; allowed members'"),
    ((), (("- {layer: three}", "- {layer: three, ahead: 1}"),), "its last member, 'three', is ahead of itself"),
    ((), ((ONE, ""),), "states no window of 'one', which layer 'one' makes and a later member reads"),
    ((), ((ONE, ONE * 2),), "two windows of one tensor; allowed one of each"),
    ((), ((ONE, ONE + ONE.replace("one", "x")),), "a window of 'x', which no member makes for another one"),
    ((), ((ONE, ONE.replace("l1", "acc")),), "a window of 'one' in 'acc'; its layers make and read it in 'l1'"),
    (
        (),
        ((ONE, ONE.replace("slots: 2", "slots: 1")),),
        "a window of 'one' with 1 slots; allowed 2 or more, since 'one' is ahead of 'two' by 2 passes",
    ),
    ((), ((ONE, ONE.replace("}", ", dim: q}")),), "a window of 'one' along 'q'; it moves on along 'p'"),
    ((), ((ONE, ONE.replace("}", ", rows: 4, step: 2}")),), "rows 4 and step 2; its readers need rows 5 and step 2"),
    (
        (),
        (("one, ahead: 3", "one, ahead: 1"),),
        "layer 'one' is ahead of 'two' by 0 passes; it reads what is made 1 passes later",
    ),
    ((), ((ONE, ONE.replace("slots: 2", "slots: 200000")),), "do not fit 'l1', which has"),
    (
        (),
        ((LOOP, f"{LOOP}  - {{loop: three.q, tile: 2}}\n"),),
        "passes share positions of 'one' along another loop than the innermost one",
    ),
    (
        (),
        ((LOOP, LOOP.replace(".p", ".q")),),
        "passes share positions of 'one' along an axis that is not its outermost one",
    ),
    (((LAST, f"{LAST}outputs: [two, three]\n"),), (), "a window of 'two', which is an output, or other tensors"),
    (
        ((LAST, f"{LAST}  - conv: {{name: four, input: one, out_channels: 2, kernel: 1}}\noutputs: [three, four]\n"),),
        (),
        "a window of 'one', which layer 'four' reads outside of it",
    ),
    (
        (
            (MIDDLE, MIDDLE.replace("name: two", "name: two, input: x")),
            (LAST, f"{LAST}  - pool: {{input: one, kernel: 2}}\n"),
        ),
        (),
        "no later member reads what layer 'one' makes",
    ),
    (
        ((LAST, LAST.replace("kernel: 1", "kernel: 1, pad: 1")),),
        (),
        "layer 'two' makes its result in (5,) passes, which are read in (6,)",
    ),
]  # fmt: skip


def refused(folder: Path, workload: str | Workload, mapping: str, chip: str = "edge_npu") -> str:
    """The message, without the place of the group in front."""
    job = saved(folder, workload if isinstance(workload, str) else CONVOLUTIONS, mapping, chip)
    job = job if isinstance(workload, str) else replace(job, model=workload)
    with pytest.raises(ArchsimError) as caught:
        build(job)
    assert caught.value.exit_code == 2
    found, line = str(caught.value), mapping[: mapping.index("- group:")].count("\n") + 1
    place = f"{job.mapping}:{line}:3: groups[0]: group '"
    assert found.startswith(place) and "\n" not in found, found
    return found.removeprefix(place)


def swapped(text: str, edits: Edits) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("model", "edits", "words"), EDITS, ids=[words for _, _, words in EDITS])
def test_a_wrong_group_is_refused_where_it_stands(tmp_path: Path, model: Edits, edits: Edits, words: str) -> None:
    found = refused(tmp_path, swapped(CONVOLUTIONS, model), swapped(IN_A_ROW, edits))
    assert words in found, found


def test_a_chip_has_to_keep_inputs_and_outputs_in_one_memory(tmp_path: Path) -> None:
    found = refused(tmp_path, CONVOLUTIONS, IN_A_ROW, "nvdla_large")
    assert "'conv_buffer' keeps inputs and 'write_buffer' outputs; allowed chips where one memory keeps both" in found


def test_a_chip_has_to_have_one_core(tmp_path: Path) -> None:
    found = refused(tmp_path, CONVOLUTIONS, IN_A_ROW, "tpu_v4i")
    assert "several members on a chip of several cores, which is not built yet" in found


@pytest.mark.parametrize("images", [1, 2, 3])
def test_passes_begin_anew_with_each_image_where_they_share_rows(tmp_path: Path, images: int) -> None:
    """A window has its slots in order, so an image is through before the next one begins; weights stay."""
    workload = swapped(CONVOLUTIONS, (("x: [1,", f"x: [{images},"),))
    job = saved(tmp_path, workload, swapped(IN_A_ROW, ((LOOP, "  - {loop: three.n, tile: 1}\n" + LOOP),)), "edge_npu")
    outcome = verify(VerifyOptions(job, interleavings=3))
    assert outcome.met and {"one", "two"} <= {row.tensor for each in outcome.checks for row in each.rows}
    done = execute(job).summary
    moved = done["dram"]["read_bytes"] + done["dram"]["write_bytes"]
    assert done["compulsory_bytes"] <= moved <= 1.2 * done["compulsory_bytes"] + 512


def test_what_is_passes_behind_its_engine_begins_anew_too(tmp_path: Path) -> None:
    workload, mapping = attention(2, 16, 4)
    edits = (("scores, ahead: 1", "scores, ahead: 2"), ("scores, in: l1, slots: 1", "scores, in: l1, slots: 2"))
    job = saved(tmp_path, workload, swapped(mapping, edits), "edge_npu")
    assert verify(VerifyOptions(job, interleavings=3)).met


def test_members_are_not_further_ahead_than_an_outer_iteration(tmp_path: Path) -> None:
    found = refused(tmp_path, *attention(2, 16, 16))
    assert "1 passes of its inner loop; allowed more than a member is ahead, 1" in found


SQUARE = """schema: archsim.workload/1
name: square
source: "made up"
inputs: {q: [1, 2, 8, 4], k: [1, 2, 4, 4]}
layers:
  - einsum: {equation: "b h s d, b h d e -> b h s e", inputs: [q, k], name: scores}
  - softmax: {name: shares, input: scores}
  - einsum: {equation: "b h s d, b h t d -> b h s t", inputs: [shares, shares], name: context}
"""


def test_readers_move_on_alike(tmp_path: Path) -> None:
    """Rows of a tensor times all of its rows: it would move on, and stay."""
    _, mapping = attention(2, 8, 4)
    edits = (("  - {loop: context.h, tile: 1}\n", ""), ("  - {keep: context.b, in: l1, slots: 2}\n", ""))
    found = refused(tmp_path, SQUARE, swapped(mapping, edits))
    assert "the readers of 'shares' move on by different steps; allowed one step for all of them" in found


def test_members_run_on_arrays_and_vector_units(tmp_path: Path) -> None:
    net = Net(np.random.default_rng(0))
    net.conv(net.source("x", (1, 6, 6, 4)), "one", 6, 1, 1, (0, 0, 0, 0))
    net.conv(net.transpose("one", "two"), "three", 4, 1, 1, (0, 0, 0, 0))
    names = (
        ("layer: one", "layer: conv_one"),
        ("layer: two", "layer: copy_two"),
        ("layer: three", "layer: conv_three"),
    )
    mapping = IN_A_ROW
    for old, new in (*names, (" one.", " conv_one."), (" two.", " copy_two."), (" three.p", " conv_three.q")):
        mapping = mapping.replace(old, new)
    found = refused(tmp_path, net.done("three"), mapping.replace(" three.", " conv_three."))
    assert "layer 'copy_two' is a copy; allowed members that an array or a vector unit runs" in found


SUM = "  - add: {name: three, inputs: [three_conv, OTHER]}\n"
ADDS = IN_A_ROW.replace("layer: three", "layer: three_conv").replace("three.", "three_conv.").replace(
    "  - {keep: out, in: l1, slots: 2}\n", "  - {keep: epilogue, in: l1, slots: 0}\n  - {keep: out, in: l1, slots: 2}\n"
)  # fmt: skip


def test_readers_have_as_many_passes(tmp_path: Path) -> None:
    last = "  - conv: {name: three_conv, out_channels: 6, kernel: 3, pad: 2}\n" + SUM.replace("OTHER", "one")
    workload = CONVOLUTIONS.replace(", pad: 1", "").replace(LAST, last)
    found = refused(tmp_path, workload, ADDS)
    assert "'two' reads 'one' in (4,) passes, 'three_conv' in (5,); allowed as many" in found


def branching(edits: Edits = ()) -> tuple[str, str]:
    """The middle layer and the last one both multiply what the first one made."""
    middle = "  - conv: {name: two, out_channels: 4, kernel: 1}\n"
    last = "  - conv: {name: three_conv, input: one, out_channels: 4, kernel: 1}\n" + SUM.replace("OTHER", "two")
    head, tail = ADDS[: ADDS.index("groups:")], ADDS[ADDS.index("groups:") :]
    return CONVOLUTIONS.replace(MIDDLE, middle).replace(LAST, last), head + swapped(tail, edits)


AHEAD = [(0, 0), (1, 0), (1, 1), (3, 2), (3, 0)]


@pytest.mark.parametrize(("one", "two"), AHEAD)
def test_two_members_read_a_window_on_one_engine(tmp_path: Path, one: int, two: int) -> None:
    """The later one may be passes behind the other: it reads the same slot."""
    edits = (("one, ahead: 3", f"one, ahead: {one}"), ("two, ahead: 1", f"two, ahead: {two}"))
    slots = (("one, in: l1, slots: 2", f"one, in: l1, slots: {one - two + 1}"),)
    more = (("two, in: l1, slots: 2", f"two, in: l1, slots: {two + 1}"),)
    workload, mapping = branching((*edits, *slots, *more))
    job = saved(tmp_path, workload, mapping)
    outcome = verify(VerifyOptions(job, numbers="int", interleavings=3))
    assert outcome.met and {"one", "two", "three_conv"} <= {row.name for row in outcome.checks[0].rows}


def test_the_earlier_of_two_readers_on_one_engine_is_no_further_behind(tmp_path: Path) -> None:
    edits = (
        ("ahead: 3", "ahead: 2"),
        ("ahead: 1", "ahead: 0"),
        ("{layer: three_conv}", "{layer: three_conv, ahead: 1}"),
    )
    found = refused(tmp_path, *branching(edits))
    assert "layer 'three_conv' is ahead of 'two', which reads 'one' before it" in found


SHARED = [
    ("three.b, in: l1", "three.b, in: l9", "'b' kept in 'l9' (no memory of the chip)"),
    ("three.b,", "three.w,", "no operand 'w' to keep"),
    ("three.b, in: l1, slots: 1", "three.b, in: l1, slots: 0", "no slots of 'b', which is not among the resident"),
]


@pytest.mark.parametrize(("old", "new", "words"), SHARED, ids=[words for _, _, words in SHARED])
def test_a_wrong_keep_over_passes_is_refused_at_its_group(tmp_path: Path, old: str, new: str, words: str) -> None:
    job = saved(tmp_path, CONVOLUTIONS, swapped(IN_A_ROW, ((old, new),)))
    with pytest.raises(ArchsimError) as caught:
        build(job)
    assert str(caught.value).startswith(f"{job.mapping}:25:3: groups[0]: layer 'three': ") and words in str(
        caught.value
    )


FORMS = [
    ((LOOP, LOOP.replace("2", "two")), ":33:21: groups[0].shared[6].tile: found 'two'; allowed an integer of 0"),
    ((LOOP, LOOP.replace("three.", "")), ":33:6: groups[0].shared[6].loop: found 'p'; allowed LAYER.DIM"),
    (("three.b,", "b,"), ":31:6: groups[0].shared[4].keep: found 'b'; allowed LAYER.OPERAND"),
    (("ahead: 3", "ahead: -3"), ":38:18: groups[0].members[0].ahead: found -3; allowed an integer of 0 or more"),
    (("group: g0\n", "group: g0\n  foo: 3\n"), ":26:3: groups[0].foo: unknown key; allowed group, shared, windows"),
    (("mapping/2", "mapping/1"), ":24:1: groups: found 'groups'; allowed them with schema: archsim.mapping/2"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "said"), FORMS, ids=[said for _, said in FORMS])
def test_a_wrong_form_is_refused_where_it_stands(tmp_path: Path, edit: tuple[str, str], said: str) -> None:
    job = saved(tmp_path, CONVOLUTIONS, swapped(IN_A_ROW, (edit,)))
    with pytest.raises(ArchsimError) as caught:
        build(job)
    assert str(caught.value).startswith(f"{job.mapping}{said}"), caught.value


def test_a_group_is_stated_once(tmp_path: Path) -> None:
    again = "groups:\n- group: g0\n  shared: []\n  windows: []\n  members: [{layer: one}]\n"
    job = saved(tmp_path, CONVOLUTIONS, swapped(IN_A_ROW, (("groups:\n", again),)))
    with pytest.raises(ArchsimError, match="mapping.yaml:29:3: group 'g0' is stated twice; allowed once"):
        build(job)


COMMANDS = [
    ("run", (ONE, ""), "states no window of 'one'"),
    ("verify", (LOOP, ""), "0 shared loops"),
    ("asm", ("- {layer: three}", "- {layer: two}"), "is in a group already"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "edit", "words"), COMMANDS, ids=[command for command, _, _ in COMMANDS])
def test_a_command_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, edit: tuple[str, str], words: str
) -> None:
    job = saved(tmp_path, CONVOLUTIONS, swapped(IN_A_ROW, (edit,)))
    with pytest.raises(SystemExit) as ended:
        main([command, str(job.model), "--on", "edge_npu", "--mapping", str(job.mapping)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"{job.mapping}:" in said and ":3: groups[0]: group 'g0': " in said and words in said


def test_what_is_written_has_all_that_follows(tmp_path: Path) -> None:
    """The window of a product of three rows: a step of two rows, of two passes, and the row before them."""
    built = build(saved(tmp_path, CONVOLUTIONS, IN_A_ROW))
    assert built.mapping is not None and built.workload is not None
    (group,) = built.mapping.groups
    assert [(each.dim, each.rows, each.step) for each in group.windows] == [("p", 5, 2), ("p", 2, 2)]
    text = mapping_file.to_text(built.mapping)
    assert "{tensor: one, in: l1, slots: 2, dim: p, rows: 5, step: 2}" in text
    assert "schema: archsim.mapping/2" in text
