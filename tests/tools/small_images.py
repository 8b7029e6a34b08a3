"""Small config.json files of convolutional classifiers: few channels, images of 32 or 37 points, five classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SMALL: dict[str, dict[str, Any]] = {
    "mobilenet_v2": {"model_type": "mobilenet_v2", "image_size": 37, "depth_multiplier": 0.25, "num_labels": 5},
    "efficientnet": {
        "model_type": "efficientnet", "image_size": 32, "width_coefficient": 0.25, "depth_coefficient": 1.0,
        "hidden_dim": 320, "num_labels": 5,
    },
}  # fmt: skip


def written(folder: Path, family: str, **changes: Any) -> Path:
    """The file of a family, with some of its keys changed; None leaves one out."""
    path = folder / f"{family}.json"
    fields = {key: value for key, value in {**SMALL[family], **changes}.items() if value is not None}
    path.write_text(json.dumps(fields))
    return path
