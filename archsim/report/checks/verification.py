"""A verification's outcome as JSON and as a few lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

SHOWN = 20


class VerificationResult(Protocol):
    """What a verification returns."""

    def to_json(self) -> dict[str, Any]:
        """schema, names, passed, checks with their rows."""


def to_json(outcome: VerificationResult) -> str:
    """The JSON text without a closing newline."""
    return json.dumps(outcome.to_json(), indent=1, ensure_ascii=False, allow_nan=False)


def to_table(outcome: VerificationResult) -> str:
    """A line for each check, then what failed in it, layer by layer."""
    found = outcome.to_json()
    lines = [
        f"{found['workload']} on {found['architecture']}: {found['commands']:,} commands, inputs from seed "
        f"{found['seed']}, weights {found['weights']}"
    ]
    for check in found["checks"]:
        lines += _check(check)
    lines.append("verified" if found["passed"] else "NOT VERIFIED")
    return "\n".join(lines)


def _check(check: Mapping[str, Any]) -> list[str]:
    head = f"  {check['numbers']:8} against {check['reference']}: "
    if check["skipped"]:
        return [f"{head}skipped: {check['skipped']}"]
    rows = check["rows"]
    failed = [row for row in rows if not row["passed"]]
    orders = f"{check['interleavings']} order{'s' if check['interleavings'] != 1 else ''} of commands"
    lines = [f"{head}{len(rows) - len(failed)} of {len(rows)} results {_meaning(check)}, {orders}"]
    lines += [f"    {_row(row)}" for row in failed[:SHOWN]]
    if len(failed) > SHOWN:
        lines.append(f"    and {len(failed) - SHOWN} more")
    if check["problem"]:
        lines.append(f"    stopped: {check['problem']}")
    same = [row["name"] for row in rows if row["constant"]]
    if same:
        lines.append(f"    {len(same)} of them hold one number throughout, which shows little: {', '.join(same[:5])}")
    return lines


def _meaning(check: Mapping[str, Any]) -> str:
    error, share = check["worst_error"], check["worst_share"]
    if not check["passed"] or not error:
        return str(check["rule"])
    taken = f", {share:.1%} of the bound" if share else ""
    return f"{check['rule']} (worst {error:.2g} of the largest{taken})"


def _row(row: Mapping[str, Any]) -> str:
    error = "infinite" if row["error"] is None else f"{row['error']:.2g} of the largest"
    bound = f", {row['share']:.3g} times the bound" if row["share"] else ""
    return (
        f"{row['name']} ({row['op'] or 'tensor'}): {row['different']:,} of {row['elements']:,} elements differ, error "
        f"{error}{bound}"
    )
