"""A validation suite's outcome, as JSON and as a few lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

FAILED_SHOWN = 20


class ValidationResult(Protocol):
    """What a suite returns: its JSON object, and whether every threshold is met."""

    @property
    def met(self) -> bool:
        """Every case is within the threshold."""

    @property
    def incomplete(self) -> str:
        """How many rows with a threshold were skipped, of how many; '' when none was."""

    def to_json(self) -> dict[str, object]:
        """suite, cases, passed, exact, mape_pct, max_error_pct, threshold, speed, failed, skipped; perhaps more."""


def to_json(outcome: ValidationResult) -> str:
    """The JSON text without a closing newline."""
    return json.dumps(outcome.to_json(), indent=1, ensure_ascii=False, allow_nan=False)


def to_table(outcome: ValidationResult) -> str:
    """One line of counts, one of errors, one of speed, then what failed, what was skipped, what is beside it."""
    found: Mapping[str, Any] = outcome.to_json()
    verdict = ("passed" if outcome.met else "FAILED") + (f", {outcome.incomplete}" if outcome.incomplete else "")
    lines = [
        f"{found['suite']}: {verdict}, {found['passed']} of {found['cases']} within "
        f"{found['threshold']:g} %, {found['exact']} exact",
        f"mean error {found['mape_pct']:.4g} %, largest {found['max_error_pct']:.4g} %",
        ", ".join(f"{name} {value:.4g}" for name, value in found["speed"].items()),
    ]
    lines += [
        f"  {case['case']}: expected {case['expected']}, got {case['got']} ({case['error_pct']:.3g} %)"
        for case in found["failed"][:FAILED_SHOWN]
    ]
    if len(found["failed"]) > FAILED_SHOWN:
        lines.append(f"  and {len(found['failed']) - FAILED_SHOWN} more")
    lines += [f"  skipped {row['case']}: {row['reason']}" for row in found["skipped"]]
    return "\n".join(lines + _beside(found.get("beside", [])))


def _beside(rows: list[Mapping[str, Any]]) -> list[str]:
    """Rows without a threshold by what they measure: the last words of their cases, ours by theirs."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        ratio = row["got"] / row["expected"] if row["expected"] else 1.0
        kinds.setdefault(row["case"].partition(" ")[2], []).append(ratio)
    return [
        f"  beside, no threshold: {kind}: {len(found)} runs, ours by theirs {min(found):.3f} to {max(found):.3f}, "
        f"mean {sum(found) / len(found):.3f}"
        for kind, found in kinds.items()
    ]
