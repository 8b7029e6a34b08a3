"""Laws of groups of layers that share passes: right in numbers, nothing computed or moved twice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from archsim.facts.dataflows import catalogue
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.form.declarations import commands_of
from archsim.ir.check.program import check
from archsim.ir.text import mapping_from_yaml, mapping_to_yaml
from archsim.lab.run import mapping_file
from archsim.lab.run.job import BuiltJob, Job, build
from archsim.lab.verify.model import verify
from archsim.lab.verify.numbered import VerifyOptions
from archsim.spec.architecture import Architecture
from archsim.spec.load import load
from archsim.system import simulate
from tests.tools.group_cases import GroupCase, attentions, chains
from tests.tools.layers import small_chip

CHIPS = ("edge_npu", "gemmini_16x16", "tpu_v1")
ORDERS = 2  # of commands, in which each Program is executed
REFUSED = ("overflows", "do not fit", "allowed more than a member is ahead")  # of cases that are no groups after all


@cache
def chip_of(name: str) -> Architecture:
    return load(name)


@dataclass(frozen=True)
class Files:
    """A group's two files, and the chip that they are for."""

    case: GroupCase
    chip: Architecture
    folder: Path

    @property
    def job(self) -> Job:
        """With the mapping as it was written."""
        return self.mapped(self.folder / "mapping.yaml")

    def mapped(self, mapping: Path | None) -> Job:
        """The same model with another mapping."""
        return Job(str(self.folder / "group.yaml"), self.chip, mapping=mapping, schedule="layers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("groups")


def assert_laws(case: GroupCase, chip: Architecture, folder: Path) -> None:
    """All that holds of a group that fits its chip."""
    case.save(folder)
    files = Files(case, chip, folder)
    try:
        built = build(files.job)
    except MappingError as error:
        assert any(words in str(error) for words in REFUSED), error
        assume(False)
    check(built.program, chip)
    assert parse_program(print_program(built.program)) == built.program
    assert_numbers(files)
    assert_nothing_twice(built, chip)
    assert_stays_on_chip(built, case.windows)
    assert_reads_back(built, files)


def assert_numbers(files: Files) -> None:
    """Outputs and what was in slots of windows are the model's, in real numbers and in integers."""
    outcome = verify(VerifyOptions(files.job, (), ORDERS))
    assert [(each.problem, each.skipped, each.passed) for each in outcome.checks] == [("", "", True)] * 2
    for each in outcome.checks:
        assert set(files.case.windows) <= {row.tensor for row in each.rows}


def assert_nothing_twice(built: BuiltJob, chip: Architecture) -> None:
    """The run has the workload's MACs."""
    assert built.workload is not None
    columns = [records.columns() for records in simulate(built.program, chip).records.values()]
    assert sum(int(each.macs.sum()) for each in columns) == built.workload.macs


def assert_stays_on_chip(built: BuiltJob, windows: tuple[str, ...]) -> None:
    """Nothing is stored of a window's tensor but in its ring, and no DMA engine touches that."""
    rings = {f"{name}@g0" for name in windows}
    assert rings <= {ring.name for ring in built.program.rings}
    assert not {tensor.name for tensor in built.program.tensors} & set(windows)
    moves = [
        command
        for queue in built.program.queues
        if queue.engine in ("load", "store")
        for command in commands_of(queue.body)
    ]
    assert not {region.store for command in moves for region in (*command.reads, *command.writes)} & rings


def assert_reads_back(built: BuiltJob, files: Files) -> None:
    """Both forms of the mapping give an equal one and the same Program."""
    assert built.mapping is not None and built.workload is not None
    assert mapping_from_yaml(mapping_to_yaml(built.mapping)).groups == built.mapping.groups
    for suffix in (".yaml", ".txt"):
        path = files.folder / f"again{suffix}"
        mapping_file.write(built.mapping, built.workload, path)
        again = build(files.mapped(path))
        assert again.mapping == built.mapping
        assert again.program == built.program


@pytest.mark.slow
@pytest.mark.parametrize("name", CHIPS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_law_54_convolutions_in_a_row(folder: Path, name: str, data: st.DataObject) -> None:
    """Law 54: of convolutions that read one another, on arrays and vector units, with what they add, tile by tile."""
    chip = chip_of(name)
    assert_laws(data.draw(chains(chip)), chip, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHIPS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_law_54_attention(folder: Path, name: str, data: st.DataObject) -> None:
    """Law 54: of scores, softmax and context in passes over heads and rows."""
    chip = chip_of(name)
    assert_laws(data.draw(attentions(chip)), chip, folder)


CHIPS_OF_ANY_SIZE = st.builds(
    small_chip,
    st.integers(11, 15).map(lambda bits: 1 << bits),
    st.integers(10, 13).map(lambda bits: 1 << bits),
    st.sampled_from((2, 4, 5)),
    st.sampled_from((2, 3, 8)),
    st.sampled_from(catalogue.names()),
    banks=st.sampled_from((1, 4, 64)),
    channels=st.integers(1, 2),
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(data=st.data(), chip=CHIPS_OF_ANY_SIZE, attends=st.booleans())
def test_law_54_on_chips_of_any_size(folder: Path, data: st.DataObject, chip: Architecture, attends: bool) -> None:
    """Law 54: the same on small chips without a host, by every dataflow."""
    assert_laws(data.draw(attentions(chip) if attends else chains(chip)), chip, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHIPS)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_law_53_a_group_of_one_is_the_layer_by_itself(folder: Path, name: str, data: st.DataObject) -> None:
    """Law 53: a network of which each layer is stated as a group by itself has the Program of no groups."""
    files = Files(data.draw(chains(chip_of(name))), chip_of(name), folder)
    files.case.save(folder)
    plain = build(files.mapped(None))
    assert plain.mapping is not None
    text = mapping_to_yaml(plain.mapping)
    alone = "".join(
        f"- group: g{number}\n  shared: []\n  windows: []\n  members:\n  - {{layer: {layer.layer}}}\n"
        for number, layer in enumerate(plain.mapping.layers)
    )
    path = folder / "alone.yaml"
    path.write_text(f"{text.replace('archsim.mapping/1', 'archsim.mapping/2')}groups:\n{alone}", encoding="utf-8")
    again = build(files.mapped(path))
    assert print_program(again.program) == print_program(plain.program)
    assert again.mapping is not None and again.mapping.groups == ()
