"""Writes the files of tests/golden/routes: BERT-base and a block of Llama 3 8B by three routes.

python -m tests.tools.route_fixtures

Needs torch==2.13.0, transformers==5.24.0, whose models they are, onnxscript==0.7.2 and 8 GB of memory. Weights are
left out, which no front end reads; files of ONNX are packed by gzip.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.tools.torch_fixtures import packed

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "routes"
LARGEST_BYTES = 30_000
ROWS = 512
LLAMA: dict[str, Any] = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_hidden_layers": 1, "vocab_size": 1024, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
    "max_position_embeddings": 8192, "tie_word_embeddings": False,
}  # fmt: skip


def models() -> dict[str, tuple[Any, tuple[Any, ...], Any]]:
    """Module, example inputs and config by the name of the files."""
    import torch
    from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

    class Of(torch.nn.Module):
        """A model by its inputs in order; its results alone."""

        def __init__(self, model: Any, names: tuple[str, ...], results: tuple[str, ...]) -> None:
            super().__init__()
            self.model, self.names, self.results = model, names, results

        def forward(self, *inputs: Any) -> Any:
            found = self.model(**dict(zip(self.names, inputs, strict=True)))
            return tuple(getattr(found, name) for name in self.results)

    bert = BertConfig(attn_implementation="sdpa")
    llama = LlamaConfig(**LLAMA, use_cache=False, attn_implementation="sdpa")
    rows = torch.zeros(1, ROWS, dtype=torch.long)
    encoder = Of(BertModel(bert), ("input_ids", "token_type_ids"), ("last_hidden_state", "pooler_output"))
    return {
        "bert": (encoder, (rows, rows.clone()), bert),
        "llama": (Of(LlamaForCausalLM(llama), ("input_ids",), ("logits",)), (rows,), llama),
    }


def main() -> None:
    """Write every file."""
    import torch

    FOLDER.mkdir(exist_ok=True)
    for name, (module, inputs, config) in models().items():
        module.eval()
        for weights in module.parameters():
            torch.nn.init.normal_(weights)  # equal ones are stored once by an exporter
        made, program = io.BytesIO(), torch.export.export(module, inputs, strict=False)
        torch.export.save(program, made)
        text = json.dumps(json.loads(config.to_json_string()), indent=1, sort_keys=True) + "\n"
        files = {
            f"{name}.pt2": packed(made.getvalue(), name, weights=False),
            f"{name}.onnx.gz": _onnx(module, inputs),
            f"{name}.json": text.encode(),
        }
        for file, data in files.items():
            assert len(data) < LARGEST_BYTES, (file, len(data))
            (FOLDER / file).write_bytes(data)


def _onnx(module: Any, inputs: tuple[Any, ...]) -> bytes:
    """The file that torch's exporter writes, without notes of the exporter; of what it puts into a file beside it masks
    and indices are taken in again."""
    import onnx
    import torch
    from onnx.external_data_helper import uses_external_data

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        torch.onnx.export(module, inputs, path, dynamo=True, external_data=True)
        model = onnx.load(path, load_external_data=False)
        for tensor in model.graph.initializer:
            if uses_external_data(tensor):
                _take_in(tensor, folder)
    graph = model.graph
    for part in (model, *graph.node, *graph.value_info, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
    for node in graph.node:
        node.doc_string = ""
    return gzip.compress(model.SerializeToString(), 9, mtime=0)


def _take_in(tensor: Any, folder: str) -> None:
    """Store the elements of a tensor in the file, if they are few different ones or indices."""
    import numpy as np
    import onnx
    from onnx.external_data_helper import load_external_data_for_tensor

    whole = onnx.TensorProto()
    whole.CopyFrom(tensor)
    load_external_data_for_tensor(whole, folder)
    elements = onnx.numpy_helper.to_array(whole)
    if elements.dtype.kind in "iub" or np.unique(elements).size <= 2:
        whole.ClearField("external_data")
        whole.data_location = onnx.TensorProto.DEFAULT
        tensor.CopyFrom(whole)


if __name__ == "__main__":
    main()
