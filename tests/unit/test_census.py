"""The census of the ranking: what is counted, and the command."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from archsim.cli.app import main
from archsim.ir.result_parts import Tried
from archsim.lab.run.job import Job
from archsim.lab.what_if.census import AS_IT_IS, Census, CensusPoint, LayerError, census
from archsim.report.run.census import to_table


def point(cycles: Sequence[int], energies: Sequence[float], change: str = AS_IT_IS, alone: int = 1000) -> CensusPoint:
    """A point of which the objectives latency, energy and edp take so many cycles and joules."""
    names = ("latency", "energy", "edp")
    tried: dict[str, Tried] = {
        name: {"cycles": count, "energy_j": joules} for name, count, joules in zip(names, cycles, energies, strict=True)
    }
    errors = (LayerError("large", 20_000, 20_000, 21_000, 24_000), LayerError("small", 10, 10, 90, 90))
    return CensusPoint("net", "chip", 1, change, {}, tried, alone, cycles[0] * 1e-9, 1000, errors)


def test_an_objective_is_beaten_by_more_than_half_a_per_cent() -> None:
    told = Census((point((1000, 1010, 990), (2.0, 1.0, 1.5)), point((1000, 1010, 996), (2.0, 1.0, 1.5)))).to_json()
    latency, energy, edp = told["objectives"]
    assert (latency["cases"], latency["beaten"], latency["beaten_with_net"]) == (2, 1, 0)
    assert latency["worst_percent"] == pytest.approx(100 * (1000 / 990 - 1)) and latency["worst"] == "net on chip"
    assert energy["beaten"] == 0 and edp["beaten"] == 2 and edp["beaten_with_net"] == 0


def test_networks_are_held_against_their_layers() -> None:
    told = Census((point((1000,) * 3, (1.0,) * 3, alone=990), point((1000,) * 3, (1.0,) * 3, alone=998))).to_json()
    assert told["layers"]["slower"] == 1 and told["layers"]["worst_percent"] == pytest.approx(100 * (1000 / 990 - 1))


def test_larger_chips_are_held_against_the_chip_as_it_is() -> None:
    points = (
        point((1000,) * 3, (1.0,) * 3),
        point((1010,) * 3, (1.0,) * 3, "l1 size x2"),
        point((1010,) * 3, (1.0,) * 3, "l1 banks x2"),
    )
    told = {row["change"]: row for row in Census(points).to_json()["larger"]}
    assert [row["percent"] for row in told["size x2"]["slower"]] == [pytest.approx(1.0)]
    assert told["banks x2"]["pairs"] == 1 and not told["banks x2"]["slower"]
    assert "Slower though larger (size x2): net on chip, l1 size x2, +1.0 %." in to_table(Census(points).to_json())


def test_errors_are_those_of_large_layers() -> None:
    (errors,) = Census((point((1100,) * 3, (1.0,) * 3),)).to_json()["errors"]
    assert errors["alone"]["count"] == 1 and errors["alone"]["median_percent"] == pytest.approx(5.0)
    assert errors["in_network"]["worst_percent"] == pytest.approx(20.0)
    assert errors["network"]["median_percent"] == pytest.approx(10.0)


def test_what_cannot_be_run_is_said() -> None:
    failed = CensusPoint("net", "chip", 1, AS_IT_IS, {}, {}, reason="no room")
    told = Census((failed,)).to_json()
    assert told["cases"] == 0 and "Not run: net on chip, as it is: no room" in to_table(told)


def test_a_chip_is_counted_as_it_is_and_larger() -> None:
    found = census(Job("", "", parameters={"height": 32, "width": 40}), ("eye_tracking",), ("edge_npu",))
    assert [point.change for point in found.ran][:2] == [AS_IT_IS, "dram channels x2"]
    assert {" ".join(point.change.split()[-2:]) for point in found.ran[1:]} >= {"size x2", "banks x2", "ports x2"}
    assert all(set(point.tried) >= {"latency", "energy", "edp"} and point.errors for point in found.ran)
    json.dumps(found.to_json())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("map", "--gap"), "MODEL"),
        (("map", "squeezenet"), "--on CHIP"),
        (("map", "squeezenet", "--on", "edge_npu", "--census"), "--census"),
        (("map", "--gap", "--census", "--layer", "x"), "--census"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: Sequence[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2 and said in capsys.readouterr().err
