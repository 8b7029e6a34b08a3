"""Writes the small .pt2 files of tests/golden/torch, which tests read without torch.

python -m tests.tools.torch_fixtures

Needs torch==2.13.0. Modules have weights on the meta device; stack traces, which hold paths, are left out.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "torch"
LARGEST_BYTES = 30_000


def modules() -> dict[str, tuple[Any, tuple[Any, ...], Any]]:
    """Module, example inputs and dynamic shapes by the name of the file."""
    import torch
    from torch import nn
    from torch.nn import functional as f

    class Images(nn.Module):
        """Convolution, batch normalisation, activation in place, pool and classifier."""

        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
            self.act, self.pool, self.head = nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Linear(8, 5)

        def forward(self, x: Any) -> Any:
            y = self.pool(self.act(self.norm(self.conv(x))))
            return self.head(f.adaptive_avg_pool2d(y, 1).flatten(1))

    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(32))

        def forward(self, x: Any) -> Any:
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    class Block(nn.Module):
        """A block of Llama: 4 heads of queries, 2 of keys and values, 8 elements each, 16 positions."""

        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = Norm(), Norm()
            self.q, self.k, self.v, self.o = (nn.Linear(32, n, bias=False) for n in (32, 16, 16, 32))
            self.gate, self.up, self.down = (nn.Linear(*n, bias=False) for n in ((32, 48), (32, 48), (48, 32)))
            self.register_buffer("cos", torch.zeros(1, 1, 16, 8))
            self.register_buffer("sin", torch.zeros(1, 1, 16, 8))

        def turn(self, x: Any) -> Any:
            return x * self.cos + torch.cat((-x[..., 4:], x[..., :4]), -1) * self.sin

        def forward(self, x: Any) -> Any:
            y = self.norm1(x)
            q, k, v = (p(y).view(1, 16, -1, 8).transpose(1, 2) for p in (self.q, self.k, self.v))
            y = f.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True, enable_gqa=True)
            x = x + self.o(y.transpose(1, 2).reshape(1, 16, 32))
            y = self.norm2(x)
            return x + self.down(f.silu(self.gate(y)) * self.up(y))

    class Bags(nn.Module):
        """Sums of rows of two tables, their products, and some of these."""

        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(50, 8, mode="sum") for _ in range(2))

        def forward(self, x: Any) -> Any:
            rows = torch.stack([table(x[:, at]) for at, table in enumerate(self.tables)], 1)
            products = torch.bmm(rows, rows.transpose(1, 2))
            return torch.sigmoid(products.flatten(1)[:, 1:3] * 0.5)

    batch = torch.export.Dim("batch", min=1, max=64)
    return {
        "images": (Images(), (torch.zeros(2, 3, 16, 16),), None),
        "images_open": (Images(), (torch.zeros(2, 3, 16, 16),), ({0: batch},)),
        "block": (Block(), (torch.zeros(1, 16, 32),), None),
        "bags": (Bags(), (torch.zeros(4, 2, 3, dtype=torch.int64),), None),
    }


def main() -> None:
    """Write every file."""
    import torch

    FOLDER.mkdir(exist_ok=True)
    for name, (module, inputs, dims) in modules().items():
        moved = module.eval().to("meta"), tuple(each.to("meta") for each in inputs)
        buffer = io.BytesIO()
        torch.export.save(torch.export.export(*moved, dynamic_shapes=dims), buffer)
        path = FOLDER / f"{name}.pt2"
        path.write_bytes(packed(buffer.getvalue(), name))
        assert path.stat().st_size < LARGEST_BYTES, path


def packed(archive: bytes, name: str, weights: bool = True) -> bytes:
    """The archive compressed, without stack traces, all of it from one moment; on request without ``weights``."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for item in old.infolist():
            if not weights and "/data/weights/weight_" in item.filename:
                continue
            data = old.read(item)
            if item.filename.endswith("models/model.json"):
                data = json.dumps(_without_traces(json.loads(data))).encode()
            inside = item.filename.split("/", 1)[1]  # the first folder is named as the file was, or "archive"
            entry = zipfile.ZipInfo(f"{name}/{inside}", (2026, 1, 1, 0, 0, 0))
            new.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _without_traces(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _without_traces(value) for key, value in document.items() if key != "stack_trace"}
    return [_without_traces(each) for each in document] if isinstance(document, list) else document


if __name__ == "__main__":
    main()
