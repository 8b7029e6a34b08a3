"""Multiply-accumulates and parameters of transformers from a config.json, against formulas written out here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archsim.frontend.load import load_model, names
from archsim.ir.workload import Workload
from tests.tools.commands import ROOT
from tests.tools.small_transformers import written

LLAMA_LAYER = 4096 * (4096 + 1024 + 1024 + 4096) + 3 * 4096 * 14336  # q, k, v, o; gate, up, down
LLAMA_HEAD = 4096 * 128256


def macs(workload: Workload, part: str = "") -> int:
    """Of the layers whose names hold ``part``."""
    return sum(layer.macs_dense for layer in workload.layers if part in layer.name)


def test_llama3_8b_prefill() -> None:
    rows = 2048
    found = load_model("llama3_8b:prefill")
    dense = 2 * rows * rows * 32 * 128  # scores and context of a layer
    assert macs(found, "layers.7.") == rows * LLAMA_LAYER + dense == 481_036_337_152
    assert found.macs_dense == 32 * (rows * LLAMA_LAYER + dense) + rows * LLAMA_HEAD == 16_469_052_096_512
    assert found.macs_dense - 32 * dense == 15_369_540_468_736  # linear layers and lm_head over all positions
    assert found.parameters == 32 * (LLAMA_LAYER + 2 * 4096) + 2 * LLAMA_HEAD + 4096 == 8_030_261_248
    last = load_model("llama3_8b", parameters={"logits": "last"})
    assert found.macs_dense - last.macs_dense == (rows - 1) * LLAMA_HEAD


def test_llama3_8b_decode() -> None:
    found = load_model("llama3_8b:decode", parameters={"context": 4096, "batch": 8})
    layer = LLAMA_LAYER + 2 * 4096 * 32 * 128
    assert layer == 251_658_240
    assert found.macs_dense == 8 * (32 * layer + LLAMA_HEAD) and found.batch == 8
    states = [tensor for tensor in found.tensors.values() if tensor.kind == "state" and tensor.view is None]
    assert len(states) == 64 and {tensor.shape for tensor in states} == {(8, 8, 4096, 128)}


def test_rows_of_decode() -> None:
    """Behind 2048 rows where nothing is stated; behind those of the prompt, in as much room as is asked for."""
    keys = {
        number: [layer.dims["n"] for layer in load_model("llama3_8b:decode", parameters=asked).layers
                 if layer.name.endswith("layers.0.self_attn.attn.scores")]
        for number, asked in enumerate(
            ({}, {"prompt": 100}, {"prompt": 100, "context": 4096}, {"width": 4, "context": 64})
        )
    }  # fmt: skip
    assert keys == {0: [2049], 1: [101], 2: [101], 3: [64]}


def test_bert_base(tmp_path: Any) -> None:
    """The encoder of 128 tokens, and its pooler."""
    path = tmp_path / "bert.json"
    path.write_text(
        '{"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, '
        '"intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2}'
    )
    found = load_model(path, parameters={"prompt": 128})
    assert macs(found, "encoder") == 12 * (128 * 12 * 768 * 768 + 2 * 128 * 128 * 768) == 11_173_625_856
    assert found.macs_dense == 11_173_625_856 + 768 * 768
    layer = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
    assert found.parameters == 768 * (30522 + 512 + 2 + 2) + 12 * layer + 768 * 769


def test_vit_b16() -> None:
    rows = 197
    layer = rows * 12 * 768 * 768 + 2 * rows * rows * 768
    assert load_model("vit_b16").macs_dense == 196 * 768 * 768 + 12 * layer + 768 * 1000
    assert load_model("vit_b16").parameters == 86_567_656  # as timm and torchvision count it


def test_swin_t() -> None:
    """Four stages of rows by 96 to 768 elements; a row attends to the 49 of its window."""
    stages = [(56 * 56 >> 2 * at, 96 << at, depth) for at, depth in enumerate((2, 2, 6, 2))]
    blocks = sum(depth * (rows * 12 * width * width + 2 * rows * 49 * width) for rows, width, depth in stages)
    merging = sum(rows // 4 * 4 * width * 2 * width for rows, width, _ in stages[:-1])
    found = load_model("swin_t")
    assert found.macs == 56 * 56 * 96 * 3 * 4 * 4 + blocks + merging + 768 * 1000 == 4_490_566_656  # published: 4.5 G
    assert found.parameters == 28_288_354  # as transformers, timm and torchvision count it


def test_dit_xl_2() -> None:
    """Blocks over 256 patches, and what each makes of time and class."""
    rows, width = 256, 1152
    block = rows * 12 * width * width + 2 * rows * rows * width + 6 * width * width
    ends = rows * width * (4 * 4 + 4 * 8) + 2 * width * width + (256 + width) * width
    found = load_model("dit_xl_2")
    assert found.macs_dense == 28 * block + ends == 118_621_421_568  # as published: 118.6 G
    assert found.parameters == 675_129_632  # as its authors' code prints; 675M in the paper


def test_llava_1_5_7b() -> None:
    """An image of 576 rows, through 23 of the encoder's 24 layers, and 64 rows of words behind it."""
    rows, seen, width, inner = 640, 577, 4096, 11008
    vision = 576 * 1024 * 3 * 14 * 14 + 23 * (seen * 12 * 1024 * 1024 + 2 * seen * seen * 1024)
    projector = 576 * (1024 * width + width * width)
    layer = 4 * width * width + 3 * width * inner
    found = load_model("llava_1_5_7b:prefill", parameters={"prompt": rows})
    assert macs(found, "vision_tower") == vision and macs(found, "projector") == projector
    assert found.macs_dense == vision + projector + 32 * (rows * layer + 2 * rows * rows * width) + rows * width * 32064
    encoder = 12 * 1024 * 1024 + 4 * 1024 + 4096 + 1024 + 4 * 1024  # products and their biases, norms
    tower = 1024 * 3 * 14 * 14 + 1024 + seen * 1024 + 2 * 1024 + 23 * encoder
    llama = 32 * (layer + 2 * width) + 2 * width * 32064 + width
    assert found.parameters == tower + 1024 * width + width + width * width + width + llama
    assert load_model("llava_1_5_7b:decode", parameters={"prompt": rows}).parameters == llama


def test_gpt2() -> None:
    found = load_model("gpt2", parameters={"prompt": 64})
    assert found.macs_dense == 12 * (64 * 12 * 768 * 768 + 2 * 64 * 64 * 768) + 64 * 768 * 50257
    assert found.parameters == 124_439_808  # as published: 124M


def test_llama3_70b() -> None:
    layer = 2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672
    found = load_model("llama3_70b:decode", parameters={"prompt": 127})
    assert found.macs_dense == 80 * (layer + 2 * 128 * 64 * 128) + 8192 * 128256
    assert found.parameters == 80 * (layer + 2 * 8192) + 2 * 8192 * 128256 + 8192 == 70_553_706_496


def test_mixtral(tmp_path: Any) -> None:
    """Two layers of full width, 256 tokens; of decode the two experts that one token comes to."""
    rows, dense = 256, 2 * 256 * 256 * 32 * 128
    attention, expert = 4096 * (4096 + 1024 + 1024 + 4096), 3 * 4096 * 14336
    found = load_model("mixtral_8x7b:prefill", parameters={"prompt": rows})
    assert macs(found, "layers.0.") == rows * (attention + 4096 * 8 + 2 * expert) + dense
    assert 2 * macs(found, "layers.0.") + rows * 4096 * 32000 == 236_508_413_952
    assert 2 * macs(found, "layers.0.block_sparse_moe.experts") == 180_388_626_432
    assert found.parameters == 46_702_792_704
    one = load_model("mixtral_8x7b:decode")
    assert macs(one, "layers.0.block_sparse_moe") == 4096 * 8 + 2 * expert
    assert one.parameters == found.parameters - 32 * 6 * expert  # experts without tokens are not read


def test_experts_have_tokens_by_the_largest_remainder() -> None:
    """100 tokens with 8 of 128 experts each: 800 choices, 6.25 for each expert, 7 for 32 of them."""
    found = load_model("qwen3_30b_a3b:prefill", parameters={"prompt": 100})
    counts = [layer.dims["m"] for layer in found.layers
              if layer.name.startswith("model.layers.3.mlp.experts.") and layer.name.endswith("up_proj")]  # fmt: skip
    assert counts == [7] * 32 + [6] * 96
    assert macs(found, "layers.3.mlp.experts") == 800 * 3 * 2048 * 768
    assert found.parameters == 30_532_122_624  # as published: 30.5B


def test_deepseek_v3() -> None:
    """Decode: the eight experts of a token and the shared one; weights of keys go over queries, those of values over
    what attention writes, so that 576 elements of each row are read."""
    keys, heads, latent, rotary = 4096, 128, 512, 64
    found = load_model("deepseek_v3:decode", parameters={"context": keys})
    projections = 7168 * 1536 + 1536 * heads * 192 + 7168 * 576 + heads * 128 * 7168
    absorbed = heads * 2 * 128 * latent
    attention = projections + absorbed + heads * keys * (latent + rotary + latent)
    expert = 3 * 7168 * 2048
    dense, sparse = 3 * 7168 * 18432, 7168 * 256 + 9 * expert
    assert found.macs_dense == 61 * attention + 3 * dense + 58 * sparse + 7168 * 129280
    assert found.parameters + 58 * 248 * expert == 671_026_419_200  # with all experts and the biases of their choice
    states = [tensor for tensor in found.tensors.values() if tensor.kind == "state" and tensor.view is None]
    assert len(states) == 61 and {tensor.shape for tensor in states} == {(1, 1, keys, latent + rotary)}


def test_gpt_oss_20b() -> None:
    """Every other layer sees 128 rows; biases add no multiply-accumulates, and one parameter for each result."""
    found, rows, width = load_model("gpt_oss_20b:prefill", parameters={"prompt": 256}), 256, 2880
    projections = 2 * width * 4096 + 2 * width * 512
    expert = 3 * width * width
    attention = 2 * rows * rows * 64 * 64
    assert macs(found, "layers.1.self_attn") == rows * projections + attention
    assert found.macs_dense == 24 * (rows * (projections + width * 32 + 4 * expert) + attention) + rows * width * 201088
    layer = projections + 4096 + 2 * 512 + width + 64 + 32 * (width + 1) + 32 * (expert + 3 * width) + 2 * width
    assert found.parameters == 24 * layer + 2 * width * 201088 + width == 20_914_757_184  # as published: 20.9B
    step = load_model("gpt_oss_20b:decode", parameters={"context": 4096})
    reads = [layer.dims["n"] for layer in step.layers if layer.name.endswith("attn.scores")]
    assert reads == [128, 4096] * 12


def test_latent_attention_of_a_prompt_makes_keys_of_all_rows_once(tmp_path: Path) -> None:
    found, rows = load_model(written(tmp_path, "deepseek_v3"), parameters={"prompt": 8}), 8
    projections = 64 * 24 + 24 * 4 * 24 + 64 * 40 + 32 * 4 * 32 + 4 * 16 * 64
    attention = rows * projections + 4 * rows * rows * (24 + 16)
    assert macs(found, "layers.0.self_attn") == macs(found, "layers.1.self_attn") == attention
    assert macs(found, "layers.1.mlp") == rows * (64 * 8 + 3 * 3 * 64 * 32)  # two experts of eight, and the shared one


def test_the_shared_expert_of_qwen2_moe(tmp_path: Path) -> None:
    found = load_model(written(tmp_path, "qwen2_moe"), parameters={"prompt": 8})
    assert macs(found, "layers.0.mlp") == 8 * 3 * 64 * 96
    assert macs(found, "layers.1.mlp") == 8 * (64 * 6 + 2 * 3 * 64 * 32 + 3 * 64 * 48 + 64)


def test_whisper_small() -> None:
    width, frames, rows = 768, 1500, 448
    convolutions = 3000 * width * 80 * 3 + frames * width * width * 3
    encoder = 12 * (frames * 12 * width * width + 2 * frames * frames * width)
    cross = rows * 2 * width * width + frames * 2 * width * width + 2 * rows * frames * width
    decoder = 12 * (rows * 12 * width * width + 2 * rows * rows * width + cross)
    found = load_model("whisper_small")
    assert found.macs_dense == convolutions + encoder + decoder + rows * width * 51865
    assert found.parameters == 241_734_912  # as transformers counts it
    step = load_model("whisper_small:decode")
    blocks = 12 * (14 * width * width + 2 * rows * width + 2 * frames * width)
    assert step.macs_dense == blocks + width * 51865


def test_t5_small() -> None:
    width, rows, source = 512, 64, 128
    feed = 2 * width * 2048
    encoder = 6 * (source * (4 * width * width + feed) + 2 * source * source * width)
    cross = rows * 2 * width * width + source * 2 * width * width + 2 * rows * source * width
    decoder = 6 * (rows * (4 * width * width + feed) + 2 * rows * rows * width + cross)
    found = load_model("t5_small", parameters={"prompt": rows, "source": source})
    assert found.macs_dense == encoder + decoder + rows * width * 32128
    assert found.parameters == 60_506_624  # as transformers counts it


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "configs" / "models").iterdir()))
def test_named_models_have_a_line(name: str) -> None:
    assert 20 < len(names()[name]) < 120
