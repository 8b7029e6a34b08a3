"""Why nothing fits and what would; searches in parallel and what the cache holds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import MappingError
from archsim.base.units import SIZE, parse_whole
from archsim.ir.asm.printer import print_program
from archsim.ir.mapping import Loop
from archsim.lab.run.job import Job, build
from archsim.spec.architecture import Architecture
from mapper.compile import Options, compile_model
from mapper.problem.capacity import least_size, usable
from mapper.problem.problem import Problem, Spread
from mapper.search.promising_spreads import spreads
from tests.laws.test_cores_laws import networked
from tests.tools.layers import Net, small_chip


def sized(l1: int, acc: int, banks: int) -> Architecture:
    return small_chip(l1, acc, banks=banks)


def conv(seed: int) -> Net:
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 9, 9, 3 + seed % 6))
    net.conv(x, "y", 4 + seed % 7, 1 + seed % 3, 1, (0, 1, 1, 0))
    return net


WOULD_DO = re.compile(r"; (?:(?:(\w+) of ([^;]+?))(?: or (\w+) of ([^;]+?))?) would do$")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("l1", "acc"), [(28, 1 << 12), (1 << 14, 24), (20, 1 << 12)])
def test_the_size_that_would_do_does_and_less_does_not(seed: int, l1: int, acc: int) -> None:
    """Law 47: with the least size that is named the layer maps, with a row of words less it does not."""
    banks = 1 + seed % 3
    workload = conv(seed).done("y")
    with pytest.raises(MappingError) as caught:
        compile_model(workload, sized(l1, acc, banks))
    found = WOULD_DO.search(str(caught.value))
    assert found is not None, caught.value
    for name, text in [(found[1], found[2]), *([(found[3], found[4])] if found[3] else [])]:
        size = parse_whole(text, SIZE)
        enough = {"l1": l1, "acc": acc} | {name: size}
        compile_model(workload, sized(enough["l1"], enough["acc"], banks))
        short = enough | {name: size - 4 * banks}
        with pytest.raises(MappingError):
            compile_model(workload, sized(short["l1"], short["acc"], banks))


def test_two_memories_that_are_both_too_small_are_named_together() -> None:
    workload = conv(2).done("y")
    with pytest.raises(MappingError, match=r"acc of \S+ \S+ and l1 of \S+ \S+ would do together$") as caught:
        compile_model(workload, sized(32, 24, 1))
    sizes = dict(re.findall(r"(acc|l1) of (\S+ \w+)", str(caught.value)))
    both = {name: parse_whole(text, SIZE) for name, text in sizes.items()}
    compile_model(workload, sized(both["l1"], both["acc"], 1))


def test_the_message_names_layer_tensor_memory_and_bytes() -> None:
    with pytest.raises(MappingError) as caught:
        compile_model(conv(2).done("y"), sized(32, 1 << 12, 1))
    text = str(caught.value)
    assert re.search(
        r"layer 'conv_y' \(Conv\): no tiling fits 'l1' of chip 'small': the smallest needs \d+ bytes", text
    )
    assert re.search(r"of which \d+ for tensor '[\w.]+' \(\w+, \d slots?\); it has 8 of 32 bytes free; l1 of ", text)


@given(st.integers(0, 1 << 20), st.integers(0, 6), st.integers(1, 9), st.booleans())
@settings(deadline=None, derandomize=True)
def test_the_least_size_is_the_least(need: int, word: int, banks: int, shared: bool) -> None:
    memory = replace(small_chip().memory("l1"), word_bytes=1 << word, banks=banks)
    size, row = least_size(memory, need, shared), (1 << word) * banks
    assert size % row == 0 and usable(memory, size, size, shared) >= need
    below = range(max(0, size - 16 * row), size, row)
    assert all(usable(memory, less, less, shared) < need for less in below)


@pytest.mark.slow
def test_workers_and_caches_change_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Law 48: the same Program whatever the number of processes and the state of the cache."""
    monkeypatch.setenv("ARCHSIM_CACHE", str(tmp_path))
    monkeypatch.delenv("ARCHSIM_NO_CACHE", raising=False)
    cold = build(Job("eye_tracking", "edge_npu", workers=2))
    kept = {path: path.read_bytes() for path in (tmp_path / "mappings").iterdir()}
    assert len(kept) == 1
    warm = build(Job("eye_tracking", "edge_npu"))
    monkeypatch.setenv("ARCHSIM_NO_CACHE", "1")
    plain = build(Job("eye_tracking", "edge_npu"))
    assert print_program(cold.program) == print_program(warm.program) == print_program(plain.program)
    assert cold.mapping == warm.mapping == plain.mapping
    assert {path: path.read_bytes() for path in (tmp_path / "mappings").iterdir()} == kept


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_was_best_of_a_layer_is_not_ranked_again(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """How a layer is spread over cores is kept with its mapping, from one compilation to the next."""
    chip = networked(small_chip(), "mesh", (2, 1 + seed))
    net = Net(np.random.default_rng(seed))
    x = net.source("x", (1, 9, 9, 8))
    for name in ("y", "z"):
        x = net.conv(x, name, 8, 3, 1, (1, 1, 1, 1))
    workload, ranked = net.done("z"), []

    def counted(problem: Problem, *rest: Any) -> list[Spread]:
        ranked.append(problem.layer.name)
        return spreads(problem, *rest)

    monkeypatch.setattr("mapper.layers.spreads", counted)
    cold = compile_model(workload, chip, Options(cache=tmp_path))
    assert ranked and all(isinstance(each.nodes[0], Loop) and each.nodes[0].axis for each in cold.mapping.layers)
    ranked.clear()
    warm = compile_model(workload, chip, Options(cache=tmp_path))
    assert not ranked
    assert print_program(cold.program) == print_program(warm.program) and cold.mapping == warm.mapping


def test_a_failed_search_is_told_alike_by_any_number_of_workers() -> None:
    net = Net(np.random.default_rng(0))
    x = net.source("x", (1, 9, 9, 8))
    net.conv(net.conv(x, "y", 8, 3, 1, (1, 1, 1, 1)), "z", 16, 1, 1, (0, 0, 0, 0))
    messages = []
    for workers in (1, 2):
        with pytest.raises(MappingError) as caught:
            compile_model(net.done("z"), sized(32, 1 << 12, 1), Options(workers=workers))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
