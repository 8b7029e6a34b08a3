"""The validation suites by name."""

from __future__ import annotations

from pathlib import Path

from archsim.base.errors import ConfigError, NotBuiltError, nearest
from archsim.lab.validate.suite import SuiteResult, default_reference

SUITES = ("dram", "mapping", "noc", "systolic")
LATER = ("silicon",)


def run(suite: str, reference: Path | None = None) -> SuiteResult:
    """Run ``suite`` against ``reference``, by default its data in studies/validation.

    Raises ConfigError for an unknown suite or unreadable data, NotBuiltError for those of later versions.
    """
    if suite in LATER:
        raise NotBuiltError(f"validate {suite}: not built yet in this version; it has: {', '.join(SUITES)}")
    if suite not in SUITES:
        raise ConfigError(f"no validation suite '{suite}'{nearest(suite, SUITES)}; it has: {', '.join(SUITES)}")
    from archsim.lab.validate import dram, mapping, noc, systolic

    runs = {"dram": dram.run, "mapping": mapping.run, "noc": noc.run, "systolic": systolic.run}
    return runs[suite](reference or default_reference(suite))
