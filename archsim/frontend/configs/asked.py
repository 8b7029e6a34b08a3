"""What the user asks of a model that a config.json describes: parameters by name, and a phase."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn

from archsim.base.errors import ConfigError, nearest

MOST = 1 << 22  # of a size, such as rows or samples
ParameterValue = int | float | str


class AskedParameters:
    """``parameters`` by name and a ``phase``, '' where none was named. Every refusal is a ConfigError that names file
    and parameter."""

    def __init__(
        self, place: str, parameters: Mapping[str, ParameterValue], batch: int | None = None, phase: str = ""
    ) -> None:
        """``place``: what messages begin with; ``batch``: as an option of its own. Raises ConfigError where the
        parameter of this name is another."""
        self.place, self._given, self.phase = place, dict(parameters), phase
        if batch is not None and self._given.setdefault("batch", batch) != batch:
            self.fail("batch", f"found {self._given['batch']}; --batch says {batch}")

    @property
    def batch(self) -> int:
        """How many samples run together."""
        return self.size("batch", 1)

    def of_samples(self, *others: str) -> int:
        """How many samples, of a model that has no phases and no parameters but ``batch`` and ``others``."""
        self.without_phases()
        self.known(("batch", *others))
        return self.batch

    def without_phases(self) -> None:
        """Refuse a phase: the model has none."""
        if self.phase:
            raise ConfigError(f"{self.place}: has no phases; found '{self.phase}'; allowed the name alone")

    def known(self, names: Collection[str]) -> None:
        """Refuse parameters of other ``names``."""
        for key in self._given:
            if key not in names:
                raise ConfigError(
                    f"{self.place}: has no parameter '{key}' to set{nearest(key, names)}; known: {', '.join(names)}"
                )

    def has(self, key: str) -> bool:
        """Whether the user states a parameter."""
        return key in self._given

    def size(self, key: str, default: int, low: int = 1, high: int = MOST) -> int:
        """A whole number from ``low`` to ``high``; the default may be any."""
        found = self._given.get(key, default)
        if type(found) is not int or (key in self._given and not low <= found <= high):
            self.fail(key, f"found {found}; allowed {low} to {high}")
        return found

    def real(self, key: str, low: float, high: float) -> float:
        """A number from ``low`` to ``high``, which has to be stated."""
        if key not in self._given:
            self.fail(key, f"is missing; allowed {low:g} to {high:g}")
        found = self._given[key]
        if isinstance(found, str | bool) or not low <= found <= high:
            self.fail(key, f"found {found}; allowed {low:g} to {high:g}")
        return float(found)

    def word(self, key: str, default: str, allowed: Collection[str]) -> str:
        """One of the words that are ``allowed``."""
        found = self._given.get(key, default)
        if not isinstance(found, str) or found not in allowed:
            self.fail(key, f"found {found}{nearest(str(found), allowed)}; allowed {', '.join(allowed)}")
        return found

    def text(self, key: str) -> str:
        """Any words, such as the name of a file."""
        return str(self._given[key])

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise a ConfigError that names the parameter."""
        raise ConfigError(f"{self.place}: parameter {key}: {message}")
