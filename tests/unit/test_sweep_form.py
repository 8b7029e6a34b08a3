"""Sweep files: what they say, what is refused and where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, ModelError
from archsim.lab.explore.problem import DesignProblem
from archsim.lab.sweep import search as searching
from archsim.lab.sweep.axis import SweepAxis
from archsim.lab.sweep.form import Sweep, SweepGoal, SweepLimits, SweepModel, SweepSearch, read
from archsim.lab.sweep.points import SweepGrid
from archsim.lab.sweep.resolve import resolve
from archsim.spec import value_domains
from tests.unit.fixtures_check import GOLDEN

SWEEP = (Path(GOLDEN) / "sweep.yaml").read_text(encoding="utf-8")

SWEEPS = [
    ("schema: archsim.sweep/1", "schema: archsim.sweep/2", "schema: found 'archsim.sweep/2'; allowed archsim.sweep/1"),
    ("name: l1", "nam: l1", "nam: unknown key 'nam'; allowed axes, chip,"),
    ("models: [conv_pair]", "models: []", "models: found none; allowed a list of one or more"),
    ("models: [conv_pair]", "models: [conv_pair, conv_pair]", "models[1]: found 'conv_pair'; allowed each once"),
    ("objectives: [", "objectives: [max area_mm2, area_mm2, ", "objectives[1]: found 'area_mm2'; allowed each once"),
    ("l1.banks: [4, 8]", "l1.banks: 4", "axes.l1.banks: found 4; allowed a list of values, {log2: [low, high]} or"),
    ("models: [conv_pair]", "models: conv_pair", "models: found 'conv_pair'; allowed a list"),
    ("l1.size: [8 KiB, 16 KiB]", "l1.size: []", "axes.l1.size: found []; allowed one value or more"),
    ("steps: 3", "steps: 1", "axes.clock.steps: found 1; allowed 2 to 10000"),
    ("range: [0.8 GHz, 1.2 GHz]", "range: [0.8 GHz]", "allowed [low, high]"),
    ("{range: [0.8 GHz, 1.2 GHz], steps: 3}", "{log2: [8, 1]}", "allowed [low, high] with 0 < low <= high"),
    ("{range: [0.8 GHz, 1.2 GHz], steps: 3}", "{log2: [1, 8], stops: 3}", "axes.clock.stops: unknown key"),
    ("zip: [[l1.size, l1.banks]]", "zip: [[l1.size]]", "allowed a list of two axes or more"),
    ("zip: [[l1.size, l1.banks]]", "zip: [[l1.size, l1.bank]]", "allowed axes of this file (did you mean 'l1.banks'?)"),
    ("zip: [[l1.size, l1.banks]]", "zip: [[l1.size, l1.size]]", "axes of this file that are not zipped yet"),
    ("l1.banks: [4, 8]", "l1.banks: [4, 8, 16]", "allowed axes of the same number of values"),
    ("area_mm2 <= 100", "area_mm2 under 100", "allowed a comparison such as"),
    ("fidelity: exact", "fidelity: exakt", "allowed cost, fast, exact (did you mean 'exact'?)"),
    ("method: grid", "method: random", "search.trials: missing"),
    ("method: grid, seed: 1", "method: tpe, trials: 0", "search.trials: found 0; allowed whole numbers 1 to"),
    ("seed: 1", "seed: 4294967296", "search.seed: found 4294967296; allowed whole numbers 0 to 4294967295"),
    ("method: grid", "method: nsga3", "found 'nsga3'; allowed grid, nsga2, qmc, random, tpe (did you mean 'nsga2'?)"),
    ("objectives:", "objectivs:", "objectivs: unknown key 'objectivs'; allowed axes,"),
    ("search:", "search2:", "search2: unknown key"),
    ("name: l1", "name: ../l1", "name: found '../l1_vs_bandwidth'; allowed a name of letters, digits and . _ -"),
    ("name: l1", "name: /tmp/l1", "name: found '/tmp/l1_vs_bandwidth'; allowed a name of letters, digits and . _ -"),
    ("name: l1", "name: .l1", "name: found '.l1_vs_bandwidth'; allowed a name of letters, digits and . _ -"),
    ("name: l1", 'name: "l1\\e[31m" #', "allowed a name of letters, digits and . _ -"),
    (
        "models: [conv_pair]",
        "models: [{model: conv_pair, bach: 2}]",
        "models[0].bach: unknown key 'bach'; allowed batch,",
    ),
    (
        "search:",
        "limits: {time: 0 s}\nsearch:",
        "limits.time: found '0 s'; allowed above 0 s to 1000 h, in ps, ns, us,",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), SWEEPS, ids=[message for *_, message in SWEEPS])
def test_mistakes_of_form(old: str, new: str, message: str) -> None:
    assert old in SWEEP
    with pytest.raises(ConfigError) as error:
        read(SWEEP.replace(old, new), "sweep.yaml")
    assert message in str(error.value)
    assert str(error.value).startswith("sweep.yaml:")


def test_what_the_golden_file_says() -> None:
    found = read(SWEEP, "sweep.yaml")
    assert (found.name, found.chip, found.models) == ("l1_vs_bandwidth", "golden", (SweepModel("conv_pair"),))
    assert found.axes[0] == SweepAxis("l1.size", ("8 KiB", "16 KiB"))
    assert found.axes[3] == SweepAxis("clock", ("0.8 GHz", "1 GHz", "1.2 GHz"))
    assert found.zips == ((0, 1),)
    assert [str(item) for item in found.constraints] == ["area_mm2 <= 100", "power_avg_w <= 2"]
    assert found.goals == (SweepGoal("latency_s"), SweepGoal("energy_j"))
    assert (found.fidelity, found.search, found.limits) == ("exact", SweepSearch("grid", 0, 1), SweepLimits())


def test_what_may_be_left_out_or_added() -> None:
    text = """
name: small
chip: golden
models: [{model: conv_pair, batch: 2, parameters: {seq: 8}}]
axes: {dram.channels: {log2: [1, 12]}, l1.size: {log2: [1 KiB, 4 KiB]}, l1.banks: {range: [1, 3], steps: 3}}
objectives: [max utilization, throughput_per_s, min dram.read_bytes]
limits: {time: 2 min, memory: 1 GiB}
objective: edp
dtype: int8
"""
    found = read(text)
    assert [axis.values for axis in found.axes] == [(1, 2, 4, 8), ("1 KiB", "2 KiB", "4 KiB"), (1, 2, 3)]
    assert [str(goal) for goal in found.goals] == ["max utilization", "max throughput_per_s", "min dram.read_bytes"]
    assert found.limits == SweepLimits(120.0, 2**30)
    assert (found.fidelity, found.objective, found.dtype) == ("fast", "edp", "int8")
    assert found.models[0].label == "conv_pair(batch=2, seq=8)"


@pytest.mark.parametrize(
    ("stated", "read_as"), [("zipf", "zipf"), ("1.05", 1.05), ("3", 3), ("a/rows.txt", "a/rows.txt")]
)
def test_parameters_are_sizes_numbers_and_words(stated: str, read_as: object) -> None:
    text = SWEEP.replace("models: [conv_pair]", f"models: [{{model: conv_pair, parameters: {{alpha: {stated}}}}}]")
    assert text != SWEEP
    model = read(text, "sweep.yaml").models[0]
    assert model.parameters == {"alpha": read_as} and model.label == f"conv_pair(alpha={read_as})"


@pytest.mark.parametrize("stated", ["-1", "-1.5", "true", "''", "[1]"])
def test_other_parameters_are_refused(stated: str) -> None:
    text = SWEEP.replace("models: [conv_pair]", f"models: [{{model: conv_pair, parameters: {{alpha: {stated}}}}}]")
    with pytest.raises(ConfigError, match=r"sweep.yaml:.*parameters.alpha: found .*; allowed a number from 0 on"):
        read(text, "sweep.yaml")


def test_points_are_all_choices_with_zipped_axes_together() -> None:
    sweep = read(SWEEP)
    grid = SweepGrid(sweep)
    points = list(grid)
    assert grid.shape == (2, 2, 3) and len(points) == len(grid) == 12
    assert {(p.values["l1.size"], p.values["l1.banks"]) for p in points} == {("8 KiB", 4), ("16 KiB", 8)}
    assert len({tuple(p.values.items()) for p in points}) == 12
    assert [p.values["clock"] for p in points[:4]] == ["0.8 GHz", "1 GHz", "1.2 GHz", "0.8 GHz"]
    assert list(points[0].values) == [axis.key for axis in sweep.axes]
    for number, point in enumerate(points):
        assert grid.point(number) == point and point.number == number
    assert grid.at((1, 0, 2)) == points[8]


def search(method: str, trials: int, seed: int) -> Sweep:
    return read(SWEEP.replace("{method: grid, seed: 1}", f"{{method: {method}, trials: {trials}, seed: {seed}}}"))


def searched(method: str, trials: int, seed: int) -> list[int]:
    """Numbers of the points that are asked for at first."""
    sweep = search(method, trials, seed)
    return [SweepGrid(sweep).at(choices).number for choices in searching.method(sweep).ask()]


@pytest.mark.parametrize("method", ["random", "qmc"])
def test_points_are_drawn_without_repetition_and_by_the_seed(method: str) -> None:
    found = searched(method, 7, 3)
    assert found == sorted(set(found)) and len(found) == 7 and set(found) <= set(range(12))
    assert found == searched(method, 7, 3)
    assert len({tuple(searched(method, 7, seed)) for seed in range(6)}) > 1
    assert searched(method, 500, 3) == list(range(12)) == searched("grid", 1, 0)


def test_even_points_take_every_choice_sooner_than_chance() -> None:
    """Of 4 points on axes of 2, 2 and 3 choices, each half of the first two is met twice."""
    grid = SweepGrid(read(SWEEP))
    for seed in range(8):
        sizes = [grid.point(number).values["l1.size"] for number in searched("qmc", 4, seed)]
        assert 1 <= sizes.count("8 KiB") <= 3


def test_a_search_is_over_axes_that_move_alone_and_the_goals_of_all_models() -> None:
    sweep = search("nsga2", 7, 3)
    assert searching.problem(sweep) == DesignProblem((2, 2, 3), (True, True, True), 2, 7, 3)
    assert searching.problem(replace(sweep, models=sweep.models * 3)).goals == 6
    assert searching.problem(search("grid", 7, 3)).spent == 12


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        ((1, 2, 8), True),
        (("1 MiB", "512 KiB", "64 B"), True),
        ((4, 16, 8), False),
        (("os", "ws"), False),
        (("1 KiB", "auto"), False),
        (([32, 1], [16, 2], [16, 4]), True),
        (([8, 8], [16, 4], [4, 16]), False),
        (([8, 8], [8]), False),
        ((4,), True),
    ],
)
def test_values_that_rise_or_fall_are_ordered(values: tuple[object, ...], ordered: bool) -> None:
    assert searching.ordered(SweepAxis("key", values)) == ordered


STEPS = "{range: [1, 1000], steps: 1000}"
WHOLE = """
name: whole
chip: edge_npu
models: [eye_tracking]
axes: {l1.size: [1 MiB, 2 MiB], clock: [1 GHz]}
objectives: [latency_s]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("l1.size", "l2.size", ":5:8: axes.l2.size: no such key path in chip 'edge_npu' (did you mean 'l1.size'?)"),
        ("2 MiB", "2 MHz", ":5:8: axes.l1.size: found '2 MHz'; allowed a size"),
        ("[1 GHz]", "[1 THz]", "axes.clock: found '1 THz'; allowed"),
        ("latency_s", "latency", ":6:14: objectives[0]: no 'latency' in a result (did you mean 'latency_s'?)"),
        ("chip: edge_npu", "chip: edge_npuu", ":3:1: chip: no chip 'edge_npuu'"),
        ("1 MiB, 2 MiB", "1 MiB, 1 MiB", ":5:8: axes.l1.size: found 1 MiB twice; allowed each once"),
        ("[1 GHz]", "{range: [1 GHz, 1 GHz], steps: 2}", "axes.clock: found 1 GHz twice; allowed each once"),
        (
            "{l1.size: [1 MiB, 2 MiB], clock: [1 GHz]}",
            "{a.b: [1, 1], c.d: [2, 2]}\nzip: [[a.b, c.d]]",
            "axes.a.b: found 1, 2 twice; allowed each once",
        ),
        ("clock: [1 GHz]", f"clock: {STEPS}, a: {STEPS}", "axes: found 2,000,000 points; allowed at most 1,000,000"),
        (
            "clock: [1 GHz]}",
            f"{', '.join(f'{name}: {STEPS}' for name in 'abcdefg')}}}\nsearch: {{method: qmc, trials: 2}}",
            "points; allowed at most 9,223,372,036,854,775,808 of a qmc search",
        ),
    ],
)
def test_mistakes_that_the_chip_tells(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(WHOLE.replace(old, new))
    with pytest.raises(ConfigError) as error:
        resolve(path)
    assert message in str(error.value)


def test_models_are_loaded_before_the_first_point(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(WHOLE.replace("eye_tracking", "eye_trackin"))
    with pytest.raises(
        ModelError, match=r"sweep.yaml:4:10: models\[0\]: no model 'eye_trackin'; .*did you mean 'eye_tracking'"
    ):
        resolve(path)


def test_paths_are_those_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text(
        "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
        "conv1, 10, 10, 3, 3, 4, 8, 1,\n"
    )
    (tmp_path / "chip.yaml").write_text((Path(GOLDEN) / "chip.yaml").read_text(encoding="utf-8"))
    text = WHOLE.replace("eye_tracking", "tiny.csv").replace("edge_npu", "chip.yaml").replace("1 MiB, 2 MiB", "8 KiB")
    (tmp_path / "sweep.yaml").write_text(text)
    found = resolve(tmp_path / "sweep.yaml")
    assert found.sweep.chip == str(tmp_path / "chip.yaml")
    assert [workload.name for workload in found.models] == ["tiny"]


WRONG = """schema: archsim.sweep/1
name: ../all
chip: edge_npu
models: [resnet5O, {model: resnet50, bach: 2}, squeezenet]
axes:
  l1.sizee: [1 MiB, 2 MiB]
  clock: [1 kg, 1 GHz]
  l1.banks: [4, 8, 16]
  l1.size: 1 MiB
  dram.channels: {log2: [8, 1]}
zip: [[l1.sizee, l1.banks], [clock], [l1.size, l1.bank]]
constraints: ["area_mm2 under 100", "latencyy_s <= 1", "power_avg_w <= 3"]
objectives: [latency_s, enrgy_j]
fidelity: exakt
search: {method: random}
"""
ALL = (
    "name: found '../all'",
    "models[0]: ",
    "models[1].bach: unknown key 'bach'",
    "axes.l1.sizee: no such key path in chip 'edge_npu' (did you mean 'l1.size'?)",
    "axes.clock: found",
    "axes.l1.size: found '1 MiB'; allowed a list of values",
    "axes.dram.channels.log2: found [8, 1]",
    "zip[0]: found [l1.sizee, l1.banks]; allowed axes of the same number of values",
    "zip[1]: found [clock]; allowed a list of two axes or more",
    "zip[2]: found 'l1.bank'; allowed axes of this file (did you mean 'l1.banks'?)",
    "constraints[0]: found 'area_mm2 under 100'",
    "constraints[1]: no 'latencyy_s' in a result",
    "objectives[1]: no 'enrgy_j' in a result",
    "fidelity: found 'exakt'",
    "search.trials: missing",
)


def problems_of(text: str, tmp_path: Path) -> list[str]:
    """What is said of a sweep file."""
    path = tmp_path / "sweep.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        resolve(path)
    head, *lines = str(caught.value).split("\n")
    assert not lines or head == f"{len(lines)} problems:"
    return [line.strip() for line in lines] or [head]


def test_all_that_is_wrong_is_said_in_one_round(tmp_path: Path) -> None:
    """Mistakes of form, of what goes together, of the chip, the models, the result: each once, none behind another."""
    lines = problems_of(WRONG, tmp_path)
    for said in ALL:
        assert len([line for line in lines if f": {said}" in line]) == 1, (said, lines)
    assert len(lines) == len(ALL), lines


@pytest.mark.parametrize("key", ["name", "chip", "models", "axes", "objectives"])
def test_a_key_that_is_not_there_hides_no_other_mistake(key: str, tmp_path: Path) -> None:
    lines = [line for line in WRONG.splitlines() if not line.startswith(("  ", "zip"))]
    sound = {"name": "all", "models": "[squeezenet]", "axes": "{l1.sizee: [1 MiB]}", "objectives": "[enrgy_j]"}
    stated = {**dict(line.split(": ", 1) for line in lines if ": " in line), **sound, "fidelity": "fast"}
    del stated[key]
    found = " ".join(problems_of("\n".join(f"{name}: {value}" for name, value in stated.items()), tmp_path))
    assert f"{key}: missing" in found and "search.trials: missing" in found and "latencyy_s" in found
    assert ("no such key path" in found) == (key not in ("chip", "axes"))
    assert ("enrgy_j" in found) == (key != "objectives")


def test_too_many_points_are_told_with_the_rest_unless_what_says_how_many_is_wrong(tmp_path: Path) -> None:
    text = (
        "name: a\nchip: edge_npu\nmodels: [squeezenet]\nobjectives: [enrgy_j]\n"
        "axes: {l1.size: {range: [1 kg, 5000 kg], steps: 5000}, l1.banks: {range: [1, 5000], steps: 5000}}\n"
    )
    lines = problems_of(text, tmp_path)
    assert len([line for line in lines if "axes: found 25,000,000 points; allowed at most 1,000,000" in line]) == 1
    assert len([line for line in lines if "axes.l1.size: found" in line]) == 16  # the first ones of 5,000
    assert any("no 'enrgy_j' in a result" in line for line in lines)
    for wrong in ("zip: [[l1.size]]\n", "search: {method: grdi}\n"):
        few = (
            text.replace("steps: 5000", "steps: 1200")
            .replace("1 kg, 5000 kg", "1 MiB, 1200 MiB")
            .replace("5000]", "1200]")
        )
        assert not any("1,440,000" in line for line in problems_of(few + wrong, tmp_path))


@pytest.mark.parametrize(
    ("lengths", "said"), [(2, "a list of 2 whole"), ((2, 2), "a list of 2 whole"), ((1, 4), "a list of 1 to 4 whole")]
)
def test_how_long_a_list_may_be_is_said_in_few_words(lengths: int | tuple[int, int], said: str) -> None:
    assert value_domains.sequence(lengths, 0, 9).allowed.startswith(said)
