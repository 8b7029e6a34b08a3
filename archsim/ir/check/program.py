"""The Program checker: what it accepts can neither deadlock, lose a token, nor depend on timing for its numbers.

Five stages, each assuming that the one before it passed:

1. declarations and commands (text only): names, places, capacities, operands, who may take and give which token;
2. unrolling: the concrete commands of each queue, and whether index streams have the entries that they ask for;
3. the token-only run: deadlock, lost tokens, and the happens-before relation of all token-legal interleavings;
4. accesses: bounding byte intervals of every operand, inside their tensor or slot; scales that fit each other;
5. hazards: unordered or too early reads and writes, judged by happens-before.
"""

from __future__ import annotations

from archsim.ir.check.form.commands import check_commands, check_entries
from archsim.ir.check.form.declarations import check_declarations, check_ownership, check_reach
from archsim.ir.check.form.scales import check_numbers
from archsim.ir.check.hazards.collect import operands_of
from archsim.ir.check.hazards.hazards import check_hazards, check_overlap, first_clocks
from archsim.ir.check.tokens.ledger import build_ledger
from archsim.ir.check.tokens.run import run_tokens
from archsim.ir.columns import ProgramColumns
from archsim.ir.program import Program
from archsim.spec.architecture import Architecture


def check(program: Program, architecture: Architecture, columns: ProgramColumns | None = None) -> None:
    """Accept ``program`` for ``architecture`` or raise ProgramError naming command and loop indices.

    ``columns``: of the Program, where others ask them too.
    """
    check_declarations(program, architecture)
    columns = columns or ProgramColumns(program)
    check_ownership(columns)
    check_commands(columns, architecture)
    check_reach(columns, architecture)
    columns.forget("tokens", "stores")  # columns have their numbers; by name, messages ask for them again
    ledger = build_ledger(columns)
    check_entries(columns, ledger.steps)
    order = run_tokens(ledger)
    operands = operands_of(ledger)
    check_numbers(columns)
    clocks = first_clocks(operands, order)
    check_hazards(operands, order, clocks)
    check_overlap(operands, order, clocks)
