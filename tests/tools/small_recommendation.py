"""A small recommendation model as a config.json: three tables, of which one is looked up three times a sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TABLES, POOLING, WIDTH = (40, 7, 300), (1, 2, 3), 8

SMALL: dict[str, Any] = {
    "model_type": "dlrm", "dense_in_features": 5, "embedding_dim": WIDTH, "num_embeddings_per_feature": list(TABLES),
    "multi_hot_sizes": list(POOLING), "dense_arch_layer_sizes": [12, WIDTH], "over_arch_layer_sizes": [16, 1],
}  # fmt: skip
CROSS: dict[str, Any] = {"interaction_type": "dcn", "dcn_num_layers": 2, "dcn_low_rank_dim": 6}


def written(folder: Path, **changes: Any) -> Path:
    """The file, with some of its keys changed; None leaves one out."""
    path = folder / "dlrm.json"
    path.write_text(json.dumps({key: value for key, value in {**SMALL, **changes}.items() if value is not None}))
    return path
