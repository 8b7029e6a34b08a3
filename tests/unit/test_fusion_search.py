"""How groups are searched: what is hoped of a chain, which loops are looked at, who gets which room, what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import archsim
from archsim.base.errors import MappingError
from archsim.lab.run.job import Job, build
from archsim.spec.load import load
from mapper.fusion.judging import Figure, Judge, best_of, judges
from mapper.fusion.prospects import MOST_SEARCHED, LoopsFigure, Prospect
from mapper.fusion.room import left, shares
from mapper.layers import Layers
from mapper.options import Options, resolve_dtypes
from tests.unit.test_fusion import ATTENTION, BOTTLENECK

Loops = tuple[tuple[str, int], ...]


CYCLES = Judge((1.0, 0.0), Figure(100.0, 100.0))


def cycles(taken: float) -> Figure:
    """So many, and as much energy."""
    return Figure(taken, taken)


class Told:
    """Chances that are written down: ``found`` has for each tile the outlook and what is searched then."""

    def __init__(
        self, found: dict[int, tuple[float, float | None]], before: float = 100.0, least: float = 40.0
    ) -> None:
        self.found, self.before, self.least = found, cycles(before), cycles(least)
        self.asked: list[int] = []
        self.fault = ""

    def outlooks(self) -> list[LoopsFigure]:
        """In any order."""
        return [LoopsFigure(cycles(outlook), (("p", tile),)) for tile, (outlook, _) in self.found.items()]

    def searched(self, loops: Loops) -> Figure | None:
        """As it is written."""
        ((_, tile),) = loops
        self.asked.append(tile)
        taken = self.found[tile][1]
        return None if taken is None else cycles(taken)


def settled(told: Told) -> Prospect:
    prospect, hopes = Prospect(told, 0.01), []
    while not prospect.settled(CYCLES):
        hopes.append(prospect.hope(CYCLES))
        prospect.look(CYCLES)
    assert hopes == sorted(hopes, reverse=True), "hopes only fall"
    return prospect


def test_a_chain_is_searched_until_no_outlook_is_better() -> None:
    told = Told({4: (59.0, 59.5), 1: (50.0, 60.0), 2: (55.0, 58.0)})
    prospect = settled(told)
    assert told.asked == [1, 2]  # four rows would leave 59 at the best
    assert prospect.best(CYCLES) == (cycles(58.0), (("p", 2),))
    assert prospect.hope(CYCLES) == prospect.known(CYCLES) == pytest.approx(0.42)


def test_few_loops_are_searched_and_those_that_do_not_fit_are_not_counted() -> None:
    told = Told({tile: (50.0, None if tile == 1 else 80.0 + tile) for tile in range(1, 9)})
    prospect = settled(told)
    assert len(told.asked) == MOST_SEARCHED + 1 and prospect.best(CYCLES).loops == (("p", 2),)


def test_nothing_is_hoped_of_what_spares_too_little() -> None:
    assert Prospect(Told({}, least=99.5), 0.01).hope(CYCLES) == 0
    prospect = settled(Told({1: (50.0, 99.5)}))
    assert prospect.hope(CYCLES) == prospect.known(CYCLES) == 0
    assert settled(Told({})).hope(CYCLES) == 0


def test_another_judge_looks_further() -> None:
    """What is best by cycles is not what is best by energy; both are found, and nothing is searched twice."""

    class Two(Told):
        def outlooks(self) -> list[LoopsFigure]:
            return [LoopsFigure(Figure(50.0, 90.0), (("p", 1),)), LoopsFigure(Figure(90.0, 50.0), (("p", 2),))]

        def searched(self, loops: Loops) -> Figure | None:
            self.asked.append(loops[0][1])
            return next(figure for figure, known in self.outlooks() if known == loops)

    told = Two({})
    prospect, energy = settled(told), Judge((0.0, 1.0), CYCLES.whole)
    assert told.asked == [1] and not prospect.settled(energy)
    while not prospect.settled(energy):
        prospect.look(energy)
    assert told.asked == [1, 2]
    assert [prospect.best(judge).loops for judge in (CYCLES, energy)] == [(("p", 1),), (("p", 2),)]


def test_an_objective_weighs_cycles_and_energy() -> None:
    """At first hardly anything of what is not asked for, and then more and more."""
    whole, faster, cheaper = Figure(1000.0, 10.0), Figure(900.0, 10.0), Figure(1000.0, 5.0)
    spared = {
        name: [[judge.of(whole) - judge.of(part) for part in (faster, cheaper)] for judge in judges(name, whole)]
        for name in ("latency", "energy", "edp")
    }
    assert spared["latency"][-1] == pytest.approx([0.1, 0.15])
    assert spared["latency"][0] == pytest.approx([0.1, 0.0025])
    assert spared["energy"][0] == pytest.approx([0.0005, 0.5])
    assert spared["edp"] == [pytest.approx([0.1, 0.5])]


@pytest.mark.parametrize(("objective", "best"), [("latency", 1), ("energy", 3), ("edp", 2)])
def test_within_the_band_what_is_not_asked_for_decides(objective: str, best: int) -> None:
    networks = [
        Figure(1000.0, 10.0),
        Figure(1004.0, 9.0),
        Figure(1100.0, 7.0),
        Figure(2000.0, 6.9),
        Figure(1999.0, 7.0),
    ]
    assert best_of(objective, networks) == best


def layers_of(text: str, folder: Path) -> Layers:
    path = folder / "model.yaml"
    path.write_text(text)
    chip = load("edge_npu")
    return Layers(archsim.load_model(path), chip, resolve_dtypes(chip, {}), Options())


def test_a_member_has_the_room_that_its_pass_can_use(tmp_path: Path) -> None:
    layers = layers_of(BOTTLENECK, tmp_path)
    problems = [problem for problem in layers.mapped(frozenset()).problems if problem is not None]
    wants = [each["acc"] for each in shares({"acc": 1 << 40}, problems)]
    assert wants[0] > wants[2]  # 96 channels, and 16
    found = [each["acc"] for each in shares({"acc": wants[2] + 3000}, problems)]
    assert found[2] <= wants[2] and sum(found) <= wants[2] + 3000
    even = [each["acc"] for each in shares({"acc": 3000}, problems)]
    assert max(even) - min(even) <= 1
    assert [each["acc"] for each in shares({"acc": sum(wants)}, problems)] == wants


def test_windows_that_leave_nothing_are_refused() -> None:
    assert left({"l1": 100, "acc": 50}, [("l1", 60), ("l1", 20)]) == {"l1": 20, "acc": 50}
    with pytest.raises(MappingError, match="leave no room in 'l1'"):
        left({"l1": 100}, [("l1", 100)])


def test_what_was_chosen_is_kept_and_a_damaged_file_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ARCHSIM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.yaml"
    path.write_text(ATTENTION)
    first = build(Job(path, "edge_npu", schedule="best"))
    (kept,) = (tmp_path / "cache" / "groups").iterdir()
    text = kept.read_text()
    assert json.loads(text)["groups"][0]["members"] == [0, 3]
    again = build(Job(path, "edge_npu", schedule="best"))
    assert again.program == first.program and kept.read_text() == text
    kept.write_text(text.replace("[0, 3]", "[0, 2]"))
    assert build(Job(path, "edge_npu", schedule="best")).program == first.program
    assert "which layers run together was edited, damaged or cut short" in capsys.readouterr().err
    assert kept.read_text() == text
