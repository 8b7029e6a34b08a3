"""Exports modules of PyTorch with torch.export, without their weights: the only file that imports torch.

Parameters and buffers are replaced by stand-ins that have a shape and no storage (torch's FakeTensorMode), so a model
of any size is exported in the memory of its program alone. The graph is written as torch.export.save writes it into a
.pt2 file, and read as that is. Where an operator has no rule, ``run_decompositions({})`` puts simpler ones in its
place.
"""

from __future__ import annotations

import contextlib
import copy
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from archsim.base.errors import ConfigError, ModelError
from archsim.frontend.torch import numbers, read
from archsim.frontend.torch.program import TorchProgram

VERSION = "2.13.0"  # that of which the programs are known
_SYMBOL = re.compile(r"Symbol\('(\w+)'[^()]*\)$")


@dataclass(frozen=True)
class ModuleExport:
    """What is exported. ``arguments``, ``keywords``: example inputs; ``dynamic_shapes`` as torch.export takes them."""

    module: Any
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    dynamic_shapes: Any = None


class ExportedModule:
    """A module, or an ExportedProgram that there is already, exported."""

    def __init__(self, asked: ModuleExport) -> None:
        """Raises ConfigError where torch is not installed, ModelError for what it cannot export."""
        torch = _torch()
        self.asked, self.ties = asked, _ties(asked.module)
        is_program = isinstance(asked.module, torch.export.ExportedProgram)
        if not is_program and not isinstance(asked.module, torch.nn.Module):
            found = type(asked.module).__name__
            raise ConfigError(f"from_torch: found {found}; allowed a torch.nn.Module or a torch.export.ExportedProgram")
        with _quiet():
            self.exported = asked.module if is_program else _exported(torch, asked)

    def program(self) -> TorchProgram:
        """The program."""
        return self._read(self.exported)

    def decomposed(self) -> TorchProgram:
        """The same in simpler operators, none of which writes into its operands."""
        with _quiet():
            return self._read(self.exported.run_decompositions({}))

    def names(self, program: TorchProgram) -> dict[str, str]:
        """What open dimensions are called in ``dynamic_shapes``, by their names in the program."""
        inputs = [name for name in program.graph.inputs if name and name not in program.stored]
        stated = self.asked.dynamic_shapes
        by_input = stated if isinstance(stated, Mapping) else dict(zip(inputs, stated or (), strict=False))
        found: dict[str, str] = {}
        for name in inputs:
            dims = by_input.get(name) or {}
            for axis, dim in dims.items() if isinstance(dims, Mapping) else enumerate(dims):
                symbol = _SYMBOL.match(str(program.graph.tensors[name].sizes[axis]))
                if symbol is not None and hasattr(dim, "__name__"):
                    found[symbol[1]] = dim.__name__
        return found

    def _read(self, exported: Any) -> TorchProgram:
        from torch._export.serde import serialize as serde

        with _quiet():
            made = serde.GraphModuleSerializer(exported.graph_signature, exported.module_call_graph)
            document = {
                "graph_module": serde._dataclass_to_dict(made.serialize(exported.graph_module)),
                "range_constraints": serde._dataclass_to_dict(
                    serde.serialize_range_constraints(exported.range_constraints)
                ),
                "schema_version": {"major": serde.SCHEMA_VERSION[0]},
            }
        program = read.program(document)
        tied = {
            tensor: replace(stored, memory=self.ties.get(stored.name, stored.memory))
            for tensor, stored in program.stored.items()
        }
        left = {
            name: each for name, each in exported.state_dict.items() if name not in exported.graph_signature.parameters
        }
        return replace(program, stored=tied).with_numbers(numbers.of_tensors({**left, **exported.constants}))


def _torch() -> Any:
    try:
        import torch
        import torch.export
    except ImportError:
        raise ConfigError(
            f"from_torch needs torch, which is not installed: pip install torch=={VERSION}; "
            "a .pt2 file that torch.export.save wrote is read without it"
        ) from None
    return torch


def _ties(module: Any) -> dict[str, str]:
    """Parameter -> the first name of the same one."""
    first: dict[int, str] = {}
    if not hasattr(module, "named_parameters"):
        return {}
    try:
        named = list(module.named_parameters(remove_duplicate=False))
    except TypeError:  # of an ExportedProgram
        named = list(module.named_parameters())
    return {name: first.setdefault(id(parameter), name) for name, parameter in named}


def _exported(torch: Any, asked: ModuleExport) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode:
        try:
            memo = {id(each): _stand_in(torch, each) for each in _held(torch, asked.module)}
            module = copy.deepcopy(asked.module, memo)
            arguments, keywords = torch.utils._pytree.tree_map_only(
                torch.Tensor, lambda each: _stand_in(torch, each), (asked.arguments, dict(asked.keywords))
            )
            return torch.export.export(module.eval(), arguments, keywords, dynamic_shapes=asked.dynamic_shapes)
        except Exception as error:  # whatever the module's own code raises
            said = str(error).strip().partition("\n")[0]
            raise ModelError(f"torch.export cannot export the module: {type(error).__name__}: {said[:300]}") from error


def _held(torch: Any, module: Any) -> Iterator[Any]:
    """Tensors of all modules inside: parameters, buffers, and those that are plain attributes, in lists too."""
    for each in module.modules():
        for leaf in torch.utils._pytree.tree_leaves(vars(each)):
            if isinstance(leaf, torch.Tensor):
                yield leaf


def _stand_in(torch: Any, tensor: Any) -> Any:
    """A tensor of the same shape and type on the processor, without storage while the mode is on; itself where its
    numbers steer the program."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if type(tensor) is torch.Tensor and tensor.device.type == "cpu" and numbers.is_kept(dtype, tensor.numel(), False):
        return tensor
    found = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    return torch.nn.Parameter(found, requires_grad=tensor.requires_grad) if is_parameter else found


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Warnings of torch about its own ways are no concern of who imports a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
