"""A Program on the machine of processes and on the compiled one: what differs between the two Activities."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from archsim.ir.activity import Activity
from archsim.ir.program import Program
from archsim.spec.architecture import Architecture
from archsim.system import Machine


def differences(program: Program, architecture: Architecture) -> list[str]:
    """What the machines say otherwise, field by field; raises GivenUpError where the compiled one gives up."""
    one = Machine(program, architecture, trace=True).run()
    two = Machine(program, architecture, trace=True, compiled=True).run()
    found = [f"{field.name} differs" for field in fields(one) if _value(one, field.name) != _value(two, field.name)]
    return found + _records(one, two)


def _value(activity: Activity, name: str) -> Any:
    """A field, records as lists in the order of queues."""
    value = getattr(activity, name)
    return [(queue, len(rows)) for queue, rows in value.items()] if name == "records" else value


def _records(one: Activity, two: Activity) -> list[str]:
    """The first command of each queue that went otherwise."""
    found = []
    for name, rows in one.records.items():
        pair = next((pair for pair in zip(rows, two.records.get(name, ()), strict=False) if pair[0] != pair[1]), None)
        if pair is not None:
            found.append(f"{name}: {pair[0]}, compiled {pair[1]}")
    return found
