"""Verify a Program given as text: many orders, one result; and, where a model is named, the model's result.

Tensors are matched with the model's by name, and elements stand for what the Program says they do (``scale``).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ConfigError, ProgramError, nearest
from archsim.base.progress import each
from archsim.graph.numeric.constants import numeric
from archsim.ir.check.program import check
from archsim.ir.graph import ValueFormat
from archsim.ir.program import PlacedTensor, Program, Ring
from archsim.lab.run.job import BuiltJob, Progress, build, quiet
from archsim.lab.verify.checks import NUMPY, check_exact, check_float
from archsim.lab.verify.numbered import VerifyOptions, chosen_layers, load, refuse_unknown
from archsim.lab.verify.observe import differences, is_flat
from archsim.lab.verify.outcome import EQUAL, VerifyCheck, VerifyOutcome, VerifyRow
from mapper.execute.memory import DTYPES
from mapper.execute.run import Executor, Numbers, unrolled

Array = npt.NDArray[Any]
FIRST = "the first interleaving"


def verify_program(asked: VerifyOptions, say: Progress = quiet) -> VerifyOutcome:
    """Check and execute the Program of ``asked.job``; raises ProgramError for one that its checker refuses."""
    built = build(asked.job, say)
    say("checking the Program")
    check(built.program, built.architecture)
    if asked.against:
        return _against(asked, built, say)
    if asked.layers:
        raise ConfigError("--layers: a Program alone has no layers to compare with; name its model with --against")
    tensors = [tensor.name for tensor in built.program.tensors if tensor.preloaded or tensor.state is not None]
    refuse_unknown(asked.given, tensors)
    checks = _each(built.program, asked, lambda numbers: [_orders(built.program, asked, numbers)])
    names = built.program.name, built.architecture.name
    return VerifyOutcome(*names, _commands(built.program), asked.job.seed, "drawn", checks)


def _commands(program: Program) -> int:
    return sum(len(steps) for steps in unrolled(program).values())


def _each(
    program: Program, asked: VerifyOptions, make: Callable[[Numbers], list[VerifyCheck]]
) -> tuple[VerifyCheck, ...]:
    """The checks in real numbers and in integers, as asked; the latter skipped where elements are no integers."""
    checks = make("float64") if asked.numbers in ("both", "float") else []
    if asked.numbers == "float":
        return tuple(checks)
    stores: list[PlacedTensor | Ring] = [*program.tensors, *program.rings]
    other = next((store for store in stores if store.dtype not in DTYPES), None)
    if other is None:
        return (*checks, *make("exact"))
    why = f"'{other.name}' holds {other.dtype}; computed exactly are {', '.join(DTYPES)}"
    if asked.numbers == "int":
        raise ConfigError(f"--numbers int: {why}")
    return (*checks, VerifyCheck(other.dtype, FIRST, EQUAL, 0, skipped=why))


def _orders(program: Program, asked: VerifyOptions, numbers: Numbers) -> VerifyCheck:
    """Every order that the seeds choose leaves the same numbers in every tensor that the Program writes."""
    steps = unrolled(program)
    written = sorted({region.store for queue in steps.values() for step in queue for region in step.command.writes})
    results = [tensor for tensor in program.tensors if tensor.name in written and tensor.role != "partials"]
    kind = "/".join(dict.fromkeys(tensor.dtype for tensor in results)) if numbers == "exact" else numbers
    if not results:
        return VerifyCheck(kind, FIRST, EQUAL, 0, problem="the Program writes no tensor")
    first: dict[str, Array] = {}
    rows: dict[str, VerifyRow] = {}
    for number in each(range(asked.interleavings), f"executing in {kind}", "orders of commands"):
        executor = Executor(program, numbers=numbers, seed=asked.job.seed + number, steps=steps)
        for tensor in program.tensors:
            if tensor.preloaded or tensor.state is not None:
                executor.fill(tensor.name, _drawn(tensor, asked, numbers))
        try:
            executor.run()
            for tensor in results:
                found = executor.values(tensor.name)
                error, different, _ = differences(found, first.setdefault(tensor.name, found))
                flat = found.size > 1 and is_flat(found)
                row = VerifyRow(tensor.name, "", tensor.name, found.size, error, different, different == 0, FIRST, flat)
                rows[tensor.name] = max(rows.get(tensor.name, row), row, key=lambda item: item.different)
        except ProgramError as error:
            return VerifyCheck(kind, FIRST, EQUAL, number + 1, tuple(rows.values()), problem=str(error))
    return VerifyCheck(kind, FIRST, EQUAL, asked.interleavings, tuple(rows.values()))


def _drawn(tensor: PlacedTensor, asked: VerifyOptions, numbers: Numbers) -> Array:
    """Contents of a tensor that holds data at time 0: those given, else normal; weights small enough to sum up."""
    given = asked.given.get(tensor.name)
    if given is not None:
        return numeric(tensor.name, given, tensor.shape)
    random = np.random.default_rng([asked.job.seed, sum(tensor.name.encode())])
    size = 1.0
    if numbers == "exact":
        size = 32 * tensor.scale
    elif tensor.role == "weights" and len(tensor.shape) > 1:
        size = (tensor.shape[0] / prod(tensor.shape)) ** 0.5
    return np.asarray(random.standard_normal(tensor.shape) * size)


def _against(asked: VerifyOptions, built: BuiltJob, say: Progress) -> VerifyOutcome:
    """The named model's layers, whose tensors the Program has under the same names."""
    model = load(asked, asked.against, say)
    stored = {tensor.name: tensor for tensor in built.program.tensors}
    roots = [name for name, tensor in model.lowered.workload.tensors.items() if tensor.view is None]
    for name in roots:
        if name not in stored:
            raise ConfigError(
                f"--against {asked.against}: the Program has no tensor '{name}'{nearest(name, stored)}; tensors of the "
                "model are found by name"
            )
        shape = model.lowered.workload.tensors[name].shape
        if stored[name].shape != shape:
            raise ConfigError(f"tensor '{name}' has shape {list(stored[name].shape)}; the model's is {list(shape)}")
    chosen = chosen_layers(model.lowered, asked.layers)

    def make(numbers: Numbers) -> list[VerifyCheck]:
        if numbers != "exact":
            return [check_float(model, built.program, asked, chosen, say)]
        dtypes = _dtypes(built.program, stored, model.lowered.workload.layers)
        if all((tensor.scale, tensor.zero) == (1.0, 0) for tensor in built.program.tensors):
            why = "the Program does not say what its elements stand for (scale); archsim asm --numbers does"
            return [VerifyCheck("/".join(dict.fromkeys(dtypes.values())), NUMPY, EQUAL, 0, skipped=why)]
        given = {name: ValueFormat(stored[name].scale, stored[name].zero, stored[name].dtype) for name in roots}
        return check_exact(model, lambda _: built.program, dtypes, asked, chosen, say, given)

    checks = _each(built.program, asked, make)
    names = built.program.name, built.architecture.name
    return VerifyOutcome(*names, _commands(built.program), asked.job.seed, model.weights, checks)


def _dtypes(program: Program, stored: dict[str, PlacedTensor], layers: Any) -> dict[str, str]:
    """dtype by role, as the first product has them."""
    for layer in layers:
        named = {operand.name: operand.tensor for operand in layer.inputs}
        if "a" in named and named["a"] in stored and named["b"] in stored:
            sums = next((ring.dtype for ring in program.rings if ring.role == "partials"), "int32")
            return {"inputs": stored[named["a"]].dtype, "weights": stored[named["b"]].dtype, "accumulate": sums}
    kind = program.tensors[0].dtype
    return {"inputs": kind, "weights": kind, "accumulate": "int32"}
