"""The front ends that exist, by the suffixes of the files that they read: each file of ``formats``, or of a plugin."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from archsim.base import registry
from archsim.base.errors import ConfigError, ModelError, placed
from archsim.frontend.decode_steps import DecodeSteps
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.ir.graph import Array, Graph
from archsim.ir.workload import Workload


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user asked of an import. ``name``: of the workload, '' for the file's stem. ``batch``: new dim 0 of the
    inputs, None as stored. ``on_unsupported``: error | host. ``parameters``: sizes that the file calls by these names.
    ``lookups``: access pattern by the name of the node that looks rows of a table up. ``phase``: the part of a model's
    work that its name names behind a colon, '' for none."""

    name: str = ""
    batch: int | None = None
    on_unsupported: str = "error"
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    lookups: Mapping[str, str] = field(default_factory=dict)
    phase: str = ""


class FrontEnd(Protocol):
    """What the file of a front end defines.

    ``SUFFIXES``: how the names of its files end, such as ``(".onnx",)``; no two front ends share one. ``OPTIONS``: the
    fields of ``ImportOptions``, beside ``name``, that have a meaning for its files; others are refused when set.
    """

    SUFFIXES: tuple[str, ...]
    OPTIONS: tuple[str, ...]

    def load(self, path: Path, asked: ImportOptions) -> Graph | Workload | LoweredModel:
        """The model in a file. A front end returns what it has: mostly a ``Graph`` of named nodes and of values with
        the shapes of inputs and constants, from which the graph passes and the lowering make the rest; a ``Workload``
        where the file states affine loops; or a model lowered already.

        Raises ModelError that names the file, and the node or line in it, for all that it cannot read.
        """


class NamedModels(Protocol):
    """What a front end may define as well, where models of its format are known by name."""

    def models(self) -> Mapping[str, Path]:
        """Names that users may type, each with its file. Where two front ends know one name, the last of them by its
        own name has it."""

    def describe(self, path: Path) -> str:
        """One line about such a file."""


class TokenModels(Protocol):
    """What a front end may define as well, where models of its format make tokens one after another."""

    def steps(
        self, path: Path, parameters: Mapping[str, int | float | str], batch: int | None, phase: str
    ) -> DecodeSteps | None:
        """The runs that are asked of a model where these are several; None for one run. Raises as ``load``."""


class StoredNumbers(Protocol):
    """What a front end may define as well, where its files hold the contents of constants, for ``verify``."""

    def stored(self, path: Path) -> Mapping[str, Array]:
        """Contents of constants by the names that they have in the graph, each in its logical shape."""


class NativeRuntime(Protocol):
    """What a front end may define as well, where models of its format can be run elsewhere, for ``verify``."""

    def runtime(self) -> str:
        """Name and version of what runs them; raises ConfigError, with what to install, where that is not there."""

    def execute(
        self, path: Path, replaced: Mapping[str, Array], inputs: Mapping[str, Array], wanted: tuple[str, ...]
    ) -> dict[str, Array]:
        """Values by name of those ``wanted`` that the file knows, in single precision; ``replaced`` stands in for
        constants of the file, ``inputs`` are the graph's, both in logical shapes."""


KIND = registry.Kind(
    "front end",
    "archsim.frontend.formats",
    "frontends",
    "load",
    FrontEnd,
    (NamedModels, TokenModels, StoredNumbers, NativeRuntime),
)


def names() -> tuple[str, ...]:
    """Names of all front ends, sorted."""
    return tuple(registry.modules(KIND))


def get(name: str) -> FrontEnd:
    """The front end of a name. Raises ConfigError for options that no import has."""
    found = cast(FrontEnd, registry.load(KIND, name))
    known = [key for key in ImportOptions.__dataclass_fields__ if key != "name"]
    for option in found.OPTIONS:
        if option not in known:
            raise ConfigError(f"front end '{name}': OPTIONS: found '{option}'; allowed {', '.join(known)}")
    return found


def suffixes() -> dict[str, str]:
    """Every suffix of models that are read, with the name of the front end that reads them."""
    found: dict[str, str] = {}
    for name in names():
        for suffix in get(name).SUFFIXES:
            if suffix in found:
                raise ConfigError(f"front ends '{found[suffix]}' and '{name}' both read files that end in {suffix}")
            found[suffix] = name
    return found


def models() -> dict[str, Path]:
    """Every model that is known by name, with its file."""
    found: dict[str, Path] = {}
    for name in names():
        if hasattr(get(name), "models"):
            found.update(cast(NamedModels, get(name)).models())
    return found


def describe(path: Path) -> str:
    """One line about a model that is known by name."""
    return cast(NamedModels, reader(path)).describe(path)


def reader(path: Path) -> FrontEnd:
    """The front end that reads a file; raises ModelError where none does."""
    known = suffixes()
    if path.suffix not in known:
        raise ModelError(f"{path}: unknown format; allowed files ending in {', '.join(known)}")
    return get(known[path.suffix])


def stored(path: Path) -> Mapping[str, Array]:
    """Contents of the constants that a file holds, by name; none where its format holds none."""
    found = reader(path)
    return cast(StoredNumbers, found).stored(path) if hasattr(found, "stored") else {}


def native(path: Path) -> NativeRuntime | None:
    """What runs the model of a file elsewhere; None where nothing does."""
    found = reader(path)
    return cast(NativeRuntime, found) if hasattr(found, "execute") else None


def lowered(path: Path, asked: ImportOptions) -> LoweredModel:
    """The model of a file, lowered. Raises ConfigError for options that its format has no use for, and ModelError."""
    front_end = reader(path)
    _check_options(path, front_end, asked)
    found = front_end.load(path, asked)
    if isinstance(found, LoweredModel):
        return found
    if isinstance(found, Workload):
        return LoweredModel(found, None, {}, {})
    if not isinstance(found, Graph):
        file = registry.modules(KIND)[suffixes()[path.suffix]]
        raise ConfigError(f"{file}: load returned {type(found).__name__}; allowed Graph, Workload or LoweredModel")
    rows = next((found.shape(name)[0] for name in found.inputs if found.shape(name)), 1)
    if asked.batch not in (None, rows):
        raise ModelError(f"{path}: batch: found {asked.batch}; the graph that was read has {rows} rows of inputs")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        return lower_graph(found, batch=rows, sha256=digest, on_unsupported=asked.on_unsupported, lookups=asked.lookups)
    except ModelError as error:
        raise placed(error, str(path)) from None


def _check_options(path: Path, front_end: FrontEnd, asked: ImportOptions) -> None:
    plain = ImportOptions()
    for option in ImportOptions.__dataclass_fields__:
        if option in ("name", *front_end.OPTIONS) or getattr(asked, option) == getattr(plain, option):
            continue
        others = ", ".join(suffix for suffix, name in suffixes().items() if option in get(name).OPTIONS)
        raise ConfigError(f"{path}: has no {option} to set; allowed for files ending in {others or 'nothing yet'}")
