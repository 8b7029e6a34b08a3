"""docs/models.md from the models themselves: ``python -m tests.tools.models_page > docs/models.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from archsim.base.errors import ConfigError
from archsim.frontend.catalogue import ImportOptions, models
from archsim.frontend.formats import published_config
from archsim.frontend.load import decode_steps, load_model, names
from archsim.graph.lowering.lower import parameters
from archsim.graph.passes import infer
from archsim.graph.passes.manager import PassOptions

_HEAD = """# Models that are known by name

`archsim show models` lists them, and `archsim run NAME --on CHIP` runs one. This page is made of the models:
`make models-page`.

None of them holds weights. Parameters are the elements of the model's own weights, without running means and
variances. Multiply-accumulates are those of convolutions and products for one sample, pads counted, and attention to
every row; what the vector unit does (sums, norms, activations, pooling) is not among them. Parameters of a run
(`--batch`, `--parameter`) change both: these are the defaults.

"""
_TABLE = "| name | what it is | parameters | MACs | source |\n|---|---|---:|---:|---|\n"
_TOKENS = """
## Models that write tokens

MACs are those of a step of `decode`, one token behind 2048 others or as many as the model has positions for; "read" are
the parameters that this step reads: of a mixture of experts those of the experts that one token goes to, of a model
with an encoder those of the decoder. What `prefill` does follows from `prompt`
([transformers](transformers.md)): `archsim.load_model("llama3_8b:prefill", parameters={"prompt": 512}).macs`.

| name | what it is | parameters | read | MACs | source |
|---|---|---:|---:|---:|---|
"""


class _Row(NamedTuple):
    """A model; ``numbers`` are its columns of figures."""

    name: str
    tokens: bool
    numbers: tuple[int, ...]


def models_page() -> str:
    """The page."""
    rows = [_row(name, path) for name, path in sorted(models().items())]
    parts = [_HEAD, _TABLE, *_lines(rows, tokens=False), _TOKENS, *_lines(rows, tokens=True)]
    return "".join(parts)


def _lines(rows: list[_Row], tokens: bool) -> Iterator[str]:
    said, files = names(), models()
    for row in rows:
        if row.tokens == tokens:
            numbers = " | ".join(f"{number:,}" for number in row.numbers)
            yield f"| {row.name} | {said[row.name]} | {numbers} | {_source(files[row.name])} |\n"


def _row(name: str, path: Path) -> _Row:
    if not _writes_tokens(name):
        found = load_model(name)
        return _Row(name, False, (found.parameters, found.macs))
    step = load_model(f"{name}:decode")
    return _Row(name, True, (_whole(name, path), step.parameters, step.macs))


def _writes_tokens(name: str) -> bool:
    """Whether there are steps of decode."""
    try:
        return decode_steps(f"{name}:generate") is not None
    except ConfigError:
        return False


def _whole(name: str, path: Path) -> int:
    """Parameters of all that a prompt goes through, without lowering it: a mixture has a layer for each expert."""
    graph = published_config.load(path, ImportOptions(name))
    return parameters(infer.run(graph, PassOptions()))


def _source(path: Path) -> str:
    """What a file says about itself; a file of a package that holds none is its own source."""
    if path.suffix == ".json":
        return _cell(json.loads(path.read_text(encoding="utf-8"))["source"])
    if path.suffix == ".yaml":
        return _cell(yaml.safe_load(path.read_text(encoding="utf-8"))["source"])
    return f"{path.name} of the onnx package"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(models_page())
