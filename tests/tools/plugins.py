"""Extensions that tests add as a user would, each a file of ``tests/plugins``, found by its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from archsim.base.registry import PLUGINS_VARIABLE

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"
WINDOWED = "row_stationary"  # a dataflow that asks for windows


@contextmanager
def plugins() -> Iterator[None]:
    """Within, the extensions of ``tests/plugins`` are found beside those of the tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PLUGINS_VARIABLE, str(PLUGINS))
        yield
