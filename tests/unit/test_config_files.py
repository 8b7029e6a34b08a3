"""Any config.json of images or recommendation, however wrong, is read or refused in one message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ArchsimError
from archsim.frontend.load import load_model
from tests.tools import small_images, small_recommendation, small_transformers

FILES: dict[str, dict[str, Any]] = {
    **small_images.SMALL,
    "swin": small_transformers.SMALL["swin"],
    "dlrm": small_recommendation.SMALL,
    "crossed": {**small_recommendation.SMALL, **small_recommendation.CROSS},
}
MORE = {
    "mobilenet_v2": ("output_stride", "expand_ratio", "tf_padding", "hidden_act", "min_depth", "id2label"),
    "efficientnet": (
        "strides",
        "kernel_sizes",
        "num_block_repeats",
        "in_channels",
        "depthwise_padding",
        "pooling_type",
    ),
    "swin": ("qkv_bias", "hidden_size", "num_channels", "use_absolute_embeddings"),
    "dlrm": ("interaction_type", "pooling_type"),
    "crossed": ("pooling_type",),
}
SIZES = st.one_of(st.integers(-(10**30), 10**30), st.integers(0, 9), st.sampled_from([64, 1 << 22, 1 << 24, 1 << 40]))
ANYTHING = st.one_of(
    st.none(), st.booleans(), SIZES, st.floats(), st.text(max_size=4), st.lists(SIZES, max_size=3),
    st.lists(st.integers(0, 6), min_size=7, max_size=7), st.dictionaries(st.text(max_size=2), st.integers(0, 9)),
    st.sampled_from(["dcn", "mean", "max", "relu"]),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(name=st.sampled_from(sorted(FILES)), draw=st.data())
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, name: str, draw: st.DataObject) -> None:
    """Keys of other types and sizes raise this project's errors alone, which say where."""
    keys = draw.draw(st.lists(st.sampled_from([*FILES[name], *MORE[name]]), min_size=1, max_size=3))
    path = tmp_path_factory.mktemp("mutated") / "config.json"
    path.write_text(json.dumps({**FILES[name], **{key: draw.draw(ANYTHING, label=key) for key in keys}}))
    try:
        load_model(path)
    except ArchsimError as error:
        assert str(path) in str(error)
