"""Bring studies/kernels/README.md up to date: the table of figures and the messages of the broken kernels.

python studies/kernels/readme.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import archsim
from archsim.base.errors import ProgramError
from archsim.ir.asm.parser import parse_program
from archsim.ir.check.program import check
from archsim.report.kit.table_markdown import pipes

HERE = Path(__file__).resolve().parent
CHIP, MODEL = "edge_npu", "gemm.yaml"
KERNELS = ("1_naive.asm", "2_double.asm", "3_stationary.asm", "4_first_tile.asm")
BROKEN = ("broken_deadlock.asm", "broken_hazard.asm", "broken_race.asm")
HEADINGS = ("kernel", "cycles", "useful", "waits for DRAM", "load, fill, drain", "launch, idle", "DRAM", "energy")


def row(name: str) -> list[str]:
    """The figures of one kernel, or of the compiled model."""
    summary: dict[str, Any] = archsim.run(HERE / name, on=CHIP).summary
    cycles, slots = summary["cycles_total"], summary["mac_breakdown"]
    peak = sum(slots.values()) / cycles
    waits = sum(count for cause, count in slots.items() if cause.startswith("stall_dram"))
    shown = f"[{name}]({name})" if name != MODEL else f"compiled [{name}]({name})"
    moved = (summary["dram"]["read_bytes"] + summary["dram"]["write_bytes"]) / 1e6
    return [
        shown,
        f"{cycles:,}",
        f"{slots['useful'] / (cycles * peak):.1%}",
        f"{round(waits / peak):,}",
        f"{round((slots['weight_load'] + slots['fill_drain']) / peak):,}",
        f"{round((slots['launch'] + slots['idle']) / peak):,}",
        f"{moved:.2f} MB",
        f"{summary['energy_j'] * 1e6:.0f} uJ",
    ]


def figures() -> str:
    """The table of all kernels and of what the compiler makes of the model."""
    return pipes(HEADINGS, "lrrrrrrr", [row(name) for name in (*KERNELS, MODEL)])


def message(name: str) -> str:
    """What the checker says to a broken kernel."""
    text = (HERE / name).read_text(encoding="utf-8")
    try:
        check(parse_program(text, name), archsim.load_chip(CHIP))
    except ProgramError as error:
        return str(error)
    raise SystemExit(f"{name}: accepted, but it is there to be refused")


def broken() -> str:
    """Each broken kernel with its first line and its message."""
    parts = []
    for name in BROKEN:
        first = (HERE / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# Broken: ")
        lines = "\n".join(f"    {line}" for line in [f"$ archsim check {name}", *message(name).splitlines()])
        parts.append(f"[{name}]({name}): {first}\n\n{lines}")
    return "\n\n".join(parts)


def replaced(text: str, name: str, block: str) -> str:
    """``text`` with what stands between the comments ``name`` and ``/name`` replaced."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    return re.sub(pattern, lambda match: f"{match[1]}\n{block}\n\n{match[2]}", text, flags=re.DOTALL)


def main() -> None:
    """Rewrite the page."""
    page = HERE / "README.md"
    text = replaced(page.read_text(encoding="utf-8"), "figures", figures())
    page.write_text(replaced(text, "broken", broken()), encoding="utf-8")


if __name__ == "__main__":
    main()
