"""What users ask of ``archsim verify``, read and sent the right way."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ConfigError
from archsim.lab.run.job import Job, Progress, quiet
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.outcome import VerifyOutcome
from archsim.lab.verify.program import verify_program

ORDERS_OF_A_PROGRAM = 20  # what a race detector needs; a model's Program was made by the compiler and is checked


def ask(
    job: Job, layers: str | None, interleavings: int | None, numbers: str, inputs: Path | None, against: str | None
) -> VerifyOptions:
    """The request; raises ConfigError for options that do not go together and for unreadable inputs."""
    if against is not None and not job.is_program:
        raise ConfigError(f"--against {against}: '{job.model}' is a model; allowed for a Program text (.asm)")
    names = tuple(name.strip() for name in layers.split(",") if name.strip()) if layers is not None else ()
    if layers is not None and not names:
        raise ConfigError("--layers: found none; allowed names between commas")
    orders = interleavings or (ORDERS_OF_A_PROGRAM if job.is_program else 1)
    return VerifyOptions(job, names, orders, numbers, _arrays(inputs) if inputs is not None else {}, against or "")


def verified(asked: VerifyOptions, say: Progress = quiet) -> VerifyOutcome:
    """Verify a model or a Program text."""
    return verify_program(asked, say) if asked.job.is_program else verify(asked, say)


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a .npz file; nothing in it is executed."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ConfigError(f"--inputs {path}: holds one array; allowed .npz files with arrays by name")
        with loaded as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ConfigError(f"--inputs {path}: cannot be read: {error}") from None
