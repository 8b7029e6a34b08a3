"""The validation suites by name."""

from __future__ import annotations

from pathlib import Path

from archsim.base.errors import ConfigError, nearest
from archsim.lab.validate.suite import SuiteResult, default_reference

SILICON = "silicon"
EXISTING = ("area", "power")
BESIDE = (SILICON, *EXISTING)  # that compare with chips that exist
SUITES = ("dram", "mapping", "noc", "systolic")  # that compare with other simulators


def run(suite: str, reference: Path | None = None) -> SuiteResult:
    """Run ``suite`` against ``reference``, by default its data in studies/validation.

    Raises ConfigError for an unknown suite or unreadable data.
    """
    if suite in BESIDE:
        raise ConfigError(f"suite '{suite}' has no thresholds: archsim.lab.validate.{suite}.suite runs it")
    if suite not in SUITES:
        known = (*SUITES, *BESIDE)
        raise ConfigError(f"no validation suite '{suite}'{nearest(suite, known)}; it has: {', '.join(known)}")
    from archsim.lab.validate import dram, mapping, noc, systolic

    runs = {"dram": dram.run, "mapping": mapping.run, "noc": noc.run, "systolic": systolic.run}
    return runs[suite](reference or default_reference(suite))
