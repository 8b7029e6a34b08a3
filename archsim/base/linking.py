"""Compiled functions as parts of entry points: each is typed and lowered once; machine code is made of entries alone.

Numba makes of every function a library of its own: with all that it calls it is optimised, made machine code, wrapped
for Python and kept, at each level of a chain of calls again. Here a part has intermediate code alone. An entry, which
Python calls, links all parts that it reaches, is optimised and made machine code once, and is what is kept on disk. So
compiling takes time in proportion to the text, and a process that finds its entries there compiles nothing.

What is relied on of Numba: compilers with passes of one's own, ``no_compile`` (with which it compiles its own inner
functions), and how a JITCodeLibrary is finalized, linked and serialized.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import event, sigutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from archsim.base import compiled, entries, progress
from archsim.base.addressed import value_at, word_at
from archsim.base.words import WordTable, many_words

_LEVEL = 3  # of LLVM's optimisation
_WORD = 8  # bytes


class PartLibrary(JITCodeLibrary):
    """The intermediate code of one function, packed: not kept as LLVM's objects."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Passes over each function that is defined here."""
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        """Nothing to optimise yet: that is for the entry that links it."""
        self._packed = self._final_module.as_bitcode()
        self._final_module = None
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """What an entry links, whoever else defines the same functions."""
        self._ensure_finalized()
        found = llvm.parse_bitcode(self._packed)
        for function in found.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = llvm.Linkage.linkonce_odr
        return found


class EntryLibrary(JITCodeLibrary):
    """An entry and all that it reaches.

    Its intermediate code goes when there is machine code, which is loaded as that of an entry found on disk: nothing
    is linked with an entry.
    """

    loops_as_written = False

    def finalize(self) -> None:
        """Link the parts of parts too, each behind all that call it: of a library only what is called yet is taken."""
        found: dict[Any, None] = {}
        for library in self._linking_libraries:
            _reach(library, found)
        self._linking_libraries = [*reversed(found)]
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Numba's passes, with loops as they are written unless entries make arrays: most loops end after a few turns
        or look for something, and each would be there two or three times, unrolled and as vectors."""
        if not self.loops_as_written:
            super()._optimize_final_module()
            return
        codegen = self._codegen
        first, builder = codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"
        )
        first.run(self._final_module, builder)
        options = llvm.create_pipeline_tuning_options(_LEVEL)
        options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = False
        builder = llvm.create_pass_builder(codegen._tm, options)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self.machine_code: bytes = self._codegen._tm.emit_object(self._final_module)
        self._names = _named(each.name for each in self._final_module.functions if not each.is_declaration)
        self._final_module = llvm.parse_assembly(f"{self._codegen._create_empty_module(self.name)}")
        self._shared_module = llvm.parse_bitcode(self._names)
        self._set_compiled_object(self.machine_code)
        super()._finalize_final_module()
        self._codegen._engine._load_defined_symbols(self._shared_module)

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """Machine code and the names in it."""
        return self.name, "object", (self.machine_code, self._names)


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


def _load_without_blas() -> None:
    """Load numba's array functions without SciPy: they look in it for BLAS, and its import takes longer than a run.

    No compiled function here multiplies matrices. Functions of others still find BLAS: numba asks again at each
    product.
    """
    blas, arrays = "scipy.linalg.cython_blas", "numba.np.arraymath"
    if blas in sys.modules or arrays in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        importlib.import_module(arrays)
    finally:
        del sys.modules[blas]


class PartCompiler(Compiler):
    """Numba's compiler up to intermediate code."""

    def __init__(self, typing: Any, *state: Any) -> None:
        _load_without_blas()
        from archsim.base import passes  # Numba's tables of functions come with it

        super().__init__(passes.remembered(typing), *state)
        self.state.targetctx = passes.PartTarget(self.state.targetctx, self.state.typingctx)
        self._choose = passes.part_passes

    def define_pipelines(self) -> Any:
        """The passes of parts, on a library of ours."""
        self.state.flags.no_compile = True
        return self._passes(PartLibrary)

    def _passes(self, made: type[JITCodeLibrary]) -> Any:
        self.state.library = made(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return [self._choose(self.state)]


class EntryCompiler(PartCompiler):
    """Numba's compiler to machine code."""

    def define_pipelines(self) -> Any:
        """The passes of parts, on a library of ours."""
        found = self._passes(EntryLibrary)
        self.state.library.loops_as_written = not self.state.flags.nrt
        return found


class PartDispatcher(CPUDispatcher):
    """What compiles a part for the types of its arguments, whatever constants they are."""

    _compiler: Any

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        only = {**options, "no_cpython_wrapper": True}
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


class EntryPoint(CPUDispatcher):
    """A part that Python calls too."""

    _cache: Any

    def __init__(self, part: Any, **options: Any) -> None:
        super().__init__(part.py_func, targetoptions={**part.options, **options}, pipeline_class=EntryCompiler)
        self.part = part

    def _compilation_chain_init_hook(self) -> None:
        """Extensions of numba are looked for where something is compiled: the compiler does that itself."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How a call by compiled code is typed: as one of the part."""
        return self.part.dispatcher.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """What compiled code calls: the part."""
        return self.part.dispatcher.get_overload(sig)

    @property
    def is_there(self) -> bool:
        """Whether there is machine code of it for some arguments: in this process or on disk."""
        kept = isinstance(self._cache, compiled.CompiledCache) and self._cache.is_kept
        return bool(self.overloads) or kept

    def compiled(self, kinds: tuple[Any, ...]) -> Any:
        """What was compiled for arguments of these types, compiled or loaded if need be."""
        self.compile(kinds)
        return self.overloads[kinds]

    def address(self, value: Any) -> int:
        """Where its machine code lies, as compiled code calls it, for a table of such a value."""
        made = self.compiled(_of_table(value))
        return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))

    def add_overload(self, cres: Any) -> None:
        """Take an entry that was compiled or found on disk, with the Python objects that its parts refer to."""
        for environment in cres._find_referenced_environments():
            cres.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


def kept_entry(part: Any, place: Path | None) -> EntryPoint:
    """What compiles an entry, and keeps it in the folder ``place``."""
    made = EntryPoint(part)
    if place is not None:
        made._cache = compiled.CompiledCache(made.py_func, place)
    return made


def _of_table(value: Any) -> tuple[Any, ...]:
    """The types of arguments of an entry that finds such a value in a table (``archsim.base.addressed``)."""
    return (types.TypeRef(numba.typeof(value)), *[types.int64] * 4)


def _from_words(part: Any, values: Any) -> Any:
    """A part that takes where the words of such arguments lie, and calls ``part`` with them: words of a table are where
    its word says."""
    names, given, place = {"part": part, "value_at": value_at, "word_at": word_at}, [], 0
    for at, each in enumerate(values):
        is_table = isinstance(each, WordTable)
        names[f"kind{at}"] = numba.typeof(each.value if is_table else each)
        given.append(f"value_at(kind{at}, {f'word_at(words + {place})' if is_table else f'words + {place}'})")
        place += _WORD * many_words(each)
    exec(f"def from_words(words): return part({', '.join(given)})", names)
    made: Any = names["from_words"]
    made.__name__ = made.__qualname__ = part.py_func.__name__
    made.__module__ = part.py_func.__module__  # it is said that something of it is compiled
    return type(part)(made, part.options)


def emitted(part: Any, values: Any, *, table: bool) -> tuple[str, list[str], bytes]:
    """A part as an entry for such arguments, or for such a value in a ``table``: its name in its object file, what it
    returns, of a tuple all parts behind ``tuple``, and the file."""
    if table:
        made = EntryPoint(part).compiled(_of_table(values))
    else:
        made = EntryPoint(_from_words(part, values)).compiled((types.int64,))
    kind = made.signature.return_type
    several = isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple)
    returns = ["tuple", *map(str, kind)] if several else [str(kind)]
    return made.fndesc.llvm_func_name, returns, made.library.machine_code


class CompileAnnouncer(event.Listener):
    """Says that a function is being compiled, once it is certain: it is in no cache, and somebody waits for it.

    Who shows progress is told; where there is nobody it is said on stderr, once a process.
    """

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled."""
        self._tell(event, 1)

    def on_end(self, event: Any) -> None:
        """A function has been compiled."""
        self._tell(event, -1)

    def _tell(self, event: Any, functions: int) -> None:
        if not _is_ours(event):
            return
        told = progress.watcher()
        if told is not None:
            told.compiling(functions)
        elif functions > 0:
            entries.note(progress.COMPILING)


class CompileCollector(event.Listener):
    """Has Python collect what compiling leaves behind in circles, 100 MB and more: runs pause the collector."""

    def __init__(self) -> None:
        self.paused = False

    def on_start(self, event: Any) -> None:
        """What is made from now on is collected, and what there is not looked through."""
        if not _is_ours(event):
            return
        self.paused = not gc.isenabled()
        gc.freeze()
        gc.enable()

    def on_end(self, event: Any) -> None:
        """As it was before."""
        if not _is_ours(event):
            return
        gc.collect()
        gc.unfreeze()
        if self.paused:
            gc.disable()


def _is_ours(event: Any) -> bool:
    found: bool = event.data["dispatcher"].py_func.__module__.startswith(("archsim.", "mapper."))
    return found


event.register("numba:compile", CompileAnnouncer())
event.register("numba:compile", CompileCollector())
