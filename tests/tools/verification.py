"""The campaign on verification: right Programs of random networks pass, wrong ones of the same networks are found.

python -m tests.tools.verification                     300 networks on six chips each, 30 planted mistakes
python -m tests.tools.verification --networks 8 --planted 3 --chips edge_npu,tpu_v1

Every network has at least one of the features of ``tests.tools.networks``. Each is verified on several chips, in real
numbers and in the chip's integers; one that differs is a false alarm. What is refused is counted by its reason. The
planted mistakes are one region, one token or one scale of a compiled Program, and wrong independently of what is being
tested: the Program checker refuses them, or the model's outputs come out different when the Program is executed.

A network takes half a second to one of user CPU on most chips, on simba's 576 cores 2 to 5. Mistakes are planted on
chips of up to 64 cores: on more, one takes minutes, for up to 40 Programs of that size are checked and executed in four
orders.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path

import numpy as np

from archsim.base.errors import ArchsimError, ProgramError
from archsim.graph.numeric.contents import to_memory
from archsim.ir.asm.printer import print_program
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.check.program import check
from archsim.ir.program import Program
from archsim.lab.run.job import Job, quiet
from archsim.lab.verify.checks import calibrated
from archsim.lab.verify.model import verify, with_numbers
from archsim.lab.verify.numbered import VerifyOptions
from archsim.lab.verify.numbered import load as load_model
from archsim.lab.verify.outcome import VerifyOutcome
from archsim.lab.verify.program import verify_program
from archsim.spec.architecture import Architecture
from archsim.spec.load import load
from mapper.execute.run import Executor
from tests.tools.mutants import mutants
from tests.tools.networks import FEATURES, network
from tests.unit.fixtures_check import put

CHIPS = (
    "edge_npu",
    "gemmini_16x16",
    "tpu_v1",
    "nvdla_large",
    "ar_soc",
    "scalesim_32x32",
    "mtia_v2i_pe",
    "tpu_v4i",
    "simba_chiplet",
    "mtia_v2i",
    "a100",
    "simba",
)
PLANTS = {
    "region": ("shift region", "double stride", "step of a loop", "shift clip"),
    "token": ("drop token", "double token", "token at the other end", "token always", "initial tokens"),
    "scale": ("change scale",),
}
ORDERS = 4  # executions of a planted mistake, each in another order, to see that it is one
EACH = 6  # chips for each network, in turn
CHUNK, CHUNKS_OF_A_PROCESS = 10, 30  # verifications sent to a process at once, and how often before it ends
STRIDE = 100  # verifications between two lines of progress
MOST_CORES = 64  # of a chip whose Programs get planted mistakes
TRIES = 40  # mistakes looked at for one that is wrong; those that change nothing are counted


@dataclass(frozen=True)
class Verdict:
    """What became of one network on one chip: '' or why it was refused; what was skipped, and what differs."""

    case: int
    chip: str
    features: tuple[str, ...]
    refused: str
    skipped: tuple[str, ...]
    checks: tuple[str, ...]
    alarms: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Plant:
    """A planted mistake: what it is, how it was found ('' not at all), and how many harmless ones came before it."""

    case: int
    chip: str
    kind: str
    label: str
    found: str
    harmless: int


def verified(folder: Path, task: tuple[int, str]) -> Verdict:
    """One network on one chip; what its Program should be is right."""
    case, chip = task
    made = network(case)
    try:
        outcome = verify(VerifyOptions(Job(made.save(_folder(folder, chip)), chip_of(chip))))
    except ArchsimError as error:
        return Verdict(case, chip, made.features, f"{type(error).__name__}: {_plain(str(error))}", (), (), (), 0.0)
    tried = [found for found in outcome.checks if not found.skipped]
    return Verdict(
        case,
        chip,
        made.features,
        "",
        tuple(_plain(found.skipped) for found in outcome.checks if found.skipped),
        tuple(found.numbers for found in tried),
        _differences(outcome),
        max((found.worst_share for found in tried if found.passed), default=0.0),
    )


def planted(folder: Path, task: tuple[int, str, str]) -> Plant:
    """A mistake of a kind, in an order of its own, that is wrong, and how verification finds it.

    Where there are any, one that the Program checker accepts, so that the numbers have to tell.
    """
    case, chip, kind = task
    path = network(case).save(_folder(folder, f"{kind} {chip}"))
    job = Job(path, chip_of(chip))
    program = with_numbers(job)
    judge = Outputs(job, program)
    harmless = 0
    refused = None
    for label, mutant in _drawn(program, kind, case):
        wrong = _wrong(mutant, chip_of(chip), judge)
        if wrong == "numbers":
            refused = (label, mutant)
            break
        refused = refused or ((label, mutant) if wrong else None)
        harmless += not wrong
    if refused is None:
        return Plant(case, chip, kind, "none of this kind is wrong", "", harmless)
    text = path.with_suffix(".asm")
    text.write_text(print_program(refused[1]))
    return Plant(case, chip, kind, refused[0], _found(text, path, chip), harmless)


def _folder(folder: Path, name: str) -> Path:
    """A folder of one process, since others write the same network for other chips."""
    (folder / name).mkdir(exist_ok=True)
    return folder / name


def _drawn(program: Program, kind: str, case: int) -> Iterator[tuple[str, Program]]:
    """Mistakes of a kind, in a random order, ``TRIES`` at most.

    A ring's scale, not a tensor's: what a tensor states is what its elements stand for, and another statement is
    another quantisation of the same model.
    """
    tensors = tuple(f" of {tensor.name}" for tensor in program.tensors)
    named = [item for item in mutants(program) if item[0] in PLANTS[kind]]
    found = [(label, mutant) for name, label, mutant in named if name != "change scale" or not label.endswith(tensors)]
    found += list(_wrong_factors(program)) if kind == "scale" else []
    random.Random(f"planted {kind} {case}").shuffle(found)
    return iter(found[:TRIES])


def _wrong_factors(program: Program) -> Iterator[tuple[str, Program]]:
    """Each number that a vector command multiplies by, doubled."""
    for queue in program.queues:
        for item in commands_of(queue.body):
            for at, function in enumerate(item.functions):
                if function.name == "multiply" and any(isinstance(operand, float) for operand in function.operands):
                    operands = tuple(2 * one if isinstance(one, float) else one for one in function.operands)
                    functions = (*item.functions[:at], replace(function, operands=operands), *item.functions[at + 1 :])
                    yield f"factor of {item.name}", put(program, item, replace(item, functions=functions))


@cache
def chip_of(name: str) -> Architecture:
    """A chip, read once."""
    return load(name)


class Outputs:
    """What a Program leaves in a model's outputs, in the integers that it holds; ``right``: the compiled one."""

    def __init__(self, job: Job, program: Program) -> None:
        model = load_model(VerifyOptions(job), str(job.model))
        dtypes = {"inputs": "int8", "weights": "int8", "accumulate": "int32"}
        quantised = calibrated(model, dtypes, {}, quiet)
        tensors = model.lowered.workload.tensors
        held = {name: quantised.as_stored(name, array) for name, array in quantised.contents.items()}
        held |= {name: model.inputs[value] for name, value in model.lowered.values.items() if value in model.inputs}
        stored = {tensor.name for tensor in program.tensors}
        self._loaded = {name: to_memory(tensors[name], held[name]) for name in held if name in stored}
        self._names = [name for name, tensor in tensors.items() if tensor.kind == "output" and name in stored]
        self.right = self.of(program, 0)

    def of(self, program: Program, seed: int) -> list[np.ndarray]:
        """Of one order of commands; raises ProgramError where the Program stops."""
        executor = Executor(program, seed=seed)
        for name, array in self._loaded.items():
            executor.fill(name, array)
        executor.run()
        return [executor.values(name) for name in self._names]


def _wrong(mutant: Program, chip: Architecture, judge: Outputs) -> str:
    """'checker' where it is refused, 'numbers' where an output of the model differs: without what is being tested."""
    try:
        check(mutant, chip)
    except ProgramError:
        return "checker"
    try:
        outputs = (judge.of(mutant, seed) for seed in range(ORDERS))
        wrong = any(not np.array_equal(*pair) for found in outputs for pair in zip(found, judge.right, strict=True))
    except ProgramError:
        wrong = True
    return "numbers" if wrong else ""


def _found(text: Path, model: Path, chip: str) -> str:
    """By what a Program text is found to be wrong, as ``archsim verify TEXT --on CHIP --against MODEL`` would."""
    try:
        outcome = verify_program(VerifyOptions(Job(str(text), chip_of(chip)), against=str(model), interleavings=3))
    except ArchsimError as error:
        return f"refused: {_plain(str(error))[:80]}"
    return " and ".join(found.numbers for found in outcome.checks if not found.skipped and not found.passed)


def _differences(outcome: VerifyOutcome) -> tuple[str, ...]:
    found = []
    for item in outcome.checks:
        rows = [f"{row.name} ({row.op}) {row.share:.3g} times the bound" for row in item.rows if not row.passed]
        if item.problem or rows or not (item.passed or item.skipped):
            found.append(f"{item.numbers}: {'; '.join(rows)} {item.problem}")
    return tuple(found)


def _plain(reason: str) -> str:
    """A reason without names and numbers, so that equal ones are counted together."""
    return re.sub(r"\d[\d,.]*", "N", re.sub(r"'[^']*'|\S+\.onnx: ", "", reason))


def tasks_of(networks: int, chips: tuple[str, ...], each: int, first: int = 0) -> list[tuple[int, str]]:
    """Every network on ``each`` of the chips, those of the next network one further on."""
    return [
        (case, chips[(case + at) % len(chips)])
        for case in range(first, first + networks)
        for at in range(min(each, len(chips)))
    ]


def plants_of(number: int, networks: int, chips: tuple[str, ...], first: int = 0) -> list[tuple[int, str, str]]:
    """Mistakes of all kinds, spread over the networks and the chips that compute in int8 on not too many cores."""
    few = [chip for chip in chips if chip_of(chip).cores <= MOST_CORES]
    whole = [chip for chip in few if set(chip_of(chip).dtypes.values()) <= {"int8", "int32"}]
    kinds = list(PLANTS)
    return [
        (first + at * networks // number, whole[at // len(kinds) % len(whole)], kinds[at % len(kinds)])
        for at in range(number)
    ]


def report(verdicts: list[Verdict], plants: list[Plant]) -> str:
    """What the campaign found, in lines."""
    done = [item for item in verdicts if not item.refused]
    checks = Counter(name for item in done for name in item.checks)
    features = Counter(
        name for case, names in {item.case: item.features for item in verdicts}.items() for name in names
    )
    alarms = [item for item in done if item.alarms]
    made = ", ".join(f"{name} {count}" for name, count in sorted(checks.items()))
    lines = [
        f"{len({item.case for item in verdicts})} networks, {len({item.chip for item in verdicts})} chips: "
        f"{len(done)} of {len(verdicts)} verified ({made}), "
        f"{len(alarms)} false alarms, largest share of a bound {max((item.share for item in done), default=0):.2f}",
        "networks with " + ", ".join(f"{name} {features[name]}" for name in FEATURES),
    ]
    lines += [f"false alarm: network {item.case} on {item.chip}: {' | '.join(item.alarms)}" for item in alarms]
    for title, reasons in (
        ("refused", Counter(item.refused for item in verdicts if item.refused)),
        ("not computed", Counter(reason for item in done for reason in item.skipped)),
    ):
        lines += [f"{title}: {count} x {reason}" for reason, count in sorted(reasons.items())] or [f"{title}: none"]
    return "\n".join(lines + _planted_lines(plants))


def _planted_lines(plants: list[Plant]) -> list[str]:
    if not plants:
        return []
    found = [item for item in plants if item.found]
    by_kind = Counter((item.kind, item.found.split(":")[0]) for item in found)
    lines = [
        f"{len(plants)} planted mistakes: {len(found)} found; {sum(item.harmless for item in plants)} others drawn on "
        "the way changed no output"
    ]
    lines += [f"planted {kind}: {count} by {how}" for (kind, how), count in sorted(by_kind.items())]
    return lines + [
        f"NOT FOUND: {item.kind} of network {item.case} on {item.chip}: {item.label}"
        for item in plants
        if not item.found
    ]


def _crew(workers: int) -> Pool:
    """Processes that give way to new ones: each remembers the mappings of all chips and networks that it has seen."""
    return get_context("spawn").Pool(workers, maxtasksperchild=CHUNKS_OF_A_PROCESS)


def main() -> int:
    """Run the campaign and print its figures; 1 where a right Program is doubted or a wrong one is not found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first network")
    parser.add_argument("--each", type=int, default=EACH, help="chips that each network is verified on")
    parser.add_argument("--planted", type=int, default=30)
    parser.add_argument("--chips", default=",".join(CHIPS))
    parser.add_argument("-j", "--workers", type=int, default=1)
    asked = parser.parse_args()
    chips = tuple(asked.chips.split(","))
    tasks = tasks_of(asked.networks, chips, asked.each, asked.first)
    with tempfile.TemporaryDirectory() as folder, _crew(asked.workers) as pool:
        wrong = pool.imap(partial(planted, Path(folder)), plants_of(asked.planted, asked.networks, chips, asked.first))
        right = pool.imap(partial(verified, Path(folder)), tasks, chunksize=CHUNK)
        plants, verdicts = list(wrong), []
        for verdict in right:
            verdicts.append(verdict)
            if len(verdicts) % STRIDE == 0:
                doubted = sum(bool(item.alarms) for item in verdicts)
                print(f"{len(verdicts)} of {len(tasks)}, {doubted} doubted", file=sys.stderr, flush=True)
    print(report(verdicts, plants))
    return 1 if any(item.alarms for item in verdicts) or any(not item.found for item in plants) else 0


if __name__ == "__main__":
    sys.exit(main())
