"""The golden scenario with its two topologies, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

from tests.unit.fixtures_check import GOLDEN

TEXT = (Path(GOLDEN) / "scenario.yaml").read_text(encoding="utf-8")
CHIP = Path(GOLDEN) / "chip.yaml"
_HEAD = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
_MODELS = {
    "small": "conv1, 6, 6, 3, 3, 4, 8, 1,\n",
    "large": "conv1, 10, 10, 3, 3, 4, 8, 1,\nconv2, 8, 8, 3, 3, 8, 8, 1,\n",
}


def scenario(folder: Path, *changes: tuple[str, str]) -> Path:
    """The file of the golden scenario, its text changed, beside its models."""
    text = TEXT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    for name, layers in _MODELS.items():
        (folder / f"{name}.csv").write_text(_HEAD + layers)
    path = folder / "two_streams.yaml"
    path.write_text(text)
    return path


def without(*keys: str) -> list[tuple[str, str]]:
    """Changes that leave top-level keys out, those behind them on their lines and below."""
    blocks = ["", *TEXT.split("\n")]
    found = []
    for key in keys:
        start = next(at for at, line in enumerate(blocks) if line.startswith(f"{key}:"))
        end = next((at for at in range(start + 1, len(blocks)) if not blocks[at].startswith(" ")), len(blocks))
        found.append(("\n".join(blocks[start:end]), ""))
    return found
