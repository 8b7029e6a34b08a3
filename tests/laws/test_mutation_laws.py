"""Law 42 and the checker's strength: small mistakes in Programs are caught, and right Programs have one result."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from archsim.base.errors import ProgramError
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.check.program import check
from tests.tools.mutants import ORDERS, Subject, campaign, judge, mutants, reason, score, subjects

SUBJECTS = {subject.name: subject for subject in subjects()}
LEAST_OF_MISTAKES = 0.98


@pytest.fixture(params=list(SUBJECTS))
def subject(request: pytest.FixtureRequest) -> Subject:
    """The golden Program, and compiled ones."""
    return SUBJECTS[str(request.param)]


def test_law_42_twenty_orders_give_the_same_tensors(subject: Subject) -> None:
    """Law 42: a golden Program computes what it must under 20 random token-legal orders, whatever is in them."""
    check(subject.program, subject.chip)
    assert judge(subject, subject.program, ORDERS) == ""
    assert all(np.ptp(values) > 0 for values in subject.expected.values())


def test_law_42_any_token_removed_is_caught(subject: Subject) -> None:
    """Law 42: each wait and each signal of each command, removed one at a time, is refused or changes a result."""
    dropped = [(label, mutant) for kind, label, mutant in mutants(subject.program) if kind == "drop token"]
    commands = [c for queue in subject.program.queues for c in commands_of(queue.body)]
    assert len(dropped) == sum(len(c.waits) + len(c.signals) for c in commands)
    assert [label for label, mutant in dropped if not judge(subject, mutant)] == []


@pytest.mark.slow
def test_mutation_score(capsys: pytest.CaptureFixture[str]) -> None:
    """Mutants of golden Programs are caught by checker or numbers; each survivor is equivalent for a stated reason."""
    total: Counter[tuple[str, str]] = Counter()
    unexplained = []
    for each in SUBJECTS.values():
        done = campaign(each)
        total.update(done.counts)
        unexplained += [(each.name, *item) for item in done.unexplained]
    whole, mistakes = score(total)
    with capsys.disabled():
        print(f"\nmutants: {sum(total.values())}, caught {whole:.2%} of all, {mistakes:.2%} of mistakes as such")
    assert unexplained == []
    assert mistakes >= LEAST_OF_MISTAKES
    assert sum(total.values()) > 1500


def test_reasons_are_narrow() -> None:
    """No rule explains a dropped or doubled token, a shifted region, a wrong stride, scale or function."""
    for kind in ("drop token", "double token", "shift region", "double stride", "change scale", "change function"):
        assert reason(kind, "anything of conv1.mm") == ""


def test_the_judge_sees_a_race() -> None:
    """A Program whose checker is bypassed: without its fence the numbers differ under some order."""
    each = SUBJECTS["residual"]
    fence = next(s.name for s in each.program.semaphores if ">core[0].array" in s.name)
    labels = [label for kind, label, _ in mutants(each.program) if kind == "drop token" and fence in label]
    assert labels
    with pytest.raises(ProgramError):
        for kind, label, mutant in mutants(each.program):
            if kind == "drop token" and label == labels[0]:
                check(mutant, each.chip)
