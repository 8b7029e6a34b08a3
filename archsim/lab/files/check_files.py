"""Check files without running anything: chips, tables, workloads, mappings, sweeps, scenarios, clusters, Programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from archsim.base import registry
from archsim.base.errors import ConfigError, nearest
from archsim.energy.chip import tables_for
from archsim.energy.dram import read_dram
from archsim.energy.states import read_states
from archsim.energy.structures import read_structures
from archsim.energy.technology import read_technology
from archsim.lab.kit.options import parse_dtypes
from archsim.lab.kit.platforms import check_platforms
from archsim.lab.kit.text import read_text
from archsim.lab.run.fits import check_fit
from archsim.lab.run.job import ASM, Job, load_chip, load_workload, read_program
from archsim.lab.scenario import find
from archsim.report.kit.number_format import counted
from archsim.spec.load import load, names, where
from archsim.spec.locate import config_files, is_file
from archsim.spec.nodes import read

SUFFIXES = (".yaml", ".yml", ".txt", ASM)  # beside those of models
TABLES = (".csv",)  # of models too, but also of traces and results, which say nothing of what they are


def files_of(name: str) -> list[Path]:
    """The file ``name``, or every file that comes with archsim or a plugin under that name: a chip, a model, a table.

    Raises ConfigError for a name that nothing has.
    """
    if is_file(Path(name)) or Path(name).name != name or Path(name).suffix:
        return [Path(name)]
    folders = [folder for folder, kind in registry.FOLDERS.items() if kind.variable == registry.CONFIGS_VARIABLE]
    known = [config_files(folder) for folder in folders] + [_shipped_models()]
    found = [files[name] for files in known if name in files]
    if not found:
        names = sorted({each for files in known for each in files})
        said = f"{name}: no such file, and nothing of that name comes with archsim or a plugin"
        raise ConfigError(f"{said}{nearest(name, names)}")
    return list(dict.fromkeys(found))


def _shipped_models() -> Mapping[str, Path]:
    from archsim.frontend import catalogue

    return catalogue.models()


def check_file(path: Path) -> str:
    """What the file is and holds, in a few words; raises an ArchsimError with every complaint otherwise."""
    if not is_file(path):
        raise ConfigError(f"{path}: no such file")
    if path.suffix not in SUFFIXES:
        allowed = [*SUFFIXES, *_models()]
        if path.suffix not in allowed:
            raise ConfigError(f"{path}: found a '{path.suffix}' file; allowed {', '.join(allowed)}")
        return _model(path)
    if path.suffix == ASM:
        return _program(path)
    return _mapping(path) if path.suffix == ".txt" else _CHECKS[_noun(path)](path)


def check_model(model: str, chip: str, dtype: str | None, values: Mapping[str, object]) -> str:
    """Whether a chip, with values set, has all that a model needs, in a few words; nothing is mapped.

    Raises ``mapper.problem.feasibility.UnfitError`` with the layers and the lines to paste, and what reading either of
    them raises.
    """
    return _fits(Job(model, chip, dtype=dtype, values=values))


def _fits(job: Job) -> str:
    """That the chip of a job can run its model, a scenario's models or a Program, in a few words; raises ArchsimError's
    children where it cannot."""
    from archsim.ir.check.program import check

    architecture = load_chip(job)
    if job.is_program:
        program, _ = read_program(job)
        check(program, architecture)
        return f"Program '{program.name}' can run on '{architecture.name}'"
    if find.is_scenario(job.model):
        found = find.load(str(job.model))
        for stream in found.scenario.streams:
            asked = parse_dtypes(stream.dtype)
            check_fit(found.workloads[stream.name], architecture, asked, job.chip, job.values)
        return (
            f"scenario '{found.scenario.name}', {len(found.workloads)} streams: '{architecture.name}' has all it needs"
        )
    workload = load_workload(job)
    check_fit(workload, architecture, parse_dtypes(job.dtype), job.chip, job.values)
    return f"'{workload.name}', {counted(len(workload.layers), 'layer')}: '{architecture.name}' has all that they need"


def _models() -> list[str]:
    """Suffixes of models that nothing else has."""
    from archsim.frontend import catalogue

    return [suffix for suffix in catalogue.suffixes() if suffix not in (*SUFFIXES, *TABLES)]


def _model(path: Path) -> str:
    from archsim.frontend.load import load_model

    workload = load_model(path)
    return f"model '{workload.name}', {counted(len(workload.layers), 'layer')}, {workload.parameters:,} parameters"


def _noun(path: Path) -> str:
    """What a YAML file describes: the noun of its schema, else what its top-level keys say."""
    root = read(path)
    keys = root.mapping
    schema = str(keys["schema"].value) if "schema" in keys else ""
    noun = schema.removeprefix("archsim.").partition("/")[0]
    if noun in _CHECKS:
        return noun
    found = [name for name, marks in _MARKS.items() if any(mark in keys for mark in marks)]
    table = _table(keys) if not schema else ""
    if table:
        said = f"missing; the file looks like {_TABLES[table][0]}: add the line 'schema: {_schema(table)}'"
        raise ConfigError(f"{root.mark}: schema: {said}")
    if schema or not found:
        known = [_schema(name) if name in _TABLES else f"archsim.{name}/1" for name in _CHECKS]
        place = keys["schema"].mark if "schema" in keys else root.mark
        said = f"found '{schema or 'nothing'}'; allowed {', '.join(known)}{nearest(schema, known)}"
        raise ConfigError(f"{place}: schema: {said}")
    return found[0]


def _schema(table: str) -> str:
    """The schema of a kind of table."""
    from archsim.spec import schema_tables

    return str(getattr(schema_tables, table.upper()))


def _table(keys: Collection[str]) -> str:
    """The kind of table that a file without a schema line looks like: that has the most of its keys, and more of them
    than chips have; '' for none."""
    from archsim.spec import problems, schema, schema_tables

    shared = {"schema", "name", "description", "source", "sources", "extends"}
    own = {name: {*problems.keys(getattr(schema_tables, model))} - shared for name, (_, model) in _TABLES.items()}
    fitting = {name: len(own[name].intersection(keys)) for name in own}
    best = max(fitting, key=lambda name: fitting[name])
    of_chip = len(({*problems.keys(schema.ChipSection)} - shared).intersection(keys))
    return best if fitting[best] > of_chip else ""


def _chip(path: Path) -> str:
    chip = load(path)
    check_platforms(chip, lambda key_path: where(path, {}, key_path))
    try:
        tables_for(chip)
    except ConfigError as error:
        part = str(error).partition(":")[0]
        raise ConfigError(f"{where(path, {}, f'{part}.size')}: {error}") from None
    return f"chip '{chip.name}', {len(list(chip.parts()))} parts"


def _area(path: Path) -> str:
    found = read_structures(path)
    return f"area table, {len(found.arithmetic)} number formats, {len(found.links)} kinds of links"


def _power(path: Path) -> str:
    found = read_states(path)
    return f"power table, {len(found.idle)} idle classes"


def _technology(path: Path) -> str:
    found = read_technology(path)
    return f"technology '{found.name}', {len(found.arithmetic)} number formats"


def _dram_energy(path: Path) -> str:
    return f"DRAM energy table '{read_dram(path).name}'"


def _link(path: Path) -> str:
    from archsim.spec import table_files
    from archsim.spec.schema_tables import LinkTable

    found = table_files.load(path, LinkTable)
    return f"link '{found.name}', {found.lanes} lanes"


def _workload(path: Path) -> str:
    from archsim.frontend.load import load_model

    workload = load_model(path)
    return f"workload '{workload.name}', {counted(len(workload.layers), 'layer')}"


def _einsums(path: Path) -> str:
    from archsim.ir.text import checked_workload

    workload = checked_workload(read_text(path), str(path))
    return f"workload '{workload.name}', {counted(len(workload.layers), 'layer')}"


def _mapping(path: Path) -> str:
    from archsim.lab.run.mapping_file import load

    file = load(path).file
    found = (
        f"mapping of '{file.mapping.workload}' on '{file.mapping.chip}', {counted(len(file.mapping.layers), 'layer')}"
    )
    return f"{found}, {len(file.constraints)} constraints" if file.constraints else found


def _sweep(path: Path) -> str:
    from archsim.lab.sweep.points import SweepGrid
    from archsim.lab.sweep.resolve import resolve

    sweep = resolve(path).sweep
    what = f"sweep '{sweep.name}' of chip '{sweep.chip}', {len(SweepGrid(sweep))} points of {len(sweep.models)} models"
    return "; ".join([what, *sweep.notes])


def _scenario(path: Path) -> str:
    from archsim.lab.scenario.frames import hyperperiod_ps

    scenario = find.load(path).scenario
    period = hyperperiod_ps(scenario.streams) / 1e12
    return f"scenario '{scenario.name}', {len(scenario.streams)} streams, hyperperiod {period:g} s"


def _cluster(path: Path) -> str:
    from archsim.lab.sweep.cluster_form import Local, read

    found = read(read_text(path), str(path))
    if isinstance(found, Local):
        return f"cluster 'local', {found.workers} workers"
    return f"cluster '{found.kind}', {found.jobs} jobs of {found.cores} cores"


def _program(path: Path) -> str:
    from archsim.ir.asm.parser import parse_program
    from archsim.ir.check.program import check

    program = parse_program(read_text(path), str(path))
    what = f"Program '{program.name}' on '{program.chip}', {len(program.queues)} queues"
    if program.chip not in names():
        return f"{what}; grammar only, as there is no chip of that name to check it against"
    check(program, load(program.chip))
    return what


_CHECKS: Mapping[str, Callable[[Path], str]] = {
    "chip": _chip,
    "technology": _technology,
    "area": _area,
    "power": _power,
    "dram_energy": _dram_energy,
    "link": _link,
    "workload": _workload,
    "einsums": _einsums,
    "mapping": _mapping,
    "sweep": _sweep,
    "scenario": _scenario,
    "cluster": _cluster,
}
_TABLES = {  # kind -> what it is called, its grammar
    "technology": ("a technology table", "TechnologyTable"),
    "area": ("an area table", "AreaTable"),
    "power": ("a power table", "PowerTable"),
    "dram_energy": ("an energy table of a DRAM standard", "DramEnergyTable"),
    "link": ("a link between chips", "LinkTable"),
}
_MARKS = {
    "chip": ("hierarchy", "extends"),
    "einsums": ("tensors",),
    "workload": ("layers",),
    "sweep": ("axes",),
    "scenario": ("streams",),
    "cluster": ("kind",),
}
