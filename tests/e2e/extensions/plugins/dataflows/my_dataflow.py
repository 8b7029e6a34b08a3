"""Output stationary under a name of its own."""

from __future__ import annotations

from archsim.facts.dataflows.output_stationary import HELD, OPTIONS, fanouts, fold, registers

SUMMARY = "output stationary, as a plugin"
__all__ = ["HELD", "OPTIONS", "SUMMARY", "fanouts", "fold", "registers"]
