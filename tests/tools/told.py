"""What the commands that ``archsim validate silicon`` prints beside its rows tell when they are typed."""

from __future__ import annotations

import json
import shlex

import pytest

from archsim.cli.app import main


def told_us(command: str, capsys: pytest.CaptureFixture[str]) -> float:
    """Microseconds between two runs as a command prints them."""
    program, *arguments = shlex.split(command)
    assert program == "archsim"
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--format", "json"])
    assert not ended.value.code
    interval_s: float = json.loads(capsys.readouterr().out)["provenance"]["repeat"]["interval_s"]
    return 1e6 * interval_s
