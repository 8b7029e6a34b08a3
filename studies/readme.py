"""Bring README up to date with this version: the run it shows, its picture, the promise table.

python studies/readme.py
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

import archsim
from archsim.report.kit.promises import HEADINGS, PROMISES
from archsim.report.kit.table_markdown import table
from archsim.report.run import terminal

ROOT = Path(__file__).resolve().parents[1]
MODEL, CHIP = "resnet50", "edge_npu"


def replaced(text: str, name: str, block: str) -> str:
    """``text`` with what stands between the comments ``name`` and ``/name`` replaced."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    found, count = re.subn(pattern, lambda match: f"{match[1]}{block}\n{match[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"README.md: no block '{name}'")
    return found


def main() -> None:
    """Run, and rewrite README.md and the picture."""
    result = archsim.run(MODEL, on=CHIP)
    result.plot_waterfall().savefig(ROOT / "docs" / f"{MODEL}_{CHIP}.png", dpi=110, metadata={"Software": None})
    shown = io.StringIO()
    terminal.show(result.summary, Console(file=shown, width=terminal.WIDTH, highlight=False))
    lines = [f"$ archsim run {MODEL} --on {CHIP}", *shown.getvalue().splitlines()]
    run = "\n".join(f"    {line}".rstrip() for line in lines)
    readme = ROOT / "README.md"
    text = replaced(readme.read_text(encoding="utf-8"), "run", run)
    readme.write_text(replaced(text, "promises", table(HEADINGS, "llll", PROMISES)), encoding="utf-8")


if __name__ == "__main__":
    main()
