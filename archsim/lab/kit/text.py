"""Text files that users name."""

from __future__ import annotations

from pathlib import Path

from archsim.base.errors import ConfigError
from archsim.spec.nodes import decoded


def read_text(path: Path) -> str:
    """The text of a file; raises ConfigError naming it when it cannot be read or is not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    return decoded(data, path)
