"""Compiled functions as parts of entry points: each is typed and lowered once; machine code is made of entries alone.

Numba makes of every function a library of its own: with all that it calls it is optimised, made machine code, wrapped
for Python and kept, at each level of a chain of calls again. Here a part has intermediate code alone. An entry, which
Python calls, links all parts that it reaches, is optimised and made machine code once, and is what is kept on disk. So
compiling takes time in proportion to the text, and a process that finds its entries there compiles nothing.

What is relied on of Numba: compilers with passes of one's own, ``no_compile`` (with which it compiles its own inner
functions), and how a JITCodeLibrary is finalized, linked and serialized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import llvmlite.binding as llvm
from numba.core import sigutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher


class PartLibrary(JITCodeLibrary):
    """The intermediate code of one function."""

    def finalize(self) -> None:
        """Nothing to optimise yet: that is for the entry that links it."""
        self._finalized = True


class EntryLibrary(JITCodeLibrary):
    """An entry and all that it reaches."""

    def finalize(self) -> None:
        """Link the parts of parts too, each behind all that call it: of a library only what is called yet is taken."""
        found: dict[Any, None] = {}
        for library in self._linking_libraries:
            _reach(library, found)
        self._linking_libraries = [*reversed(found)]
        super().finalize()

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """Machine code and the names in it, without the intermediate code: nothing is linked with an entry."""
        name, kind, (machine_code, linked) = super().serialize_using_object_code()
        return (
            name,
            kind,
            (
                machine_code,
                _named(
                    function.name for function in llvm.parse_bitcode(linked).functions if not function.is_declaration
                ),
            ),
        )


def _reach(library: Any, found: dict[Any, None]) -> None:
    """Add a library behind those that it links."""
    if library in found:
        return
    if isinstance(library, PartLibrary):
        for each in library._linking_libraries:
            _reach(each, found)
    found[library] = None


def _named(names: Iterable[str]) -> bytes:
    """A module that defines functions of these names and no more."""
    text = "\n".join(f'define void @"{name}"() {{ unreachable }}' for name in names)
    module: bytes = llvm.parse_assembly(text).as_bitcode()
    return module


class PartCompiler(Compiler):
    """Numba's compiler up to intermediate code."""

    def define_pipelines(self) -> Any:
        """Numba's own passes, on a library of ours."""
        self.state.flags.no_compile = True
        return self._passes(PartLibrary)

    def _passes(self, made: type[JITCodeLibrary]) -> Any:
        self.state.library = made(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class EntryCompiler(PartCompiler):
    """Numba's compiler to machine code."""

    def define_pipelines(self) -> Any:
        """Numba's own passes, on a library of ours."""
        return self._passes(EntryLibrary)


class Part(CPUDispatcher):
    """A function that compiled code calls, compiled for the types of its arguments, whatever constants they are."""

    _compiler: Any

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.options = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True, **options}
        only = {**self.options, "no_cpython_wrapper": True}
        super().__init__(function, targetoptions=only, pipeline_class=PartCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How a call is typed."""
        named = {name: types.unliteral(value) for name, value in kws.items()}
        return super().get_call_template(tuple(map(types.unliteral, args)), named)

    def compile(self, sig: Any) -> Any:
        """What stands for the function of a signature in calls; its descriptor, as it has no address."""
        args, return_type = sigutils.normalize_signature(sig)
        if args not in self.overloads:
            with self._compiling_counter:
                made: Any = self._compiler.compile(args, return_type)
            self.targetctx.insert_user_function(made.fndesc, made.fndesc, [made.library])
            self.overloads[args] = made._replace(entry_point=made.fndesc)
        found: Any = self.overloads[args]
        return found.entry_point

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        raise TypeError(f"{self.py_func.__qualname__} is called by compiled code alone: Python calls entries")


class EntryPoint(CPUDispatcher):
    """A part that Python calls too."""

    _cache: Any

    def __init__(self, part: Part, **options: Any) -> None:
        super().__init__(part.py_func, targetoptions={**part.options, **options}, pipeline_class=EntryCompiler)
        self.part = part

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How a call by compiled code is typed: as one of the part."""
        return self.part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """What compiled code calls: the part."""
        return self.part.get_overload(sig)

    def add_overload(self, cres: Any) -> None:
        """Take an entry that was compiled or found on disk, with the Python objects that its parts refer to."""
        for environment in cres._find_referenced_environments():
            cres.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


class AddressedEntry(EntryPoint):
    """An entry that is called by its address (``archsim.base.addressed``)."""

    def __init__(self, part: Part) -> None:
        super().__init__(part, no_cfunc_wrapper=False)

    def address(self, *kinds: Any) -> int:
        """Of the machine code for arguments of these types, as C code calls it; made if need be."""
        self.compile(kinds)
        made: Any = self.overloads[kinds]
        return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))
