"""The tasks of a newcomer: one file each, found by its name, used by the shipped commands, and nothing else touched.

The files are those of ``tests/e2e/extensions``, copied into a plugin directory and a directory of configurations. Each
is run to a result by itself or with others; afterwards no file of archsim, mapper or configs differs.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

from archsim.base.registry import CONFIGS_VARIABLE, PLUGINS_VARIABLE
from archsim.cli.app import main
from tests.e2e import test_windowed_dataflow as windowed
from tests.tools.commands import GOLDEN, ROOT, cache_of_its_own
from tests.tools.one_table import check_cause, check_figure
from tests.tools.plugins import PLUGINS

EXTENSIONS = Path(__file__).parent / "extensions"
NET = "input x 8 32\ndense d1 16 0.5\nrelu r1\nrelu r2\ndense d2 8 0.25\n"
SWEEP = """name: mine
chip: mine
models: [two_products]
axes:
  l1.size: [8 KiB, 16 KiB, 32 KiB]
  clock: [500 MHz, 1 GHz]
objectives: [latency_s, area_mm2]
fidelity: cost
search: {method: corners, trials: 4}
"""

Command = Callable[..., str]


def fingerprint() -> str:
    """Of every file of the tree that a task might be tempted to touch."""
    found = hashlib.sha256()
    for room in ("archsim", "mapper", "configs"):
        for path in sorted((ROOT / room).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(str(path.relative_to(ROOT)).encode())
                found.update(path.read_bytes())
    return found.hexdigest()


@pytest.fixture(autouse=True, scope="module")
def _untouched() -> Iterator[None]:
    before = fingerprint()
    yield
    assert fingerprint() == before


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in which all extensions are found."""
    for source, target in ((EXTENSIONS, tmp_path), (PLUGINS, tmp_path / "plugins")):
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    text = (ROOT / "configs" / "technology" / "7nm.yaml").read_text()
    old, new = (
        "{value: 0.07, status: measured, source: tpuv4i}",
        '{value: 0.14, source: "by definition: twice that of 7nm"}',
    )
    assert text.count(f"multiply_pj: {old}") == 1
    (tmp_path / "configs" / "technology").mkdir()
    (tmp_path / "configs" / "technology" / "n6.yaml").write_text(
        text.replace("name: 7nm", "name: n6").replace(old, new)
    )
    (tmp_path / "tiny.net").write_text(NET)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    monkeypatch.setenv(PLUGINS_VARIABLE, str(tmp_path / "plugins"))
    monkeypatch.setenv(CONFIGS_VARIABLE, str(tmp_path / "configs"))
    monkeypatch.setenv("ARCHSIM_CACHE", str(cache_of_its_own(tmp_path / "cache")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(home: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Call ``archsim ARGUMENTS...`` in this process; what it prints, once it ended with the exit code ``code``."""

    def called(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        said = capsys.readouterr()
        assert (caught.value.code or 0) == code, said.err
        return said.out if code == 0 else said.err

    return called


@pytest.fixture
def run(command: Command) -> Callable[..., dict[str, Any]]:
    """The summary of a run."""

    def called(model: str, *options: str, on: str = "mine") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(command("run", model, "--on", on, "--format", "json", *options))
        return found

    return called


Run = Callable[..., dict[str, Any]]


def layers(summary: dict[str, Any]) -> dict[str, Any]:
    """By name, without what belongs to none of them (``_host``, ``_static``)."""
    return {row["name"]: row for row in summary["layers"] if not row["name"].startswith("_")}


def test_chip_and_workload(command: Command, run: Run) -> None:
    assert "mine" in command("show", "chips") and "two_products" in command("show", "models")
    done = run("two_products")
    assert layers(done).keys() == {"first", "second"} and done["macs"] == 16 * 32 * 24 + 16 * 24 * 8
    assert done["cycles_total"] > done["macs"] // 64  # an array of 8x8 can do no better


def test_technology(command: Command, run: Run, home: Path) -> None:
    """What multiplies 8-bit integers takes twice the energy, and nothing else."""
    assert "n6" in command("show", "technologies")
    plain = home / "plain.yaml"
    plain.write_text((home / "configs" / "accelerators" / "mine.yaml").read_text().replace("node: n6", "node: 7nm"))
    theirs, ours = (run("two_products", on=chip) for chip in (str(plain), "mine"))
    apart = {
        part: ours["energy_breakdown_j"][part] - energy
        for part, energy in theirs["energy_breakdown_j"].items()
        if ours["energy_breakdown_j"][part] != pytest.approx(energy, rel=1e-9)
    }
    assert ours["cycles_total"] == theirs["cycles_total"] and apart.keys() == {"mxu"}
    assert apart["mxu"] == pytest.approx(0.07e-12 * ours["macs"])


def test_dram_standard(command: Command, run: Run) -> None:
    """Commands of DRAM of its own, at the speed of the standard: 6.4 GB/s, and rows that are opened."""
    assert "ddr3_800" in command("show", "dram")
    found = run("two_products")["dram"]
    assert found["peak_bytes_per_s"] == 6_400_000_000 and 0 < found["row_hit_rate"] < 1
    assert "800 MT/s" in command("run", "two_products", "--on", "mine", "--set", "dram.speed=900 MT/s", code=2)


def test_topology(command: Command) -> None:
    """A ring of 8 with a chord at each router: 12 pairs of links, routes of which none blocks another."""
    assert "chordal_ring" in command("show", "topologies")
    found = json.loads(
        command("noc", "--topology", "chordal_ring", "--shape", "8", "--rates", "0.1", "--format", "json")
    )
    assert found["link_count"] == 24 and found["points"][0]["stable"]


def test_operator(run: Run, home: Path, command: Command) -> None:
    make = onnx.helper
    nodes = [
        make.make_node("Conv", ["x", "w"], ["c"], name="conv", kernel_shape=[3, 3]),
        make.make_node("Twice", ["c"], ["y"], name="double"),
    ]
    weights = make.make_tensor("w", onnx.TensorProto.FLOAT, (4, 4, 3, 3), [0.0] * 144)
    shapes = {"x": (1, 4, 8, 8), "y": (1, 4, 6, 6)}
    infos = {name: make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = make.make_graph(nodes, "twice", [infos["x"]], [infos["y"]], [weights])
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 13)]), home / "twice.onnx")
    double = layers(run("twice.onnx"))["double"]
    assert double["op"] == "Twice" and double["cycles_total"] > 0
    assert "Twice" in command("show", "operators")


def test_dataflow(command: Command, run: Run, home: Path) -> None:
    """A windowed one: cycles and MACs are those calculated by hand in ``test_windowed_dataflow``; ``verify`` passes."""
    assert windowed.WINDOWED in command("show", "dataflows")
    for name, text in (("pes.yaml", windowed.CHIP), ("conv.csv", windowed.MODEL), ("whole.yaml", windowed.WHOLE)):
        (home / name).write_text(text)
    done = run("conv.csv", "--mapping", "whole.yaml", on="pes.yaml")
    assert (done["cycles_total"], done["macs_array"]) == (windowed.RUN, windowed.MACS)
    assert "verified" in command("verify", "conv.csv", "--on", "pes.yaml")
    before = done["provenance"]["extensions_sha256"]
    file = home / "plugins" / "dataflows" / f"{windowed.WINDOWED}.py"
    file.write_text(file.read_text() + "# another text\n")
    again = run("conv.csv", "--mapping", "whole.yaml", on="pes.yaml")["provenance"]
    assert again["extensions_sha256"] != before and again["chip_sha256"] == done["provenance"]["chip_sha256"]


def test_mapping_search(command: Command, run: Run) -> None:
    """Legal mappings that compute the model, no better than the best; the result says which search made them."""
    assert "restarts" in command("show", "searches")
    best, found = run("two_products"), run("two_products", "--search", "restarts", "--seed", "7")
    assert found["provenance"]["options"]["search"] == "restarts" and "search" not in best["provenance"]["options"]
    predicted = [summary["details"]["predicted"] for summary in (best, found)]
    for name in ("first", "second"):
        assert predicted[1][name]["proof"] == "search 'restarts': best of 12 drawn"
        assert predicted[0][name]["proof"].startswith("optimal")
    assert run("two_products", "--search", "restarts", "--seed", "7") == found
    assert "verified" in command("verify", "tiny.net", "--on", "mine", "--search", "restarts")


def test_design_search(command: Command, home: Path) -> None:
    """The four corners of a grid of six points."""
    import pandas as pd

    assert "corners" in command("show", "explore")
    command("sweep", "sweep.yaml", "--out", "out", "-j", "1")
    table = pd.read_parquet(home / "out" / "results.parquet")
    cheap = table[table["fidelity"] == "cost"]
    assert set(cheap["status"]) == {"ok"}
    assert set(zip(cheap["l1.size"], cheap["clock"], strict=True)) == {
        (size, clock) for size in (8 << 10, 32 << 10) for clock in (500e6, 1e9)
    }


def test_front_end(command: Command, run: Run) -> None:
    assert ".net" in command("show", "frontends")
    done = run("tiny.net", "--batch", "4")
    assert done["macs"] == 4 * (32 * 16 + 16 * 8)
    assert "2 layers" in command("check", "tiny.net")
    told = command("verify", "tiny.net", "--on", "mine")
    assert "verified" in told and "the model's own" in told
    assert "has no parameters to set" in command("run", "tiny.net", "--on", "mine", "--parameter", "a=1", code=2)


def test_graph_pass(command: Command, run: Run, home: Path) -> None:
    """One ReLU of two: a layer less, which the result says."""
    order = [line.split()[0] for line in command("show", "passes").splitlines()]
    assert order[0] == "infer"
    assert order.index("alias") < order.index("drop_repeats") < order.index("fuse") < order.index("lookups")
    short = run("tiny.net")
    (home / "plugins" / "passes" / "drop_repeats.py").unlink()
    whole = run("tiny.net")
    assert list(layers(whole)) == ["d1", "r2", "d2"] and list(layers(short)) == ["d1", "d2"]
    said = "graph pass 'drop_repeats' is a plugin and took part: of 4 nodes it left 3"
    assert said in short["provenance"]["warnings"] and said not in whole["provenance"]["warnings"]
    assert short["provenance"]["model_sha256"] != whole["provenance"]["model_sha256"]


def test_stall_cause(tmp_path: Path) -> None:
    """A row of the table of causes: an engine names it, and every output shows it."""
    check_cause(tmp_path)


def test_figure(tmp_path: Path) -> None:
    """A row of the table of figures: runs and estimates have it, and every output shows it."""
    check_figure(tmp_path)


POLICY = '''"""Operands are copied whole first."""

from fractions import Fraction

from mapper.policies.catalogue import LayerRestriction, ScheduleRestriction


def restrict(workload, chip):
    """All products."""
    return ScheduleRestriction({layer.name: LayerRestriction(prefetch=Fraction(1)) for layer in workload.layers})
'''


def test_schedule_policy(command: Command, home: Path) -> None:
    """What a policy leaves is searched and simulated, by its name."""
    (home / "plugins" / "policies").mkdir()
    (home / "plugins" / "policies" / "whole_operands.py").write_text(POLICY)
    assert "whole_operands" in command("show", "policies")
    asked = ("run", "gemm", "--on", "edge_npu", "--parameter", "m=512", "--parameter", "k=512", "--parameter", "n=512")
    cycles = {
        schedule: json.loads(command(*asked, "--schedule", schedule, "--format", "json"))["cycles_total"]
        for schedule in ("whole_operands", "best")
    }
    assert cycles["best"] < cycles["whole_operands"]


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("plugins/operators/twice.py", "nothing reads the folder"),
        ("plugins/twice.py", "nothing reads the file"),
        ("plugins/ops/twice.yaml", "nothing reads"),
        ("configs/accelerator/x.yaml", "did you mean 'accelerators'"),
        ("configs/workloads/x.yml", "files that end in .yaml"),
        ("plugins/accelerators/x.yaml", "list its directory in ARCHSIM_CONFIGS too"),
    ],
)
def test_what_nothing_reads_is_refused_by_every_command(command: Command, home: Path, place: str, says: str) -> None:
    (home / place).parent.mkdir(exist_ok=True)
    (home / place).write_text("")
    for arguments in (
        ("show", "schema"),
        ("check", str(GOLDEN / "chip.yaml")),
        ("run", "two_products", "--on", "mine"),
    ):
        said = command(*arguments, code=2)
        assert says in said and len(said.splitlines()) == 1


def test_without_the_directories_nothing_of_it_is_known(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (PLUGINS_VARIABLE, CONFIGS_VARIABLE):
        monkeypatch.delenv(variable)
    assert "no chip 'mine'" in command("run", "resnet50", "--on", "mine", code=2)
    assert "unknown format" in command("run", "./tiny.net", "--on", "edge_npu", code=2)
    assert "no mapping search 'restarts'" in command(
        "map", "eye_tracking", "--on", "edge_npu", "--search", "restarts", code=2
    )
