"""Parts of compiled code and the entries that Python calls, which need the compiler only where something is compiled.

An entry that is kept is an object file with a few words about it (``archsim.base.native``): it is put into memory and
called with words. Only where there is none Numba is imported, which takes 0.3 s and 65 MB, and compiles it. Entries
that make arrays, which needs Numba's runtime, and all entries on machines whose object files are not read here, are
kept, loaded and called by Numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any

from archsim.base import native
from archsim.base.machine_code import UnloadableError
from archsim.base.words import UnknownKindError, described, taken, text_of


class Part:
    """A function that compiled code calls. What compiles it is made when something that calls it is compiled: most
    processes find their entries on disk."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        self.options = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True, **options}
        update_wrapper(self, function)

    @cached_property
    def dispatcher(self) -> Any:
        """What compiles it, a PartDispatcher."""
        from archsim.base.linking import PartDispatcher

        return PartDispatcher(self.py_func, self.options)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes it for where it is named in compiled code."""
        return self.dispatcher._numba_type_

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Refuse: it has no machine code."""
        raise TypeError(f"{self.py_func.__qualname__} is called by compiled code alone: Python calls entries")


class CompiledEntry:
    """A part that Python calls too, kept in the folder ``place`` unless that is None."""

    def __init__(self, part: Part, place: Path | None) -> None:
        self.py_func, self.part, self.place = part.py_func, part, place
        # what makes arrays needs Numba's runtime for them
        self._is_native = place is not None and native.FITS and not part.options["_nrt"]
        self._calls: dict[tuple[Any, ...], Callable[..., Any] | None] = {}
        self._codes: dict[str, native.NativeCode | None] = {}  # by kinds: what is in memory stays there
        update_wrapper(self, part.py_func)

    @cached_property
    def dispatcher(self) -> Any:
        """What compiles, keeps and calls it where it is not called with words, an EntryPoint."""
        from archsim.base.linking import kept_entry

        return kept_entry(self.part, self.place)

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes it for where it is named in compiled code: the part."""
        return self.part._numba_type_

    def __call__(self, *values: Any) -> Any:
        """Run it; in the place of a value may stand a ``words.WordTable`` with it. Raises what it raises."""
        if not self._is_native:
            return self.dispatcher(*taken(values))
        kinds: list[Any] = []
        words: list[Any] = []
        try:
            described(values, kinds, words)
        except UnknownKindError:
            return self.dispatcher(*taken(values))
        key = tuple(kinds)
        if key not in self._calls:
            found = self._found(text_of(kinds), values, table=False)
            self._calls[key] = native.caller(found, words) if found is not None else None
        call = self._calls[key]
        return call(*words) if call is not None else self.dispatcher(*taken(values))

    @property
    def is_there(self) -> bool:
        """Whether its machine code is there for some arguments: in this process or on disk."""
        if self.place is None or not self._is_native:
            return bool(self.dispatcher.is_there)
        return bool(self._codes) or native.is_kept(self.py_func, self.place)

    def address(self, value: Any) -> int:
        """Where it lies for a table of such a value (``archsim.base.addressed``); it is compiled if need be."""
        kinds: list[Any] = []
        described((value,), kinds, [])
        found = self._found(f"table {text_of(kinds)}", value, table=True) if self._is_native else None
        return found.address if found is not None else self.dispatcher.address(value)

    def _found(self, kinds: str, values: Any, *, table: bool) -> native.NativeCode | None:
        """The entry for such arguments, put into memory once; None where it is not called with words.

        ``values``: the arguments, or the value that it finds in a ``table``.
        """
        if kinds not in self._codes:
            self._codes[kinds] = self._loaded(kinds, values, table=table)
        return self._codes[kinds]

    def _loaded(self, kinds: str, values: Any, *, table: bool) -> native.NativeCode | None:
        """The same, from disk or kept there now."""
        assert self.place is not None
        file = native.file_of(self.py_func, self.place, kinds)
        try:
            found = native.read(file, self.place)
            if found is None:
                from archsim.base.linking import emitted

                made = emitted(self.part, values, table=table)
                native.keep(file, self.place, *made)
                found = native.loaded(*made)
        except UnloadableError:
            return None
        return found
