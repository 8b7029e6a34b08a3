"""Constraints of mapping files: they hold in what is found, and what cannot hold is refused."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

import archsim
from archsim.base.errors import ArchsimError
from archsim.cli.app import main
from archsim.ir.mapping import Constraint, Loop
from archsim.ir.workload import Workload
from archsim.lab.run.job import Job, build
from archsim.lab.what_if.explain import explained
from archsim.report.run.explanation import to_table
from archsim.spec.architecture import Architecture
from mapper.layers import Layers
from mapper.options import Given, Options, resolve_dtypes


def constrained(text: str, path: Path) -> Path:
    path.write_text(f"schema: archsim.mapping/1\nconstraints:\n{text}")
    return path


def test_constraints_hold_in_what_is_found(tmp_path: Path) -> None:
    path = constrained(
        '- {layers: "stage?_?", tiles: {k: 8}, order: [p, k]}\n'
        "- {layers: stage1, order: [k, p], tiles: {k: 16, p: 4}}\n"
        "- {layers: stem, stationary: [a, b], units: [mxu]}\n",
        tmp_path / "c.yaml",
    )
    built = build(Job("eye_tracking", "edge_npu", mapping=path))
    assert built.mapping is not None
    loops = {
        layer.layer: [(node.dim, node.tile) for node in layer.nodes if hasattr(node, "dim")]
        for layer in built.mapping.layers
    }
    assert loops["stage1"] == [("k", 16), ("p", 4)]
    for name in ("stage1_a", "stage2_b", "stage3_a"):
        dims = [dim for dim, _ in loops[name]]
        assert ("k", 8) in loops[name] and ("p" not in dims or dims.index("p") < dims.index("k"))


CONSTRAINTS = [
    ("- {layers: stom, tiles: {k: 8}}\n", "constraints[0].layers: 'stom' matches no layer (did you mean 'stem'?)"),
    ("- {layers: stem, tiles: {z: 8}}\n", "constraints[0]: layer 'stem': no dim 'z'"),
    ("- {layers: stem, tiles: {p: 999}}\n", "layer 'stem': tiles of 999 of dim 'p'; allowed 1 to 64"),
    ("- {layers: pooled, tiles: {p: 1}}\n", "layer 'pooled': dim 'p' is never cut"),
    ("- {layers: stem, units: [vpx]}\n", "(Conv) may run on vpx alone (did you mean 'vpu'?); allowed mxu, vpu"),
    ("- {layers: stem, order: [c, p]}\n", "layer 'stem': no loop order of the space has c before p"),
    ("- {layers: stem, order: [p, k]}\n- {layers: st*, order: [k, p]}\n", "the orders contradict each other: "),
    ("- {layers: stem, tiles: {p: 8}}\n- {layers: stem, tiles: {p: 4}}\n",
     "layer 'stem': tiles of 'p' are 8 and 4"),
    ("- {layers: stem, units: [mxu]}\n- {layers: stem, units: [vpu]}\n",
     "layer 'stem': the units allowed contradict"),
    ("- {layers: stem, stationary: [c]}\n", "layer 'stem': no operand 'c' that comes in"),
    ("- {layers: stem}\n", "allowed one or more of units, order, tiles, stationary, spatial"),
    ("- {layers: stem, spatial: {rows: [z]}}\n",
     "constraints[0]: layer 'stem': no dim 'z'; it has n, p, q, k, c, r, s"),
    ("- {layers: stem, spatial: {row: [c]}}\n",
     "array 'mxu' has no axis 'row' (did you mean 'rows'?); it has rows, cols"),
    ("- {layers: stem, spatial: {rows: c}}\n", "constraints[0].spatial.rows: found 'c'; allowed a list"),
    ("- {layers: stem, spatial: [c]}\n",
     "constraints[0].spatial: found ['c']; allowed a mapping of names to values"),
    ("- {layers: stem, spatal: {rows: [c]}}\n",
     "constraints[0].spatal: unknown key; allowed layers, units, order, tiles, "
     "stationary, spatial (did you mean 'spatial'?)"),
    ("- {layers: stem, spatial: {rows: [p]}}\n",
     "rows of 'mxu' may spread p, but its weight_stationary never spreads p "
     "there. Dims spread over rows by dataflow: dot_product c; input_stationary c, r, s; output_stationary n, p, q; "
     "register_blocked n, p, q; "
     "weight_stationary c, r, s"),
    ("- {layers: stem, spatial: {cols: []}, tiles: {k: 8}}\n",
     "layer 'stem': tiles of 8 of dim 'k' are spread over cols "
     "of 'mxu', which may spread nothing"),
    ("- {layers: stem, spatial: {rows: [c]}}\n- {layers: st*, spatial: {rows: [r, s]}}\n", "layer 'stem': the dims "
     "allowed on rows contradict each other"),
    ("- {layers: pooled, spatial: {rows: [c]}}\n",
     "layer 'pooled' (GlobalAveragePool) runs on no array, which alone has "
     "rows"),
    ("- {layers: stem, units: [vpu], spatial: {rows: [c]}}\n", "layer 'stem' (Conv) runs on no array"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), CONSTRAINTS, ids=[words for _, words in CONSTRAINTS])
def test_constraints_that_cannot_hold_are_refused(text: str, words: str, tmp_path: Path) -> None:
    path = constrained(text, tmp_path / "c.yaml")
    with pytest.raises(ArchsimError) as caught:
        build(Job("eye_tracking", "edge_npu", mapping=path))
    assert words in str(caught.value) and str(caught.value).startswith(f"{path}:3:")


def test_a_layer_that_its_array_would_spread_otherwise_runs_on_the_vector_unit(tmp_path: Path) -> None:
    """On an array that has one tap at a time the layer takes longer than in lanes, with all taps it does not."""
    text = "- {{layers: stem, units: [mxu, vpu], spatial: {{rows: {}}}}}\n"
    for dims, unit in (("[c]", "vpu"), ("[c, r, s]", "mxu")):
        built = build(Job("eye_tracking", "edge_npu", mapping=constrained(text.format(dims), tmp_path / "c.yaml")))
        assert built.mapping is not None
        assert built.mapping.layers[0].unit == unit


def test_mappings_drawn_at_random_obey_constraints() -> None:
    """Without them the same seeds draw others."""
    architecture, workload = archsim.load_chip("edge_npu"), archsim.load_model("eye_tracking")
    asked = (Constraint("stage[123]", tiles={"k": 8}),)
    plain = [drawn(workload, architecture, seed, ()) for seed in range(8)]
    found = [drawn(workload, architecture, seed, asked) for seed in range(8)]
    assert all(tiles == {8} for tiles in found) and any(tiles != {8} for tiles in plain)


def drawn(workload: Workload, architecture: Architecture, seed: int, asked: tuple[Constraint, ...]) -> set[int]:
    """Tiles of k of the layers stage1, stage2, stage3."""
    options = Options(random=str(seed + 1), given=Given(constraints=asked))
    found = Layers(workload, architecture, resolve_dtypes(architecture, {}), options).map().mappings
    stages = [layer for layer in found if layer.layer in ("stage1", "stage2", "stage3")]
    loops = [[n.tile for n in layer.nodes if isinstance(n, Loop) and n.dim == "k"] for layer in stages]
    return {tiles[-1] if tiles else 0 for tiles in loops}


def test_the_example_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "mapping.md").read_text()
    text = page.partition("--layer stage1 --mapping spread.yaml\n")[2]
    form, told = text.partition("Its tiles have one row")[::2]
    path = tmp_path / "spread.yaml"
    path.write_text(dedent(form))
    cycles, free, least, less = re.findall(r"\d+,\d+", told.partition("`--explain")[0])
    for arguments, words in (
        (["--layer", "stage1", "--mapping", str(path)], ["for p in tiles of 1, in time", f"at least {cycles} cycles"]),
        (["--layer", "stage1"], [f"at least {free} cycles"]),
        (["--explain", "stage1", "--mapping", str(path)], [f"takes at least {least} cycles"]),
        (["--explain", "stage1"], [f"takes at least {less} cycles"]),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["map", "eye_tracking", "--on", "scalesim_32x32", *arguments])
        assert not caught.value.code
        out = capsys.readouterr().out
        assert all(word in out for word in words), out


def test_constraints_that_the_least_leaves_aside_are_told(tmp_path: Path) -> None:
    path = constrained("- {layers: stage1, tiles: {k: 16}, spatial: {rows: [c, r, s]}}\n", tmp_path / "c.yaml")
    told = explained(Job("eye_tracking", "edge_npu", mapping=path), "stage1").to_json()
    assert told["least"]["constraints_aside"] == ["tiles"]
    assert " %), constraints on tiles aside." in to_table(told)
