"""``validate silicon``: the times of operators on chips that exist."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

import typer

from archsim.base.writable import check_directory, write
from archsim.cli import options as opt
from archsim.cli.printing import progress, put, say_error

CHIP_FILES = (".yaml", ".yml")


class CalibrateChoice(StrEnum):
    """Which keys of platforms hold."""

    SHIPPED = "shipped"
    NONE = "none"


def validate(
    reference: Path | None, names: tuple[str, ...], calibrate: str, jobs: int, out: Path | None, form: opt.OutputFormat
) -> None:
    """Print the figures of the sets, and write every row into ``out``; exits with 1 where no row could be run."""
    from archsim.lab.validate.silicon import suite
    from archsim.lab.validate.silicon.causes import explained
    from archsim.lab.validate.suite import default_reference
    from archsim.report.checks import silicon, silicon_page
    from archsim.report.kit import part_page
    from archsim.report.kit.console import columns, folded

    if out is not None:
        check_directory(out)
        part_page.check_free(out, silicon_page.KIND)
    with progress():
        result = suite.run(reference or default_reference(suite.NAME), names, calibrate=calibrate, jobs=jobs)
    figures = json.dumps(result.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    put(figures if form is opt.OutputFormat.JSON else folded(silicon.to_table(result.to_store(), columns()), columns()))
    paths = part_page.save(out, result.to_store(), silicon_page.KIND) if out is not None else []
    if out is not None and result.met:  # the rows are kept first: what bounds the worst takes some minutes more
        with progress():
            part_page.save(out, explained(result, jobs=jobs).to_store(), silicon_page.KIND)
    for path in paths if form is opt.OutputFormat.TABLE else ():
        put(str(path))
    if not result.met:
        say_error("error: validate silicon: no row could be run")
        raise typer.Exit(1)


def calibrate(
    chip: str, name: str, reference: Path | None, keys: tuple[str, ...], jobs: int, out: Path | None,
    form: opt.OutputFormat,
) -> None:  # fmt: skip
    """Fit keys of a chip's platform to a set, print them, and write a chip file that has them into ``out``."""
    from archsim.lab.validate.silicon import fit, sets, suite
    from archsim.lab.validate.suite import default_reference
    from archsim.report.checks import calibration
    from archsim.report.kit.console import columns, folded
    from archsim.spec import value_domains

    if out is not None and (out.exists() or out.suffix not in CHIP_FILES):
        said = "is there already" if out.exists() else f"is no name of a chip file; allowed {', '.join(CHIP_FILES)}"
        raise typer.BadParameter(f"{out} {said}", param_hint="--out")
    if out is not None:
        value_domains.name().convert(out.stem)  # that of the chip
        check_directory(out.parent)
    (measured,) = sets.read(reference or default_reference(suite.NAME), (name,))
    with progress():
        found = fit.fit(replace(measured, chip=chip), keys, jobs=jobs)
    told = calibration.to_json(found)
    if form is opt.OutputFormat.JSON:
        put(json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        put(folded(calibration.to_table(told, columns()), columns()))
    if out is not None:
        base = os.path.relpath(chip, out.parent) if Path(chip).suffix in CHIP_FILES else chip
        write(out, found.chip_file(out.stem, base))
