"""The front of this room: models by name or path, whatever their format.

load_model("resnet50")            a name of ``names()``
load_model("model.onnx", batch=4) a file: ONNX, .pt2, workload .yaml, config.json, SCALE-Sim .csv, or a plugin's
load_model("llama3_8b:decode")    a phase of a model that has some
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from archsim.base.errors import ConfigError, ModelError, NotBuiltError, nearest
from archsim.frontend import catalogue
from archsim.frontend.decode_steps import DecodeSteps
from archsim.graph.lowering.lower import LoweredModel
from archsim.ir.workload import Workload
from archsim.spec.locate import is_file

LATER = (".mlir", ".mlirbc")  # formats of which documents speak; a plugin may read them today


class FoundModel(NamedTuple):
    """A model by its name, '' for one that was given as a path: its ``file``, and the ``phase`` that was named."""

    name: str
    file: Path
    phase: str = ""


def load_model(
    name_or_path: str | Path,
    *,
    batch: int | None = None,
    on_unsupported: str = "error",
    parameters: Mapping[str, int | float | str] | None = None,
    lookups: Mapping[str, str] | None = None,
) -> Workload:
    """The Workload of ``import_model``."""
    return import_model(
        name_or_path, batch=batch, on_unsupported=on_unsupported, parameters=parameters, lookups=lookups
    ).workload


def import_model(
    name_or_path: str | Path,
    *,
    batch: int | None = None,
    on_unsupported: str = "error",
    parameters: Mapping[str, int | float | str] | None = None,
    lookups: Mapping[str, str] | None = None,
) -> LoweredModel:
    """A model as a Workload, with its graph and where each tensor's numbers come from.

    ``batch``: new dim 0 of the inputs (None: as stored; 1 where the model leaves it open). ``on_unsupported``:
    'error', or 'host' to run operators without a rule on the host (ONNX, .pt2). ``parameters``: of a workload file or a
    config.json, or what a .pt2 leaves open. ``lookups``: node that looks rows of a table up -> its access pattern, such
    as ``zipf(exponent=1, seed=0)``. Raises ModelError or ConfigError naming what does not fit, NotBuiltError for
    formats that this version does not read.
    """
    if batch is not None and batch < 1:
        raise ConfigError(f"batch: found {batch}; allowed 1 or more")
    found = find_model(name_or_path)
    asked = catalogue.ImportOptions(
        found.name, batch, on_unsupported, dict(parameters or {}), dict(lookups or {}), found.phase
    )
    return catalogue.lowered(found.file, asked)


def decode_steps(
    name_or_path: str | Path, *, batch: int | None = None, parameters: Mapping[str, int | float | str] | None = None
) -> DecodeSteps | None:
    """The runs that make tokens one after another, where a model is asked for several: ``:generate``, or ``:decode``
    with tokens above 1. None for one run, and for formats without phases. Raises as ``import_model``.
    """
    found = find_model(name_or_path)
    front_end = catalogue.reader(found.file)
    if not hasattr(front_end, "steps"):
        return None
    return cast(catalogue.TokenModels, front_end).steps(found.file, dict(parameters or {}), batch, found.phase)


def names() -> dict[str, str]:
    """Every model that ``load_model`` knows by name, sorted, with one line that describes it."""
    return {name: catalogue.describe(path) for name, path in sorted(catalogue.models().items())}


def find_model(name_or_path: str | Path) -> FoundModel:
    """A model by its name or its file's, with or without a phase behind a colon. Raises ModelError without one."""
    text = str(name_or_path)
    whole, colon, phase = text.rpartition(":")
    if colon and whole and phase.isidentifier() and not is_file(Path(text)):
        return FoundModel(*_named(whole), phase)
    return FoundModel(*_named(text))


def _named(text: str) -> tuple[str, Path]:
    """(name, file); '' as the name of a path."""
    known = catalogue.models()
    spelled = {_plain(path.stem): name for name, path in known.items()} | {_plain(name): name for name in known}
    if _plain(text) in spelled:
        name = spelled[_plain(text)]
        return name, known[name]
    path, formats = Path(text), catalogue.suffixes()
    if path.suffix in LATER and path.suffix not in formats:
        raise NotBuiltError(f"{text}: format {path.suffix} is not built yet; allowed {', '.join(formats)}")
    if path.suffix in formats or "/" in text:
        if not is_file(path):
            raise ModelError(f"{text}: no such file")
        if path.suffix not in formats:
            raise ModelError(f"{text}: unknown format; allowed files ending in {', '.join(formats)}")
        return "", path
    if path.suffix and is_file(path):
        raise ModelError(f"{text}: unknown format; allowed files ending in {', '.join(formats)}")
    raise ModelError(f"no model '{text}'; known: {', '.join(sorted(known))}{nearest(_plain(text), known)}")


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
