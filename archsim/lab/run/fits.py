"""Whether a chip can run a model, before anything is mapped: the compiler's complaints, with the place to mend each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.ir.workload import Workload
from archsim.spec import load
from archsim.spec.architecture import Architecture

if TYPE_CHECKING:
    from mapper.problem.feasibility import Complaint


def check_fit(
    workload: Workload,
    architecture: Architecture,
    dtypes: Mapping[str, str],
    chip: object,
    values: Mapping[str, object],
) -> None:
    """Accept what the chip can run as far as is known without a search.

    ``chip``: the name or path of its file, or what was made of one; ``values``: what was set. Raises
    ``mapper.problem.feasibility.UnfitError`` with every complaint, the layer, and the line to paste with its place.
    """
    from mapper.compile import formatted, resolve_dtypes
    from mapper.problem.feasibility import UnfitError, judge

    def place(complaint: Complaint) -> str:
        if not isinstance(chip, str | Path) or not complaint.line:
            return ""
        return load.where(chip, values, f"{complaint.part}.{complaint.key}")

    try:
        judge(formatted(workload, architecture, dtypes), architecture, resolve_dtypes(architecture, dtypes))
    except UnfitError as error:
        raise UnfitError(error.complaints, place) from None
