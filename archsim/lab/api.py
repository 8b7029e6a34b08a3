"""The functions of the front door: chips, models, runs, scenarios, sweeps, comparisons, and the names they know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from archsim.base.errors import ConfigError
from archsim.ir.workload import Workload
from archsim.lab.kit.options import with_platform
from archsim.lab.kit.platforms import check_platforms
from archsim.lab.run.job import ChipLike, Job, ModelLike
from archsim.lab.run.run import RunResult, execute
from archsim.lab.scenario import find
from archsim.spec.architecture import Architecture
from archsim.spec.load import load, names, where

if TYPE_CHECKING:
    from archsim.lab.compare.runs import Comparison, RunLike
    from archsim.lab.generation.run import GenerationRun
    from archsim.lab.scenario.run import ScenarioRun
    from archsim.lab.sweep.questions import SweepTable


def load_chip(name_or_path: str | Path) -> Architecture:
    """A chip by a name of ``list_chips()`` or from a YAML file.

    Raises ConfigError with file:line, key path, value found and what is allowed.
    """
    found = load(name_or_path)
    check_platforms(found, lambda path: where(name_or_path, {}, path))
    return found


def load_model(
    name_or_path: str | Path,
    batch: int | None = None,
    on_unsupported: str = "error",
    lookups: Mapping[str, str] | None = None,
    parameters: Mapping[str, int | float | str] | None = None,
) -> Workload:
    """A model by a name of ``list_models()`` or from a file, with dimension 0 of its inputs set to ``batch``
    (None: as stored; where the model leaves it open 1, but for a .pt2 file, which is refused then).

    ``on_unsupported``: 'error', or 'host' to run unknown operators there. ``lookups``: node that looks rows of a table
    up -> its access pattern, e.g. ``{"emb": "zipf(exponent=1, seed=0)"}``. ``parameters``: of a workload file, e.g.
    ``{"seq": 128}``, of a config.json, or of a .pt2 file with open dimensions. Raises ModelError naming node, operator
    and what can be done.
    """
    from archsim.frontend.load import load_model as load

    return load(name_or_path, batch=batch, on_unsupported=on_unsupported, lookups=lookups, parameters=parameters)


def from_torch(
    module: object,
    example_inputs: Sequence[object] = (),
    *,
    name: str = "",
    example_keywords: Mapping[str, object] | None = None,
    dynamic_shapes: object = None,
    parameters: Mapping[str, int] | None = None,
    on_unsupported: str = "error",
    lookups: Mapping[str, str] | None = None,
) -> Workload:
    """A ``torch.nn.Module``, or a ``torch.export.ExportedProgram``, as a model that every function here takes.

    The module is exported by ``torch.export`` as it is evaluated, on ``example_inputs`` and ``example_keywords``, whose
    shapes count alone: weights are neither copied nor read, and may lie on the meta device. ``name``: of the model,
    else the module's class. ``dynamic_shapes``: as of ``torch.export.export``; the dimensions that they leave open get
    their sizes by ``parameters``, by the names of their ``Dim``. ``on_unsupported`` and ``lookups`` as of
    ``load_model``. Raises ConfigError where torch is not installed or ``example_inputs`` are no tuple or list,
    ModelError that names the module's call.
    """
    from archsim.frontend.torch.export import ModuleExport
    from archsim.frontend.torch.load import import_module

    if not isinstance(example_inputs, (tuple, list)):
        found = type(example_inputs).__name__
        raise ConfigError(
            f"from_torch: example_inputs: found {found}; allowed a tuple or list, with an item for each input"
        )
    asked = ModuleExport(module, tuple(example_inputs), dict(example_keywords or {}), dynamic_shapes)
    stated = dict(parameters or {})
    return import_module(asked, name, parameters=stated, on_unsupported=on_unsupported, lookups=lookups).workload


def list_chips() -> list[str]:
    """Names that ``load_chip`` knows."""
    return list(names())


def list_models() -> list[str]:
    """Names that ``load_model`` knows."""
    from archsim.frontend.load import names

    return list(names())


def list_scenarios() -> list[str]:
    """Names that ``run_scenario`` knows."""
    return list(find.names())


def run(
    model: ModelLike,
    on: ChipLike,
    batch: int | None = None,
    objective: str = "latency",
    dtype: str | None = None,
    set: Mapping[str, object] | None = None,
    seed: int = 0,
    on_unsupported: str = "error",
    why: bool = False,
    fidelity: str | None = None,
    warm: int | None = None,
    repeat: str = "auto",
    lookups: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    refine: int = 0,
    workers: int = 1,
    parameters: Mapping[str, int | float | str] | None = None,
    search: str = "exhaustive",
    net: bool = True,
    schedule: str = "best",
    platform: str | None = None,
) -> RunResult:
    """Map ``model``, simulate it on the chip ``on`` and account for it.

    ``model``: a name, a path (a Program as .asm too) or a Workload; ``on``: a name, a path or an Architecture.
    ``batch``: as stored if None. ``objective``: latency | energy | edp. ``dtype``: 'int8', or by role
    'w=int8,a=bf16'; the chip's own if None. ``set``: values by key path, e.g. ``{"dram.channels": 8}``. ``why``:
    also simulate the chip with each of its resources enlarged. ``fidelity``: exact (DRAM by commands, network by flits)
    | fast (measured rates, links); None = as the chip says and is affordable. ``warm``: so many runs one after another,
    before the one that gives ``throughput_per_s``;
    ``repeat``: exact | steady (of equal blocks of layers four are simulated; with ``warm`` equal runs are reused,
    refresh aligned) | auto (steady where that spares half of the layers of a large model, in a single run without a
    mapping file). ``lookups``: as of ``load_model``.
    ``mapping``: a mapping file, whose layers are taken instead of searched. ``refine``: how many mappings of each layer
    the simulator may rank (0: the analytic best is taken). ``workers``: processes that search. ``parameters``: of a
    workload file, e.g. ``{"seq": 128}``; of a Workload they were stated when it was loaded. ``search``: the mapping
    search by its name; what it draws follows from ``seed``. ``net``: the mappings that other objectives find are
    simulated too, once, and the best are kept. ``schedule``: layers | best (layers in a row run as groups where that is
    expected to be better) | platform (as the policy of the chip's platform allows) | a policy by its name.
    ``platform``: one of the chip's, in place of the one that its file names. Raises the children of ArchsimError.
    """
    _check_model(model)
    values = with_platform(set or {}, platform, "set", "platform")
    job = Job(model, on, batch, objective, dtype, values, seed, on_unsupported, lookups=lookups or {})
    job = replace(job, parameters=dict(parameters or {}))
    job = replace(job, fidelity=fidelity, warm=warm, repeat=repeat)
    job = replace(
        job, mapping=None if mapping is None else Path(mapping), refine=refine, workers=workers, search=search, net=net
    )
    job = replace(job, schedule=schedule)
    done = execute(job)
    return done.explained(job) if why else done


def _check_model(model: ModelLike) -> None:
    if find.is_scenario(model):
        raise ConfigError(f"model: {model} is a scenario; run_scenario runs it")


def generate(
    model: str | Path,
    on: ChipLike,
    batch: int | None = None,
    objective: str = "latency",
    dtype: str | None = None,
    set: Mapping[str, object] | None = None,
    seed: int = 0,
    fidelity: str | None = None,
    repeat: str = "auto",
    lookups: Mapping[str, str] | None = None,
    parameters: Mapping[str, int | float | str] | None = None,
    workers: int = 1,
    search: str = "exhaustive",
    net: bool = True,
) -> GenerationRun:
    """Run the prompt of a model that makes tokens and the steps behind it: time to the first token and of each further
    one, tokens per second, and the energy of all over the tokens that come out.

    ``model``: ``NAME:generate``, or ``NAME:decode`` for the steps alone; ``parameters``: prompt, tokens (steps), width
    (new rows of a step), context, batch. The first and the last step are simulated, then those in the middle, until a
    line between neighbours meets what the one in their middle takes within 1 %. The rest as of ``run``. Raises
    ConfigError where the model is asked for one run, and the children of ArchsimError.
    """
    from archsim.lab.generation.run import execute as executed

    job = Job(model, on, batch, objective, dtype, set or {}, seed, lookups=lookups or {})
    job = replace(job, parameters=dict(parameters or {}), fidelity=fidelity, repeat=repeat)
    return executed(replace(job, workers=workers, search=search, net=net))


def run_scenario(
    scenario: str | Path,
    on: ChipLike,
    objective: str = "latency",
    set: Mapping[str, object] | None = None,
    seed: int = 0,
    on_unsupported: str = "error",
    fidelity: str | None = None,
    workers: int = 1,
) -> ScenarioRun:
    """Simulate each stream's model of a scenario alone on the chip ``on``, then serve their frames over a hyperperiod.

    ``scenario``: a name of ``list_scenarios()`` or a YAML file; the rest as of ``run``. Raises the children of
    ArchsimError, ConfigError where the streams need more time than there is.
    """
    from archsim.lab.scenario.run import execute as serve

    job = Job(scenario, on, None, objective, None, set or {}, seed, on_unsupported, fidelity=fidelity, workers=workers)
    return serve(job)


def compare(*runs: RunLike, names: Sequence[str] = ()) -> Comparison:
    """Two runs or more side by side, the first is the base: RunResults, or directories and summaries that runs left.

    ``.figures``, ``.slots``, ``.arrays``, ``.layers``, ``.energy`` are DataFrames whose differences sum exactly,
    ``.says`` the reasons in sentences, ``.save(DIR)`` writes its pages. ``names``: what the runs are called. Raises
    ConfigError for what cannot be read.
    """
    from archsim.lab.compare.runs import compare as compared

    return compared(runs, names)


def sweep(
    spec: str | Path,
    out: str | Path | None = None,
    workers: int | None = None,
    resume: bool = False,
    cluster: str | Path | None = None,
) -> SweepTable:
    """Simulate every point of a sweep file on ``workers`` processes (None: one for each processor) or on a ``cluster``:
    the address of a Dask scheduler, such as ``tcp://host:8786``, or a cluster file.

    Results go to the folder ``out`` (None: the sweep's name), from which ``resume`` goes on. Returns the table, a row
    for each point, model and fidelity, the best ones of each model (``front``) also exact (of a front at fidelity cost,
    which has a band, at most 20 points or a tenth of all); ``attrs`` has the units of
    axes and the rows of the front; it answers ``pareto()``, ``best()``, ``sensitivity()`` and ``binding()``. Raises
    ConfigError and ModelError for what the file says; a point that cannot work is a row with its reason.
    """
    from archsim.lab.sweep import clusters
    from archsim.lab.sweep.resolve import resolve
    from archsim.lab.sweep.run import RunningSweep, SilentWatch

    resolved, place = resolve(Path(spec)), clusters.place(workers, None if cluster is None else str(cluster))
    with (
        RunningSweep(resolved, Path(out or resolved.sweep.name), resume=resume) as sweeping,
        clusters.crew(place) as crew,
    ):
        return sweeping.run(crew, SilentWatch())
