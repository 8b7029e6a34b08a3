"""Suite ``mapping``: recorded optimal mappings of single layers, evaluated and searched again.

Reads every file of ``accelforge/`` (form in studies/validation/mapping/accelforge/README.md). A case passes when the
recorded mapping has the recorded actions, energy and latency within ``EVALUATED`` and the search by the rules of its
``options`` finds one that costs no more (``SEARCHED``). Beside: what a larger space holds (nodes of different memories
interleaved, any factors) and CPU time. Source: AccelForge 1.0.467.
"""

from __future__ import annotations

import time
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from statistics import median

from archsim.base.errors import ConfigError, MappingError
from archsim.base.progress import each
from archsim.lab.validate.mapping_files import RecordedMapping, read
from archsim.lab.validate.suite import SCORING, AtMostCase, ScoredCase, SkippedCase, SuiteResult, speed_of, summarize
from mapper.looptree.conventions import ACCELFORGE, Convention
from mapper.looptree.cost import Cost, evaluate
from mapper.looptree.search.found import Budget, Found
from mapper.looptree.search.objective import Objective
from mapper.looptree.search.optimal import search
from mapper.looptree.search.space import Factors, Space

FOLDER = "accelforge"
EVALUATED, SEARCHED = 1e-6, 1e-9  # relative
BUSIEST = replace(ACCELFORGE, name="busiest", fractional=False)  # a partly filled round takes as long as a full one
FRESH, WARM = "CPU seconds", "CPU seconds, warm"  # of the recorded process, and of a second search in it; ours warm
BESIDE_BUDGET_S = 20.0  # of a search whose outcome has no threshold


def run(reference: Path) -> SuiteResult:
    """Score every file. Raises ConfigError when there is none that can be scored."""
    scored: list[ScoredCase] = []
    skipped: list[SkippedCase] = []
    reported: list[ScoredCase] = []
    begun_s = time.process_time()
    for path in each(_files(reference), SCORING, "mappings", attrgetter("stem")):
        try:
            recorded = read(path)
        except ConfigError as error:
            skipped.append(SkippedCase(path.stem, str(error)))
            continue
        found, *others = case(recorded)
        scored.append(found)
        reported += others
    if not scored:
        raise ConfigError(f"{reference / FOLDER}: no file that can be scored; the first: {skipped[0].reason}")
    speed = _speed(len(scored), time.process_time() - begun_s, reported)
    return summarize("mapping", scored, threshold=100 * SEARCHED, speed=speed, skipped=skipped, beside=reported)


def _files(reference: Path) -> list[Path]:
    files = sorted((reference / FOLDER).glob("*.json"))
    if not files:
        raise ConfigError(f"{reference}: no {FOLDER}/*.json; --reference needs a directory with recorded mappings")
    return files


def case(recorded: RecordedMapping) -> list[ScoredCase]:
    """The case first, then what is reported beside it."""
    try:
        cost = evaluate(recorded.nest, recorded.hierarchy, ACCELFORGE)
    except MappingError as error:
        return [ScoredCase(f"{recorded.name} evaluated: {error}", recorded.energy_j, 0.0)]
    wrong = _evaluated(recorded, cost)
    if wrong:
        return [wrong]
    space = Space(recorded.einsum, recorded.hierarchy, ACCELFORGE, recorded.factors, in_order=True)
    try:
        found, cpu_s = timed(space, recorded.objective)
    except MappingError as error:
        return [ScoredCase(f"{recorded.name} searched: {error}", _value(recorded, cost), 0.0)]
    searched = AtMostCase(recorded.name, _value(recorded, cost), found.value)
    return [searched, *_cpu(recorded, cpu_s), *_larger(recorded)]


def _evaluated(recorded: RecordedMapping, cost: Cost) -> ScoredCase | None:
    """The first figure of the recorded mapping that is not as recorded."""
    figures = [("energy", recorded.energy_j, cost.energy_j), ("latency", recorded.latency_s, cost.latency_s)]
    for key in sorted(recorded.actions.keys() | cost.actions.keys()):
        expected, got = recorded.actions.get(key, 0.0), cost.actions.get(key, 0.0)
        figures.append((" ".join(filter(None, key)), expected, got))
    for name, expected, got in figures:
        scored = ScoredCase(f"{recorded.name} evaluated: {name}", expected, got)
        if scored.error_pct > 100 * EVALUATED:
            return scored
    return None


def _value(recorded: RecordedMapping, cost: Cost) -> float:
    return recorded.objective.key(cost.energy_j, cost.latency_s)[0]


def timed(space: Space, objective: Objective, budget_s: float | None = None) -> tuple[Found, float]:
    """The second of two searches, with its functions compiled and templates made, and its CPU seconds."""
    search(space, objective, Budget(budget_s))
    begun_s = time.process_time()
    found = search(space, objective, Budget(budget_s))
    return found, max(time.process_time() - begun_s, 1e-9)


def _cpu(recorded: RecordedMapping, cpu_s: float) -> list[ScoredCase]:
    anchors = ((FRESH, recorded.user_s), (WARM, recorded.warm_user_s))
    return [ScoredCase(f"{recorded.name} {kind}", anchor, cpu_s) for kind, anchor in anchors if anchor]


def _larger(recorded: RecordedMapping) -> list[ScoredCase]:
    """The best of larger spaces, beside the recorded mapping under the same convention."""
    found = [_beside(recorded, "interleaved nodes", ACCELFORGE, recorded.factors)]
    if not any(len(c) > 1 for operand in recorded.einsum.operands for c in operand.coordinates):
        found.append(_beside(recorded, "any factors, busiest instance", BUSIEST, "any"))
    return [scored for scored in found if scored]


def _beside(recorded: RecordedMapping, kind: str, convention: Convention, factors: Factors) -> ScoredCase | None:
    """The best that was found within ``BESIDE_BUDGET_S``; None where nothing of the space fits."""
    space = Space(recorded.einsum, recorded.hierarchy, convention, factors)
    try:
        expected = _value(recorded, evaluate(recorded.nest, recorded.hierarchy, convention))
        found = search(space, recorded.objective, Budget(BESIDE_BUDGET_S))
    except MappingError:
        return None
    return ScoredCase(f"{recorded.name} {kind}" + ("" if found.proven else " (not proven)"), expected, found.value)


def _speed(cases: int, cpu_s: float, reported: list[ScoredCase]) -> dict[str, float]:
    """CPU seconds of the run; how many times the recorded CPU time of a search is ours."""
    speed = speed_of(cases, cpu_s)
    for kind, name in ((FRESH, "times_reference"), (WARM, "times_reference_warm")):
        ratios = [row.expected / row.got for row in reported if row.case.endswith(f" {kind}")]
        if ratios:
            speed |= {f"{name}_median": median(ratios), f"{name}_least": min(ratios)}
    return speed
