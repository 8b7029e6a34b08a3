"""Mapping files: exported, read back, edited by hand, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import archsim
from archsim.base.errors import ArchsimError, ConfigError
from archsim.cli.app import main
from archsim.ir.asm.printer import print_program
from archsim.ir.text import mapping_file_from_yaml
from archsim.lab.run import mapping_file
from archsim.lab.run.job import BuiltJob, Job, build


def exported(model: str, chip: str, path: Path, schedule: str = "best") -> BuiltJob:
    built = build(Job(model, chip, schedule=schedule))
    assert built.mapping is not None and built.workload is not None
    mapping_file.write(built.mapping, built.workload, path)
    return built


@pytest.mark.slow
@pytest.mark.parametrize("chip", archsim.list_chips())
def test_export_then_import_gives_the_same_program(chip: str, tmp_path: Path) -> None:
    """Whole files, YAML and text, on every chip: the Program does not move by a byte, nor do the bounds."""
    built = exported("squeezenet", chip, tmp_path / "m.yaml")
    assert built.mapping is not None and built.workload is not None
    mapping_file.write(built.mapping, built.workload, tmp_path / "m.txt")
    listing = print_program(built.program)
    for suffix in (".yaml", ".txt"):
        again = build(Job("squeezenet", chip, mapping=tmp_path / f"m{suffix}"))
        assert print_program(again.program) == listing
        assert again.mapping is not None
        for new, old in zip(again.mapping.layers, built.mapping.layers, strict=True):
            assert (new.nodes, new.resident, new.bound_cycles) == (old.nodes, old.resident, old.bound_cycles)
        assert again.mapping.placements == built.mapping.placements


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("files")
    built = exported("eye_tracking", "edge_npu", folder / "m.yaml", "layers")
    assert built.mapping is not None and built.workload is not None
    return (folder / "m.yaml").read_text(), mapping_file.to_text(built.mapping, built.workload)


def refused(text: str, path: Path, model: str = "eye_tracking", chip: str = "edge_npu") -> str:
    path.write_text(text)
    with pytest.raises(ArchsimError) as caught:
        build(Job(model, chip, mapping=path))
    assert caught.value.exit_code == 2
    return str(caught.value)


def swapped(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return change


def line_of(text: str, needle: str) -> int:
    return text[: text.index(needle)].count("\n") + 1


STEM = "  - {loop: p, tile: 22}"
EDITS = [
    ("- layer: stem\n", "- layer: stam\n", "no layer 'stam' in 'eye_tracking' (did you mean 'stem'?)"),
    (STEM, "  - {loop: x, tile: 16}", "no dim 'x'; the layer has: "),
    (STEM, "  - {loop: p, tile: 160}", "tiles of 160 of dim 'p'; allowed 1 to 64"),
    (STEM, "  - {loop: p, tile: 0}", "tiles of 0 of dim 'p'"),
    (STEM, "  - {loop: p, tile: 22, axis: rows}", "spread over 'rows'"),
    (STEM, "  - {loop: q, tile: 16}", "'a' as a sliding window over 'q'; allowed inputs, over 'p'"),
    (STEM, f"{STEM}\n  - {{loop: p, tile: 5}}", "tiles of 5 of dim 'p' in strips of 22"),
    (STEM, "  - {loop: r, tile: 1}", "'a' as a sliding window over 'r'; allowed inputs, over 'p'"),
    (STEM, f"{STEM}\n  - {{loop: r, tile: 1}}", "the loop over 'r', a reduction, stands above the Keep of 'acc'"),
    ("  - {keep: b, in: l1, slots: 1}", "  - {keep: b, in: l2, slots: 1}", "(no memory of the chip"),
    ("  - {keep: b, in: l1, slots: 1}", "  - {keep: b, in: acc, slots: 1}", "'b' kept in 'acc'; allowed 'l1'"),
    ("  - {keep: b, in: l1, slots: 1}", "  - {keep: w, in: l1, slots: 1}", "no operand 'w' to keep"),
    ("  - {keep: b, in: l1, slots: 1}", "  - {keep: b, in: l1, slots: 0}", "no slots of 'b'"),
    ("  - {keep: b, in: l1, slots: 1}\n", "", "'b' is kept nowhere"),
    ("  - {keep: bias, in: l1, slots: 1}", "  - {keep: b, in: l1, slots: 1}", "'b' is kept already"),
    ("slots: 2, reserve_at: 4}", "slots: 2, reserve_at: 40}", "reserve_at 40"),
    ("  - {keep: out, in: l1, slots: 0}", "  - {keep: out, in: l1, slots: 2}", "2 slots of 'out', which lies whole"),
    ("  - {keep: acc, in: acc, slots: 2}", "  - {keep: acc, in: acc, slots: 2000}", "'acc' overflows: needs "),
    ("  unit: mxu", "  unit: mxv", "unit 'mxv' (did you mean 'mxu'?); allowed mxu"),
    ("  kind: matmul", "  kind: vector", "kind 'vector'; the layer is a matmul"),
    ("  resident: [out]", "  resident: [out, a]", "operand 'a' does not stay on chip; its tensor 'eye' lies in 'dram'"),
    ("  resident: [out]\n", "", "operand 'out' stays on chip (tensor 'stem') but is not among"),
    ("- stem in l1 at 2012896", "- stom in l1 at 2012896", "no tensor 'stom' with storage of its own"),
    ("- stem in l1 at 2012896", "- stem in l1 at 2012897", "allowed multiples of its word"),
    ("- stem in l1 at 2012896", "- stem in l1 at 1967200", "another tensor lies there at the same time"),
    ("bytes 84240", "bytes 84241", "84,241 bytes; it has 84,240"),
    ("layers 0 to 1", "layers 0 to 2", "layers 0 to 2; it lives from 0 to 1"),
    ("- eye in dram at 0 ", "- eye in dram at 32 ", "allowed multiples of 64 bytes"),
    ("- eye in dram", "- eye in drum", "no memory 'drum' (did you mean 'dram'?)"),
    ("inputs: int8", "inputs: bf16", "dtypes.inputs: found bf16; this run has int8"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), EDITS, ids=[words for _, _, words in EDITS])
def test_a_wrong_edit_is_refused_where_it_stands(
    whole: tuple[str, str], tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = tmp_path / "edited.yaml"
    message = refused(swapped(old, new)(whole[0]), path)
    assert words in message and message.startswith(f"{path}:"), message
    assert "\n" not in message


def test_the_line_of_a_node_is_named(whole: tuple[str, str], tmp_path: Path) -> None:
    path, text = tmp_path / "edited.yaml", swapped(STEM, "  - {loop: p, tile: 160}")(whole[0])
    found = refused(text, path)
    assert found.startswith(f"{path}:{line_of(text, '{loop: p, tile: 160}')}:5: layers[0].nodes[3]: layer 'stem': ")


def test_an_edit_that_fits_moves_the_program_and_the_bound(whole: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "edited.yaml"
    path.write_text(swapped(STEM, "  - {loop: p, tile: 4}")(whole[0]))
    built, plain = (
        build(Job("eye_tracking", "edge_npu", mapping=path, schedule="layers")),
        build(Job("eye_tracking", "edge_npu", schedule="layers")),
    )
    assert built.mapping is not None and plain.mapping is not None
    assert built.mapping.layers[0].bound_cycles > plain.mapping.layers[0].bound_cycles
    assert built.mapping.layers[1].nodes == plain.mapping.layers[1].nodes
    assert built.mapping.layers[0].proof == "stated, not searched"


def test_loops_over_reductions_stay_below_the_accumulators(whole: tuple[str, str], tmp_path: Path) -> None:
    text = whole[0]
    start = text.index("- layer: stage1\n")
    edited = text[:start] + text[start:].replace("  - {loop: q, tile: 20}", "  - {loop: c, tile: 8}", 1)
    found = refused(edited, tmp_path / "edited.yaml")
    assert "the loop over 'c', a reduction, stands above the Keep of 'acc'" in found


def test_layers_that_a_file_leaves_out_are_searched(tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(
        "schema: archsim.mapping/1\nlayers:\n- layer: gaze\n  unit: mxu\n  kind: matmul\n  nodes:\n"
        "  - {keep: a, in: l1, slots: 0}\n  - {keep: b, in: l1, slots: 1}\n  - {keep: bias, in: l1, slots: 1}\n"
        "  - {loop: n, tile: 1}\n  - {keep: out, in: l1, slots: 2}\n  - {keep: acc, in: acc, slots: 2}\n"
        "  resident: [a]\n"
    )
    built, plain = (
        build(Job("eye_tracking", "edge_npu", mapping=path, schedule="layers")),
        build(Job("eye_tracking", "edge_npu", schedule="layers")),
    )
    assert built.mapping is not None and plain.mapping is not None
    changed = [n.layer for n, o in zip(built.mapping.layers, plain.mapping.layers, strict=True) if n != o]
    assert changed == ["gaze"]


def test_what_stays_on_chip_gives_way_to_a_stated_layer_but_not_its_own_operands(tmp_path: Path) -> None:
    """Without placements the compiler sends others' tensors off chip; the layer's own make an overflow of it."""
    nodes = (
        "  - {keep: a, in: l1, slots: SLOTS}\n  - {keep: b, in: l1, slots: WIDE}\n  - {keep: bias, in: l1, slots: 1}\n"
        "  - {loop: n, tile: 1}\n  - {keep: out, in: l1, slots: 2}\n  - {keep: acc, in: acc, slots: 2}\n"
    )
    head = "schema: archsim.mapping/1\nlayers:\n- layer: gaze\n  unit: mxu\n  kind: matmul\n  nodes:\n"
    path = tmp_path / "some.yaml"
    path.write_text(head + nodes.replace("SLOTS", "0").replace("WIDE", "20000") + "  resident: [a]\n")
    with pytest.raises(ArchsimError, match="some.yaml:8:5: layers.0..nodes.1.: layer 'gaze': 'l1' overflows: needs "):
        build(Job("eye_tracking", "edge_npu", mapping=path))
    path.write_text(head + nodes.replace("SLOTS", "1").replace("WIDE", "1"))
    with pytest.raises(ArchsimError, match="1 slots of 'a', which lies whole in 'l1'; allowed 0"):
        build(Job("eye_tracking", "edge_npu", mapping=path))


def test_a_file_for_another_chip_or_model_says_so(whole: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(whole[0])
    values = {"l1.size": "4 MiB"}
    built = build(Job("eye_tracking", "edge_npu", values=values, mapping=path))
    assert any("made for another chip 'edge_npu'" in warning for warning in built.warnings)
    with pytest.raises(ArchsimError, match="m.yaml was made for chip 'edge_npu', not 'tpu_v1'"):
        build(Job("eye_tracking", "tpu_v1", mapping=path))
    with pytest.raises(ArchsimError, match="no layer 'stem' in 'squeezenet'.*was made for model 'eye_tracking'"):
        build(Job("squeezenet", "edge_npu", mapping=path))


TEXTS = [
    ("p*3(22)", "p*4(22)", "expected p*3(22) (extent 64) instead of p*4(22)"),
    ("p*3(22)", "z*3(22)", "expected a dim of the layer"),
    ("p*3(22)", "p*3[22]", "expected '('"),
    ("a:2^1", "a:2^9", "expected 9 loops behind a window over so many, found 1"),
    ("[b:1 bias:1", "[b bias:1", "expected ':'"),
    ("mapping of", "mapping off", "expected 'of' and the workload"),
    ("layer stem on mxu as matmul", "layer stem on mxu as matmull", "found 'matmull' (did you mean 'matmul'?)"),
    ("layer stem", "lair stem", "expected a statement"),
    ("p 64,", "p 640,", "instead of p*3(22)"),
]


@pytest.mark.parametrize(("old", "new", "words"), TEXTS, ids=[new for _, new, _ in TEXTS])
def test_a_wrong_text_is_refused_where_it_stands(
    whole: tuple[str, str], tmp_path: Path, old: str, new: str, words: str
) -> None:
    path, text = tmp_path / "edited.txt", swapped(old, new)(whole[1])
    found = refused(text, path)
    assert words in found, found
    at = int(found.removeprefix(f"{path}:").partition(":")[0])
    assert 0 <= at - line_of(text, new) <= 1


def test_a_text_for_other_extents_is_refused(whole: tuple[str, str], tmp_path: Path) -> None:
    found = refused(swapped("p 64,", "p 63,")(whole[1]), tmp_path / "edited.txt")
    assert "layer 'stem' has the extents " in found


def test_a_stated_layer_must_obey_constraints_too(whole: tuple[str, str], tmp_path: Path) -> None:
    found = refused(whole[0] + "constraints:\n- {layers: stem, tiles: {p: 8}}\n", tmp_path / "m.yaml")
    assert "layer 'stem': tiles of 'p' are 22, not 8; " in found and "constraints[0] asks for that" in found


def test_a_stated_layer_may_spread_no_other_dims(whole: tuple[str, str], tmp_path: Path) -> None:
    found = refused(whole[0] + "constraints:\n- {layers: stage1, spatial: {cols: []}}\n", tmp_path / "m.yaml")
    assert "layer 'stage1': tiles of 'k' are " in found
    assert ", not 1: it is spread over cols; " in found and "constraints[0] asks for that" in found


def test_the_command_line_exports_and_takes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.txt"
    for arguments in (["--export", str(path)], ["--mapping", str(path), "--layer", "stem"]):
        with pytest.raises(SystemExit) as caught:
            main(["map", "eye_tracking", "--on", "edge_npu", *arguments])
        assert not caught.value.code
    assert "stated, not searched" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        main(["map", "eye_tracking", "--on", "edge_npu", "--export", str(tmp_path / "m.csv")])
    assert caught.value.code == 2 and "allowed mapping files end in" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["check", str(path)])
    assert not caught.value.code and "mapping of 'eye_tracking' on 'edge_npu'" in capsys.readouterr().out


def test_a_missing_key_names_the_one_that_may_be_meant() -> None:
    nodes = "nodes: [{keep: a, in: l1, slotz: 2}]"
    text = f"schema: archsim.mapping/1\nlayers:\n- {{layer: a, unit: mxu, kind: matmul, {nodes}}}\n"
    with pytest.raises(ConfigError, match=r"nodes\[0\]\.slots: missing \(did you mean it by 'slotz'\?\)"):
        mapping_file_from_yaml(text, "m.yaml")
