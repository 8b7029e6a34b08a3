"""The front of this room: models by name or path, whatever their format.

load_model("resnet50")            a name of ``names()``
load_model("model.onnx", batch=4) ONNX, workload .yaml, SCALE-Sim topology .csv
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from archsim.base.errors import ConfigError, ModelError, NotBuiltError, nearest
from archsim.graph.lowering.lower import LoweredModel
from archsim.ir.workload import Workload
from archsim.spec.locate import config_files, is_file

LATER = (".pt2", ".mlir", ".mlirbc", ".json")
FORMATS = (".onnx", ".yaml", ".yml", ".csv")
_LIGHT = Path("backend") / "test" / "data" / "light"
_ZOO = {
    "alexnet": "light_bvlc_alexnet.onnx",
    "densenet121": "light_densenet121.onnx",
    "inception_v1": "light_inception_v1.onnx",
    "inception_v2": "light_inception_v2.onnx",
    "resnet50": "light_resnet50.onnx",
    "shufflenet": "light_shufflenet.onnx",
    "squeezenet": "light_squeezenet.onnx",
    "vgg19": "light_vgg19.onnx",
    "zfnet512": "light_zfnet512.onnx",
}


def load_model(
    name_or_path: str | Path,
    *,
    batch: int | None = None,
    on_unsupported: str = "error",
    parameters: Mapping[str, int] | None = None,
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
    parameters: Mapping[str, int] | None = None,
    lookups: Mapping[str, str] | None = None,
) -> LoweredModel:
    """A model as a Workload, with its graph and where each tensor's numbers come from.

    ``batch``: new dim 0 of the inputs (None: as stored; 1 where the model leaves it open). ``on_unsupported``:
    'error', or 'host' to run operators without a rule on the host (ONNX). ``parameters``: of a workload file.
    ``lookups``: node that looks rows of a table up -> its access pattern, such as ``zipf(exponent=1, seed=0)``. Raises
    ModelError or ConfigError naming what does not fit, NotBuiltError for formats that this version does not read.
    """
    if batch is not None and batch < 1:
        raise ConfigError(f"batch: found {batch}; allowed 1 or more")
    name, path = find_model(name_or_path)
    if parameters and path.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{path}: has no parameters to set; allowed for workload files (.yaml)")
    if path.suffix == ".onnx":
        from archsim.frontend.onnx.load import import_onnx

        return import_onnx(path, name=name, batch=batch, on_unsupported=on_unsupported, lookups=lookups)
    if path.suffix == ".csv":
        from archsim.frontend.scalesim_csv import import_scalesim

        return import_scalesim(path, batch=batch, lookups=lookups)
    from archsim.frontend.workload_yaml.load import import_workload_yaml

    return import_workload_yaml(path, batch=batch, parameters=parameters, lookups=lookups)


def names() -> dict[str, str]:
    """Every model that ``load_model`` knows by name, sorted, with one line that describes it."""
    from archsim.frontend.workload_yaml.load import describe

    found = {name: f"ONNX graph {path.name} of the onnx package" for name, path in _zoo().items()}
    found.update({name: describe(path) for name, path in config_files("workloads").items()})
    return dict(sorted(found.items()))


def find_model(name_or_path: str | Path) -> tuple[str, Path]:
    """(name, file) of a model by its name or its file's; '' as the name of a path. Raises ModelError without one."""
    text = str(name_or_path)
    known = {**_zoo(), **config_files("workloads")}
    spelled = {_plain(path.stem): name for name, path in known.items()} | {_plain(name): name for name in known}
    if _plain(text) in spelled:
        name = spelled[_plain(text)]
        return name, known[name]
    path = Path(text)
    if path.suffix in LATER:
        raise NotBuiltError(f"{text}: format {path.suffix} is not built yet; allowed {', '.join(FORMATS)}")
    if path.suffix in FORMATS or "/" in text:
        if not is_file(path):
            raise ModelError(f"{text}: no such file")
        if path.suffix not in FORMATS:
            raise ModelError(f"{text}: unknown format; allowed files ending in {', '.join(FORMATS)}")
        return "", path
    raise ModelError(f"no model '{text}'; known: {', '.join(sorted(known))}{nearest(_plain(text), known)}")


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _zoo() -> dict[str, Path]:
    """The graphs that come with the onnx package, found without importing it."""
    spec = importlib.util.find_spec("onnx")
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent / _LIGHT
    return {name: folder / file for name, file in _ZOO.items() if (folder / file).is_file()}
