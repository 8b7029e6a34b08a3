"""ZigZag's best mappings on its memories: its figures from its mappings, and ours beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from archsim.base.errors import ConfigError
from archsim.lab.validate.suite import default_reference
from mapper.looptree.conventions import ZIGZAG
from mapper.looptree.search.found import Budget
from mapper.looptree.search.objective import OBJECTIVES
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Space
from tests.oracles.zigzag.compare import ANY_DIMS, best, price
from tests.oracles.zigzag.files import ZigzagAccelerator, ZigzagLayer, read
from tests.tools.scripts import script

FOLDER = default_reference("mapping") / "zigzag"
STUDY = Path(__file__).parents[2] / "studies" / "validation" / "mapping_zigzag.py"
GEMM, BERT, RESNET = "gemm__gemm_l1", "bert_base_block_s128__meta_prototype", "resnet18__tpu_like"
REGISTERS = {"reg_O", "rf_2B"}
SECONDS = 1.0  # of a search; one template is always searched to its end
ROUNDING = 1e-4  # parts of port words: ZigZag rounds some


def layers() -> list[tuple[ZigzagAccelerator, ZigzagLayer]]:
    """Every recorded layer with its accelerator."""
    found = []
    for name in (GEMM, BERT, RESNET):
        accelerator, of_file = read(FOLDER / f"{name}.json")
        found += [(accelerator, layer) for layer in of_file]
    return found


LAYERS = layers()
IDS = [layer.name for _, layer in LAYERS]


def one(file: str, name: str) -> tuple[ZigzagAccelerator, ZigzagLayer]:
    """A layer by name."""
    accelerator, found = read(FOLDER / f"{file}.json")
    return accelerator, next(layer for layer in found if layer.name == name)


def study() -> Any:
    """studies/validation/mapping_zigzag.py as a module."""
    return script(STUDY)


def test_all_are_here() -> None:
    assert [len(read(FOLDER / f"{name}.json")[1]) for name in (GEMM, BERT, RESNET)] == [1, 8, 21]


@pytest.mark.parametrize(("accelerator", "layer"), LAYERS, ids=IDS)
def test_its_weights_cost_what_it_says(accelerator: ZigzagAccelerator, layer: ZigzagLayer) -> None:
    """No difference of models concerns them where a memory outside holds them first."""
    for recorded in layer.best.values():
        ours = price(accelerator, layer, recorded.nest).level_pj
        for (operand, memory), pj in recorded.level_pj.items():
            if operand == "W" and accelerator.outermost_holds_all:
                assert ours[operand, memory] == pytest.approx(pj, rel=ROUNDING), memory


@pytest.mark.parametrize(("accelerator", "layer"), LAYERS, ids=IDS)
def test_its_outputs_differ_by_the_first_partial_sums(accelerator: ZigzagAccelerator, layer: ZigzagLayer) -> None:
    """Less where the first partial sum is not read, more where a part of a word counts as one (3.9 of 4 in fc)."""
    for recorded in layer.best.values():
        ours = price(accelerator, layer, recorded.nest).level_pj
        for (operand, memory), pj in recorded.level_pj.items():
            if operand == "O":
                ratio = ours[operand, memory] / pj
                assert 0.8 - ROUNDING <= ratio <= 1 + ROUNDING if memory in REGISTERS else 0.9 <= ratio <= 1.16, memory
                if memory == "dram":
                    assert ratio == pytest.approx(1, rel=ROUNDING)


@pytest.mark.parametrize(("accelerator", "layer"), LAYERS, ids=IDS)
def test_its_totals(accelerator: ZigzagAccelerator, layer: ZigzagLayer) -> None:
    """Energy within 8 %: padding and data written first above, narrow accesses and first partial sums below."""
    for recorded in layer.best.values():
        ours = price(accelerator, layer, recorded.nest)
        assert 0.92 <= ours.energy_pj / recorded.energy_pj <= 1.08
        assert ours.utilization == pytest.approx(layer.einsum.macs / accelerator.peak / ours.cycles)


def test_its_energy_to_the_last_digit_but_for_what_is_named() -> None:
    """Law 16: of the 128^3 product only the first reads of sums and the writes before it (256 words each) differ."""
    accelerator, layer = one(GEMM, "Layer0")
    recorded = layer.best["energy"]
    ours = price(accelerator, layer, recorded.nest).level_pj
    sums = 128 * 128
    assert ours["O", "reg_O"] == pytest.approx(recorded.level_pj["O", "reg_O"] - 2 * sums * 0.02)
    assert ours["I", "l1_I1"] == pytest.approx(recorded.level_pj["I", "l1_I1"] + 256 * 52.01)
    assert ours["W", "l1_I2"] == pytest.approx(recorded.level_pj["W", "l1_I2"] + 256 * 52.01)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (GEMM, "Layer0"),
        (BERT, "q_proj"),
        (BERT, "qk"),
        (RESNET, "/conv1/Conv"),
        (RESNET, "/layer1/layer1.0/conv1/Conv"),
    ],
)
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_ours_on_its_fan_outs_is_no_worse(file: str, name: str, objective: str) -> None:
    """PricedMapping by one model, the mapping that the search finds is not worse than ZigZag's."""
    accelerator, layer = one(file, name)
    theirs = price(accelerator, layer, layer.best[objective].nest)
    ours = best(accelerator, layer, objective, layer.axis_dims, SECONDS)
    figures = {
        "energy": (ours.energy_pj, theirs.energy_pj),
        "latency": (ours.cycles, theirs.cycles),
        "edp": (ours.energy_pj * ours.cycles, theirs.energy_pj * theirs.cycles),
    }[objective]
    assert figures[0] <= figures[1] * (1 + 1e-9)


@pytest.mark.parametrize(("name", "least"), [("q_proj", 0.7), ("qk", 0.2), ("ffn1", 0.8)])
def test_a_product_does_not_collapse(name: str, least: float) -> None:
    """ZigZag's fan-outs hold OX and OY, which a product lacks: 1/16 of the MACs. With any dims on them DRAM decides."""
    accelerator, layer = one(BERT, name)
    assert price(accelerator, layer, layer.best["latency"].nest).utilization <= 1 / 16
    ours = best(accelerator, layer, "latency", ANY_DIMS, SECONDS)
    assert ours.utilization >= least


def test_a_depthwise_layer_does_not_collapse() -> None:
    """Law 18: MobileNetV2's 144 channels of 56x56, 3x3: the input memory gives 32 values a cycle to 1024 MACs."""
    accelerator, _ = read(FOLDER / f"{BERT}.json")
    layer = study().depthwise()
    assert layer.einsum.macs == 144 * 56 * 56 * 9
    hierarchy = accelerator.hierarchy(dict.fromkeys(accelerator.holding("O"), layer.partial_bits))
    space = Space(layer.einsum, hierarchy, ZIGZAG, in_order=True)
    nest = search(space, OBJECTIVES["latency"], Budget(SECONDS)).nest
    assert price(accelerator, layer, nest).utilization >= 0.02  # of 32 / 1024; the search ends early


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none.json: No such file"):
        read(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ConfigError, match="bad.json: not in the form of ZigZag's results: KeyError"):
        read(tmp_path / "bad.json")
    data = json.loads((FOLDER / f"{GEMM}.json").read_text())
    data["layers"][0]["layer"]["equation"] = "O = I"
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(ConfigError, match="equation 'O = I'"):
        read(tmp_path / "bad.json")
