"""What the compiled machine says where the machine of processes has to run a Program instead."""

from __future__ import annotations


class GivenUpError(Exception):
    """The compiled machine cannot go on: what it was asked cannot be told apart, or a Program is wrong."""


class UnsuitedError(GivenUpError):
    """The compiled machine cannot run a Program; the machine of processes can, or says what is wrong."""
