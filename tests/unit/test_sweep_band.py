"""Sweeps at fidelity cost: what cannot be told apart is kept, named, and simulated up to a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import archsim
from archsim.cli.app import main
from archsim.cli.printing import put
from archsim.lab.sweep import preview, ranks
from archsim.lab.sweep.digest import digest
from archsim.lab.sweep.form import Sweep, read
from archsim.lab.sweep.progress import SweepPace, SweepStretches
from archsim.lab.sweep.questions import SweepTable
from archsim.lab.sweep.resolve import resolve
from archsim.lab.sweep.run import RunningSweep
from archsim.lab.sweep.table import table
from archsim.lab.sweep.worker import SweepRow, SweepTask, work
from archsim.report.sweep.page import html, markdown

BANDS = {"one_core": {"latency_s": 0.1, "energy_j": 0.02}, "many_cores": {"latency_s": 1.0, "energy_j": 0.5}}
SWEEP = read("""
name: planted
chip: c
models: [m]
axes: {l1.size: [1 KiB, 2 KiB]}
objectives: [latency_s, energy_j]
fidelity: cost
""")
PLANTED = """
name: planted
chip: edge_npu
models: [eye_tracking]
axes: {clock: [0.97 GHz, 1 GHz]}
objectives: [latency_s]
fidelity: cost
"""


def row(point: int, latency: float, energy: float = 1.0, **changes: Any) -> dict[str, Any]:
    numbers = {"latency_s": latency, "energy_j": energy, "area_mm2": changes.pop("area", 5.0)}
    place = {"point": point, "model": "m", "fidelity": "cost", "cores": 1, "values": {"l1.size": "1 KiB"}}
    return {**place, "status": "ok", "reason": "", "numbers": numbers, **changes}


def planted(*rows: dict[str, Any], sweep: Sweep = SWEEP) -> SweepTable:
    return SweepTable.of(table(sweep, rows, BANDS))


def fast(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**each, "fidelity": "fast"} for each in rows]


def test_two_points_three_percent_apart_are_both_found() -> None:
    """At cost both are the front and the best; simulated figures have no band, so the same two are told apart."""
    points = [row(0, 1.0), row(1, 1.03), row(2, 1.2)]
    found = planted(*points)
    assert found.index[found["front"]].tolist() == [0, 1] and found["within_band"].tolist() == [1, 1, 0]
    assert found.best()["point"].tolist() == [0, 1] and found.pareto()["point"].tolist() == [0, 1]
    assert found.binding()["beaten_by"].tolist() == [0]
    (said,) = digest(found)["models"]
    assert "Point 0 is best in latency_s, within the band of 1 other (point 1)" in " ".join(said["says"])
    simulated = planted(*fast(*points))
    assert simulated["front"].tolist() == [True, False, False] and simulated.best()["point"].tolist() == [0]
    assert "within_band" not in simulated and simulated.attrs["bands"] == {}


def test_areas_have_no_band() -> None:
    sweep = read("name: p\nchip: c\nmodels: [m]\naxes: {a: [1]}\nobjectives: [latency_s, area_mm2]\nfidelity: cost\n")
    rows = [{**row(at, time, area=area), "values": {"a": 1}} for at, (time, area) in enumerate([(1, 5.0), (1.03, 5.1)])]
    found = planted(*rows, sweep=sweep)
    assert found["front"].tolist() == [True, False] and found.best("area_mm2")["point"].tolist() == [0]


def test_the_class_of_the_chip_decides() -> None:
    points = [row(0, 1.0, cores=4), row(1, 1.5, cores=4), row(2, 1.5)]
    assert planted(*points)["front"].tolist() == [True, True, True]
    assert planted(points[0], row(1, 1.5), row(2, 1.2))["front"].tolist() == [True, False, True]
    assert planted(row(0, 1.0), row(1, 1.5))["front"].tolist() == [True, False]


def test_best_names_the_set_in_any_figure_and_with_constraints() -> None:
    found = planted(row(0, 1.0, 3.0), row(1, 1.3, 1.0), row(2, 1.4, 1.01), row(3, 9.0, 9.0))
    assert found.best("energy_j")["point"].tolist() == [1, 2]
    assert found.best(constraints=["energy_j <= 1.5"])["point"].tolist() == [1, 2]
    assert found.best("area_mm2")["point"].tolist() == [0]


def test_rows_that_were_not_simulated_and_may_be_the_best_follow_it() -> None:
    points = [row(0, 1.0), row(1, 1.03), row(2, 1.05)]
    found = planted(*points, *fast(*points[:2]))
    assert found.best()[["point", "fidelity"]].to_numpy().tolist() == [[0, "fast"], [2, "cost"]]
    assert found.unsimulated("m")["point"].tolist() == [2]
    said = " ".join(digest(found)["models"][0]["says"])
    assert "1 point of the front at fidelity cost was not simulated (at most 20, or a tenth" in said
    assert "Of these 2: cost does not tell it from the best in latency_s." in said


def test_at_most_twenty_or_a_tenth_of_the_points_are_simulated() -> None:
    assert (ranks.most(3), ranks.most(200), ranks.most(999)) == (20, 20, 99)
    found = planted(*[row(at, 1 + at / 1000) for at in range(60)])
    assert found["front"].sum() == 60
    assert ranks.taken(found)["point"].tolist() == list(range(20))
    (said,) = ranks.sentences(found)
    assert "20 of the 60 are simulated (at most 20, or a tenth of the points where that is more)" in said
    assert "cost cannot tell any of the front apart in it" in said and "11 % in latency_s, 2 % in energy_j" in said
    shuffled = planted(*[row(at, 1 + at / 1000) for at in reversed(range(60))])
    assert ranks.taken(shuffled)["point"].tolist() == ranks.taken(found)["point"].tolist()


def test_pages_and_published_tables_say_within_the_band_of_n() -> None:
    found = planted(row(0, 1.0), row(1, 1.03), row(2, 1.02))
    assert "| within the band of |" in markdown(digest(found)) and "| 2 | " in markdown(digest(found))
    assert '<th class="n">within the band of</th>' in html(digest(found))
    assert found.publication()["within the band of"].tolist() == ["2", "2", "2"]
    simulated = planted(*fast(row(0, 1.0), row(1, 1.03)))
    assert "within the band" not in html(digest(simulated)) + markdown(digest(simulated))
    assert "within the band of" not in simulated.publication()


def test_the_table_keeps_the_bands_it_was_judged_by(tmp_path: Path) -> None:
    found = planted(row(0, 1.0), row(1, 1.03))
    found.to_parquet(tmp_path / "results.parquet")
    again = SweepTable.load(tmp_path)
    assert again.bands == BANDS and again.best()["point"].tolist() == [0, 1]
    del again.attrs["bands"]  # of an older table, whose front was found without a band
    assert again.best()["point"].tolist() == [0]


class Alone:
    """A crew that works in this process."""

    def rows(self, tasks: Iterable[SweepTask], seconds: float | None = None) -> Iterator[SweepRow]:
        return map(work, tasks)

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Heard:
    """What a sweep tells, in its order."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def begin(self, fidelity: str, rows: int) -> None:
        self.said.append(f"{fidelity} {rows}")

    def known(self, rows: int) -> None:
        pass

    def row(self, row: object) -> None:
        pass

    def ranked(self, sentences: Sequence[str]) -> None:
        self.said += sentences


def test_ranks_are_named_before_the_front_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "planted.yaml").write_text(PLANTED)
    heard = Heard()
    with RunningSweep(resolve(tmp_path / "planted.yaml"), tmp_path / "out", resume=False) as sweeping:
        found = sweeping.run(Alone(), heard)
    costs = found[found["fidelity"] == "cost"]
    apart = costs["latency_s"].max() / costs["latency_s"].min() - 1
    assert 0.01 < apart < 0.04 and costs["front"].all() and costs["cores"].tolist() == [1, 1]
    assert [text.partition(":")[0] for text in heard.said] == [
        *("cost 2", "eye_tracking at fidelity cost", "fast 2", "exact 1"),
    ]
    assert "within the band of 1 other" in heard.said[1]


@pytest.mark.slow
def test_the_command_line_and_the_package_name_the_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("planted.yaml").write_text(PLANTED)
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "planted.yaml", "-j", "1"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert "Point 1 is best in latency_s, within the band of 1 other (point 0)" in said
    found = SweepTable.load("planted")
    assert isinstance(found, pd.DataFrame) and found.best(constraints=["latency_s <= 1"])["point"].tolist() == [1, 0]
    assert archsim.sweep("planted.yaml", workers=1, resume=True).best()["fidelity"].tolist() == ["exact"]


def test_what_a_sweep_would_do_says_how_much_is_simulated(tmp_path: Path) -> None:
    (tmp_path / "planted.yaml").write_text(PLANTED)
    said = "\n".join(preview.lines(resolve(tmp_path / "planted.yaml"), tmp_path / "out", 1))
    assert "then those of the front (at most 20, or a tenth of the points where that is more) in more detail" in said


def test_ranks_are_printed_as_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    with SweepStretches("min latency_s", put) as telling:
        SweepPace(telling).ranked(["m [red] at fidelity cost: point 0"])
    assert capsys.readouterr().out == "m [red] at fidelity cost: point 0\n"
