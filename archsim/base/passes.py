"""How Numba compiles a part: its own passes, those that something is left to do for, and nothing around them.

Numba runs 27 passes. Around each it works out the lifetimes of all variables again, which the passes that need them do
as well, and tells listeners, who are none, of all types and options as text. Left out are passes for what parts have
none of: ``with`` blocks, functions to put in the place of calls, constants that types depend on, and listings. Passes
over functions within functions and over whole arrays are for those that have functions within, or make arrays.
"""

from __future__ import annotations

from functools import cache
from types import CodeType
from typing import Any

from numba.core import compiler, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager, _pass_registry

from archsim.base.calling import PartTarget
from archsim.base.lowering import PartLower
from archsim.base.signatures import remembered

__all__ = ["PartTarget", "part_passes", "remembered"]

_LEFT_OUT = (
    untyped_passes.IRProcessing,
    untyped_passes.WithLifting,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.NoPythonSupportedFeatureValidation,
    typed_passes.AnnotateTypes,
    typed_passes.DumpParforDiagnostics,
)
_OF_ARRAYS = (
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
)


class PartLowering(typed_passes.BaseNativeLowering):
    """The pass that makes intermediate code."""

    _name: Any = "part_lowering"

    @property
    def lowering_class(self) -> type[PartLower]:
        """What makes it."""
        return PartLower


class PartPasses(PassManager):
    """Runs passes one after the other."""

    def __init__(self, *left_out: Any) -> None:
        super().__init__("part")
        state = compiler.StateDict()
        state.func_ir, state.flags = None, compiler.Flags()
        usual = compiler.DefaultPassBuilder.define_nopython_pipeline(state)
        self.passes = [each for each in usual.passes if each[0] not in left_out]
        self._analysis, self._finalized = usual._analysis, True
        self._run = [_made(each) for each, _ in self.passes]

    def run(self, state: Any) -> None:
        """Compile a function; raises NumbaError where it cannot be."""
        for each in self._run:
            each.analysis = self._analysis
            each.run_initialization(state)
            each.run_pass(state)
            each.run_finalizer(state)


def _made(kind: Any) -> Any:
    return PartLowering() if kind is typed_passes.NativeLowering else _pass_registry.get(kind).pass_inst


@cache
def _passes(every: bool) -> PartPasses:
    return PartPasses(*_LEFT_OUT) if every else PartPasses(*_LEFT_OUT, *_OF_ARRAYS)


def part_passes(state: Any) -> PartPasses:
    """The passes of a part or entry that is about to be compiled."""
    within = any(isinstance(each, CodeType) for each in state.func_id.code.co_consts)
    return _passes(within or state.flags.nrt)
