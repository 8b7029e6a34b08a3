"""Schedule policies: what they leave of schedules, how that is searched, judged and lowered, and kernels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import archsim as ax
from archsim.base.errors import ConfigError, MappingError
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.forms.mapping import mapping_to_yaml
from archsim.ir.forms.mapping_text import mapping_to_text
from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.ir.program import Command
from archsim.lab.api import load_model
from archsim.lab.run.estimate import estimated
from archsim.lab.run.job import BuiltJob, Job, build
from archsim.lab.run.net import caught
from archsim.spec.load import load
from archsim.system import simulate
from mapper.given.judge import broken
from mapper.layers import Layers
from mapper.options import Options, resolve_dtypes
from mapper.policies import catalogue, library
from mapper.problem.core_partition import spread_of
from mapper.problem.menu import tiles_of
from mapper.problem.prefetched import prefetched, whole_bytes

CHIP = "tpu_v6e"
US = 10**6
LARGE = {"m": 8192, "n": 1024, "k": 5120}  # 84 MB of inputs and 10 MB of weights


def built(model: str = "gemm", chip: str = CHIP, schedule: str = "platform", **parameters: int) -> BuiltJob:
    """A workload on a chip's platform."""
    return build(Job(model, chip, parameters=parameters, schedule=schedule))


def kept_first(mapping: LayerMapping) -> set[str]:
    """Operands whose tiles are kept above all loops in time."""
    timed = [index for index, node in enumerate(mapping.nodes) if isinstance(node, Loop) and not node.axis]
    return {node.operand for node in mapping.nodes[: min(timed, default=None)] if isinstance(node, Keep)}


def mapping_of(found: BuiltJob) -> LayerMapping:
    """The mapping of its only layer."""
    assert found.mapping is not None
    (only,) = found.mapping.layers
    return only


def test_the_policies_that_there_are() -> None:
    assert catalogue.names() == ("framework", "library", "xla")
    with pytest.raises(ConfigError, match="did you mean 'xla'"):
        catalogue.get("xlaa")


def test_xla_copies_whole_what_fits() -> None:
    """Both operands of a small product; of a large one the larger, while the other one and the result stream."""
    assert {"a", "b"} <= kept_first(mapping_of(built(m=512, n=1024, k=1024)))
    assert {"a", "b"} & kept_first(mapping_of(built(**LARGE))) == {"a", "b"}
    assert {"a", "b"} & kept_first(mapping_of(built(**(LARGE | {"n": 8192})))) == {"a"}
    assert not {"a", "b"} & kept_first(mapping_of(built(m=16384, n=16384, k=8192)))


def test_nothing_is_computed_before_what_is_copied_first_is_there() -> None:
    """In the machine: the first product starts when the last byte of both operands has come."""
    found = built(m=512, n=1024, k=1024)
    activity = simulate(found.program, found.architecture)
    loads = [row for row in activity.records["core[0].load"] if row.end_ps > row.start_ps]
    first = next(row for row in activity.records["core[0].array"] if row.macs)
    assert first.start_ps >= max(row.end_ps for row in loads)
    other = built(m=512, n=8192, k=1024, schedule="best")
    activity = simulate(other.program, other.architecture)
    first = next(row for row in activity.records["core[0].array"] if row.macs)
    assert first.start_ps < max(row.end_ps for row in activity.records["core[0].load"])


def test_a_product_of_one_row_runs_on_the_vector_unit() -> None:
    assert mapping_of(built(m=1, n=2048, k=1024)).unit == "vpu"
    assert mapping_of(built(m=2, n=2048, k=1024)).unit == "mxu"


def test_what_is_prefetched_fills_the_share_that_the_platform_states() -> None:
    """The largest operands first, as far as they fit; without a share none."""
    chip = load(CHIP)
    workload = load_model("gemm", parameters=LARGE)
    layers = Layers(workload, chip, resolve_dtypes(chip, {}), Options(policy="xla"))
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    sizes = {plan.name: whole_bytes(problem, plan) for plan in problem.operands if plan.name in ("a", "b")}
    assert sizes == {"a": 2 * 8192 * 5120, "b": 2 * 5120 * 1024}
    room = problem.capacity["vmem"]
    assert prefetched(problem, None) == frozenset()
    assert prefetched(problem, Fraction(sizes["a"], room)) == {"a"}
    assert prefetched(problem, Fraction(sizes["a"] - 1, room)) == {"b"}
    assert prefetched(problem, Fraction(sizes["a"] + sizes["b"], room)) == {"a", "b"}


def test_operands_that_are_converted_are_prefetched_with_what_they_are_made_of() -> None:
    """They come in as they are stored and are made whole before the product: both forms lie there, of what a core has.
    What fits is judged here for the whole layer."""
    sizes = {"m": 256, "n": 512, "k": 1024}
    job = Job("gemm", "tpu_v4", parameters=sizes, schedule="platform", dtype="fp16")
    found = build(job)
    assert kept_first(mapping_of(found)) >= {"a", "b"}
    rings = {ring.name.partition("[")[0]: (ring.slot_bytes, ring.slots, ring.dtype) for ring in found.program.rings}
    whole = {"a": 256 * 1024, "b": 512 * 1024}
    halves = [name for name, count in whole.items() if rings[f"gemm@{name}@stored"] == (count, 1, "fp16")]
    assert len(halves) == 1  # of the operand that moves with the dim which is spread over both cores
    for name, count in whole.items():
        elements = count // 2 if name in halves else count
        assert rings[f"gemm@{name}@stored"] == (2 * elements, 1, "fp16")
        assert rings[f"gemm@{name}"] == (4 * elements, 1, "fp32")
    chip = load("tpu_v4")
    dtypes = resolve_dtypes(chip, dict.fromkeys(("inputs", "weights", "outputs"), "fp16"))
    layers = Layers(load_model("gemm", parameters=sizes), chip, dtypes, Options(policy="xla"))
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    room = problem.capacity["vmem"]
    assert prefetched(problem, Fraction(6 * 1024 * 512, room)) == {"b"}
    assert prefetched(problem, Fraction(6 * 1024 * 512 - 1, room)) == {"a"}
    assert prefetched(problem, Fraction(6 * 1024 * (256 + 512), room)) == {"a", "b"}


@pytest.mark.parametrize(("chip", "dtype"), [("tpu_v4", "fp16"), ("tpu_v6e", "fp8"), ("tpu_v6e", "w=int4/128:bf16")])
def test_a_product_of_one_row_in_a_converted_format_runs_on_the_array(chip: str, dtype: str) -> None:
    """The vector unit, which the policy takes for it, multiplies no such formats."""
    job = Job("gemm", chip, parameters={"m": 1, "n": 512, "k": 512}, schedule="platform", dtype=dtype)
    assert mapping_of(build(job)).unit == "mxu"
    assert mapping_of(built(chip=chip, m=1, n=512, k=512)).unit == "vpu"


def test_a_mapping_that_breaks_the_policy_is_told() -> None:
    """What a cache has kept, and a file states, is judged by what the policy leaves."""
    chip = load(CHIP)
    workload = load_model("gemm", parameters=LARGE)
    layers = Layers(workload, chip, resolve_dtypes(chip, {}), Options(policy="xla"))
    rules = layers.rules["gemm"]
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    free = mapping_of(built(schedule="layers", **LARGE))
    assert free.unit == "mxu" and kept_first(free) != {"a", "b"}
    assert any("is not copied whole first" in text for text in broken(problem, free, rules))
    assert broken(problem, mapping_of(built(**LARGE)), rules) == []
    assert rules.place == "policy 'xla'"


GPU = {"platform": "llmcompass"}
SIZES = [
    {"m": 512, "n": 256, "k": 128},
    {"m": 1000, "n": 500, "k": 300},
    {"m": 8, "n": 4096, "k": 512},
    {"m": 5, "n": 3, "k": 2},
]


def layers_of(model: str = "gemm", values: dict[str, object] | None = None, **parameters: int) -> Layers:
    """A workload on A100's platform."""
    chip = load("a100", {**GPU, **(values or {})})
    return Layers(load_model(model, parameters=parameters), chip, resolve_dtypes(chip, {}), Options(policy="library"))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_library_cuts_products_into_tiles_of_its_menu(sizes: dict[str, int]) -> None:
    """A core's tiles are those of one entry, and its part has whole ones of them; small products have smaller ones."""
    layers = layers_of(**sizes)
    found = layers.map().mappings[0]
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    tiles = {**sizes}
    for loop in (node for node in found.nodes if isinstance(node, Loop)):
        assert loop.axis or loop.tile <= tiles[loop.dim]
        tiles[loop.dim] = loop.tile
    fitting = [entry for entry in library.TILES if tiles_of(problem, entry).items() <= tiles.items()]
    assert fitting and all(tiles[dim] == min(most, sizes[dim]) for dim, most in zip("mnk", fitting[0], strict=True))
    for loop in (node for node in found.nodes if isinstance(node, Loop) and node.axis):
        assert loop.tile % tiles[loop.dim] == 0 or loop.tile == sizes[loop.dim]


def test_a_library_runs_convolutions_in_whole_rows() -> None:
    """Of several dims of output rows the innermost are whole; sums over filter taps are cut as the search likes."""
    layers = layers_of("conv", batch=2, height=30, width=30, channels=64, filters=256, kernel=3, pad=1)
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    tiles = tiles_of(problem, (128, 64, 32))
    dims = problem.groups["M"]
    assert tiles[dims[-1]] == problem.dims[dims[-1]] and 1 < tiles[dims[-2]] < problem.dims[dims[-2]]
    assert tiles[problem.groups["N"][-1]] == 64
    assert not set(problem.groups["K"]) & set(tiles)


def test_a_library_works_element_by_element_in_blocks() -> None:
    """Blocks of a power of two of elements, whole ones on each core; rows that are summed over have none."""
    (found,) = layers_of("gelu", elements=1_000_000).map().mappings
    loops = [node for node in found.nodes if isinstance(node, Loop)]
    least = min(loop.tile for loop in loops)
    assert least & (least - 1) == 0 and least >= 256 and all(loop.tile % least == 0 for loop in loops)
    assert not layers_of("softmax", rows=64, cols=512).rules["softmax"].menu


def test_a_mapping_off_the_menu_is_told() -> None:
    """What a cache has kept is judged by the menu too."""
    sizes = {"m": 1000, "n": 500, "k": 300}
    layers = layers_of(**sizes)
    problem = layers.problem(0, layers.residency(frozenset()), "array")
    mine = LayerMapping("gemm", "tensor_cores", "matmul", (Loop("m", 100), Loop("n", 100)), (), 0, 0, 0, "")
    assert broken(problem, mine, layers.rules["gemm"]) == ["its tiles are none of the menu"]
    part = problem.of_core(spread_of(problem, layers.architecture, [("m", 100)]))
    assert broken(part, replace(mine, nodes=()), layers.rules["gemm"]) == ["its tiles are none of the menu"]


def test_constraints_and_a_menu_hold_together(tmp_path: Path) -> None:
    """What a constraint states narrows the menu; what comes of it, kept or in a file, gives the same Program."""
    path = tmp_path / "c.yaml"
    text = "schema: archsim.mapping/2\nconstraints:\n- {layers: gemm, tiles: {m: TILE}}\n"
    job = Job("gemm", "a100", parameters={"m": 20000, "n": 64, "k": 64}, values=GPU, schedule="platform", mapping=path)
    path.write_text(text.replace("TILE", "64"))
    found = build(job)
    assert min(node.tile for node in mapping_of(found).nodes if isinstance(node, Loop) and node.dim == "m") == 64
    assert print_program(build(job).program) == print_program(found.program)
    assert found.mapping is not None
    path.write_text(mapping_to_yaml(found.mapping))
    assert print_program(build(job).program) == print_program(found.program)
    path.write_text(text.replace("TILE", "100"))
    with pytest.raises(MappingError, match="layer 'gemm': no tiles of the menu are 100 of 'm'"):
        build(job)


def test_only_entries_that_fit_are_taken() -> None:
    """Sums of 128 x 256 have no room twice; where nothing fits the memory and what it lacks are named."""
    assert layers_of(m=2048, n=2048, k=64).map()
    with pytest.raises(MappingError, match="policy 'library': layer 'gemm' .*no tiling fits 'accumulators'"):
        layers_of(values={"accumulators.size": "2 KiB"}, m=2048, n=2048, k=64).map()


def test_law_58_a_library_is_among_the_best() -> None:
    """Law 58: what the menu leaves is a candidate of the best schedule."""
    sizes = {"m": 512, "n": 512, "k": 256}
    best, platform = (
        ax.run("gemm", "a100", platform="llmcompass", parameters=sizes, schedule=schedule).summary["cycles_total"]
        for schedule in ("best", "platform")
    )
    assert best <= platform


def test_a_launch_names_what_its_kernel_does() -> None:
    """So that a platform's times by operator hold; a model that is launched as one names nothing."""
    found = built("ffn_erf", schedule="layers", tokens=64).program
    (host,) = (queue for queue in found.queues if queue.name == "host")
    launches = [command for command in host.body if isinstance(command, Command) and command.op == "HOST"]
    assert [(command.name, command.function) for command in launches] == [
        ("expand.launch", "Einsum"),
        ("contract.launch", "Einsum"),
    ]
    assert parse_program(print_program(found), "again.asm").queues == found.queues


@pytest.mark.parametrize(("schedule", "launches"), [("layers", 2), ("framework", 2), ("xla", 1)])
def test_each_layer_is_a_kernel_unless_the_policy_makes_them_one(schedule: str, launches: int) -> None:
    """A kernel begins when the one before has ended, and the floor has passed; in one kernel nothing waits for that."""
    found = built("ffn_erf", schedule=schedule, tokens=64)
    activity = simulate(found.program, found.architecture)
    rows = [row for name, of in activity.records.items() if name != "host" for row in of if row.end_ps > row.start_ps]
    spans = {
        layer: (
            min(row.start_ps for row in rows if row.layer == layer),
            max(row.end_ps for row in rows if row.layer == layer),
        )
        for layer in ("expand", "contract")
    }
    assert activity.counts["_host", "host", "launches"] == launches
    gap = spans["contract"][0] - spans["expand"][1]
    assert gap >= 1.6 * US if launches > 1 else gap < 0


def test_queues_that_a_kernel_does_not_use_learn_nothing_from_its_launch() -> None:
    """What fills the borders of a tensor that stays on chip is no kernel: it waits for who used the bytes before."""
    values = {"vmem.size": "4 MiB", "hbm.channels": 8}
    found = build(Job("alexnet", "tpu_v3", values=values, schedule="layers"))
    check(found.program, found.architecture)


def test_a_mapping_file_names_the_policy_that_it_obeys(tmp_path: Path) -> None:
    """Read back it gives the same Program, with the same kernels."""
    found = built("ffn_erf", tokens=64)
    assert found.mapping is not None and found.mapping.schedule == "xla"
    dims = {layer.name: layer.dims for layer in load_model("ffn_erf", parameters={"tokens": 64}).layers}
    texts = {"mapping.yaml": mapping_to_yaml(found.mapping), "mapping.txt": mapping_to_text(found.mapping, dims)}
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text)
        job = Job("ffn_erf", CHIP, parameters={"tokens": 64}, mapping=path, schedule="best")
        assert print_program(build(job).program) == print_program(found.program)
        assert print_program(build(replace(job, schedule="platform")).program) == print_program(found.program)
        with pytest.raises(ConfigError, match=rf"{name}:\d+.*: schedule: found 'xla' beside --schedule framework"):
            build(replace(job, schedule="framework"))
        path.write_text(text.replace("xla", "xlaa", 1))
        with pytest.raises(
            ConfigError, match="schedule: found 'xlaa'; allowed framework, library, xla .did you mean 'xla'"
        ):
            build(job)


def test_a_constraint_that_a_policy_does_not_allow_is_told(tmp_path: Path) -> None:
    path = tmp_path / "lanes.yaml"
    path.write_text("schema: archsim.mapping/1\nconstraints:\n  - {layers: gemm, units: [vpu]}\n")
    job = Job("gemm", CHIP, parameters={"m": 64, "n": 512, "k": 512}, mapping=path)
    assert mapping_of(build(replace(job, schedule="layers"))).unit == "vpu"
    with pytest.raises(MappingError, match=r"lanes.yaml:3:\d+: constraints\[0\]: units vpu; policy 'xla' allows mxu"):
        build(replace(job, schedule="platform"))


@pytest.mark.usefixtures("net")
def test_what_was_kept_of_a_network_with_a_policy_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARCHSIM_CACHE", str(tmp_path))
    job = Job("gemm", CHIP, parameters={"m": 96, "n": 96, "k": 96}, net=True)
    first = caught(job)
    assert "platform" in first.net["tried"]
    monkeypatch.setattr("archsim.lab.run.net._Trial.best", lambda _: pytest.fail("tried again"))
    assert caught(job).net == first.net


def test_blocks_of_kernels_are_repeated_in_the_steady_state() -> None:
    """What a queue waits for a launch belongs to the kernel's layer, so a block is found in every queue."""
    chip = {"host.per": "kernel", "host.floor": "20 us"}
    cycles = [
        ax.run("bert_base", "edge_npu", set=chip, schedule="layers", repeat=repeat).summary["cycles_total"]
        for repeat in ("exact", "steady")
    ]
    assert cycles[1] == pytest.approx(cycles[0], rel=1e-3)


@pytest.mark.parametrize(("schedule", "kernels"), [("platform", 1), ("layers", 2)])
def test_the_cost_model_counts_the_kernels_that_run(schedule: str, kernels: int) -> None:
    keys = {"platforms.xla.host.floor": "100 us"}
    job = Job("ffn_erf", CHIP, parameters={"tokens": 64}, schedule=schedule, values=keys)
    simulated = ax.run("ffn_erf", CHIP, parameters={"tokens": 64}, schedule=schedule, set=keys).summary["latency_s"]
    expected = estimated(job)["latency_s"]
    assert expected == pytest.approx(simulated, rel=0.1)
    assert round(expected / 100e-6) == kernels - 1
