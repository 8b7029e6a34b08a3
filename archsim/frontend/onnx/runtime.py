"""The model in ONNX Runtime: every value that a layer makes, by the file's own names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ConfigError, ModelError

Array = npt.NDArray[Any]
_KINDS: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype("float32"),
    "tensor(double)": np.dtype("float64"),
    "tensor(float16)": np.dtype("float16"),
    "tensor(bool)": np.dtype("bool"),
}
_WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
_KINDS |= {f"tensor({name})": np.dtype(name) for name in _WHOLE}


def version() -> str:
    """``ONNX Runtime 1.20.0``; raises ConfigError where it is not installed."""
    return f"ONNX Runtime {_module().__version__}"


def run(
    path: Path, drawn: Mapping[str, Array], inputs: Mapping[str, Array], wanted: tuple[str, ...]
) -> dict[str, Array]:
    """Values by name of those ``wanted`` that the file knows; ``drawn`` replaces constants. In single precision.

    Graph optimisations are off, so that every value exists and is computed as the file says.
    """
    from archsim.frontend.onnx.numbers import load_whole, with_numbers

    module = _module()
    model = with_numbers(load_whole(path), drawn, wanted)
    options = module.SessionOptions()
    options.graph_optimization_level = module.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        session = module.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        fed = {item.name: _fed(item, inputs.get(item.name)) for item in session.get_inputs()}
        names = [item.name for item in session.get_outputs()]
        return dict(zip(names, session.run(names, fed), strict=True))
    except ConfigError:
        raise
    except Exception as error:  # ONNX Runtime raises many kinds, none of them ours
        raise ModelError(f"{path.name}: ONNX Runtime cannot run it: {error}") from None


def _fed(item: Any, array: Array | None) -> Array:
    """An input in the type that the file states; one that nothing reads is zeros."""
    kind = _KINDS.get(item.type)
    if kind is None:
        raise ConfigError(f"input '{item.name}' is a {item.type}; allowed {', '.join(_KINDS)}")
    if array is None:
        return np.zeros([size if isinstance(size, int) else 1 for size in item.shape], kind)
    return array.astype(kind)


def _module() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError(
            "comparing with the model's own runtime needs ONNX Runtime: pip install 'archsim[verify]', or pass "
            "--numbers int"
        ) from None
    return onnxruntime
