"""Takes decoded JSON apart: each step says what it wants, and raises ModelError where the file has something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from archsim.base.errors import ModelError

T = TypeVar("T")
LARGEST = (1 << 63) - 1  # what NumPy holds


@dataclass(frozen=True, slots=True)
class JsonField:
    """A value of a JSON document and ``where`` it stands, as in ``graph.nodes[3]``."""

    value: object
    where: str

    def fail(self, wanted: str) -> NoReturn:
        """Raise a ModelError that names the place and what was found there."""
        found = repr(self.value)
        short = found if len(found) <= 40 else f"{found[:40]}..."
        raise ModelError(f"{self.where}: found {short}; allowed {wanted}; export the model again")

    def at(self, key: str) -> JsonField:
        """A member that must be there."""
        found = self.get(key)
        return self.fail(f"an object with '{key}'") if found is None else found

    def get(self, key: str) -> JsonField | None:
        """A member, or None where it is absent or null."""
        if not isinstance(self.value, dict):
            self.fail("an object")
        found = self.value.get(key)
        return None if found is None else JsonField(found, f"{self.where}.{key}")

    def only(self) -> tuple[str, JsonField]:
        """Key and value of an object with one member."""
        if not isinstance(self.value, dict) or len(self.value) != 1:
            self.fail("an object with one member")
        key, value = next(iter(self.value.items()))
        return key, JsonField(value, f"{self.where}.{key}")

    def items(self) -> Iterator[tuple[str, JsonField]]:
        """Members of an object."""
        if not isinstance(self.value, dict):
            self.fail("an object")
        return ((key, JsonField(value, f"{self.where}.{key}")) for key, value in self.value.items())

    def each(self) -> Iterator[JsonField]:
        """Elements of a list."""
        if not isinstance(self.value, list):
            self.fail("a list")
        return (JsonField(value, f"{self.where}[{at}]") for at, value in enumerate(self.value))

    def integer(self) -> int:
        """A whole number of at most 64 bits."""
        found = self._of(int, "a whole number")
        return found if -LARGEST <= found <= LARGEST else self.fail(f"a whole number up to {LARGEST}")

    def text(self) -> str:
        """Text."""
        return self._of(str, "text")

    def truth(self) -> bool:
        """True or false."""
        return self._of(bool, "true or false")

    def number(self) -> float:
        """A number; infinities and what is none are written as text."""
        try:
            return float(self.value) if isinstance(self.value, int | float | str) else self.fail("a number")
        except (ValueError, OverflowError):
            self.fail("a number")

    def _of(self, kind: type[T], wanted: str) -> T:
        if not isinstance(self.value, kind) or (isinstance(self.value, bool) and kind is not bool):
            self.fail(wanted)
        return self.value
