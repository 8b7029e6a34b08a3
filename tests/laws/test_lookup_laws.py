"""Laws of compiled look-ups: every way to map them computes the model, counts what the machine counts, costs rows."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from archsim.base.errors import ConfigError
from archsim.frontend.load import import_model
from archsim.graph.lowering.lower import lower_graph
from archsim.ir.check.program import check
from archsim.ir.check.workload import check_workload
from archsim.ir.graph import Graph
from archsim.ir.indices import Indices
from archsim.ir.streams import entries
from archsim.ir.text import workload_from_yaml
from archsim.lab.run.offchip import outer_rates
from archsim.spec.architecture import ROLES, Architecture
from archsim.spec.memories import Cache
from archsim.system import simulate
from mapper.compile import Options, compile_model
from mapper.execute.run import Executor
from tests.laws.test_cores_laws import SHAPES, networked
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.fuzz import run_case, run_graph
from tests.tools.graphs import Writer
from tests.tools.layers import PART, small_chip
from tests.tools.small_recommendation import WIDTH, written

CASES = range(24)
CHIPS = ("plain", "cached", "staged", "cores", "staged cores", "cached staged")


def patterned(pick: random.Random, rows: int, count: int) -> str | tuple[int, ...]:
    """An access pattern as a node has it."""
    kind = pick.choice(["uniform", "zipf", "trace"])
    if kind == "trace":
        return tuple(pick.randrange(rows) for _ in range(count))
    return (
        f"uniform(seed={pick.randrange(99)})" if kind == "uniform" else f"zipf(exponent=1.25, seed={pick.randrange(9)})"
    )


def looked_up(seed: int) -> Graph:
    """Rows of a constant or of what a layer made, along any axis, then nothing, a sum, a product or a vector layer."""
    pick = random.Random(seed)
    to = Writer(pick)
    shape = tuple(pick.randint(1, 7) for _ in range(pick.randint(1, 2)))
    indices = to.source("i", shape)
    width, rows = pick.randint(1, 9), pick.randint(2, 40)
    axis = pick.choice([0, 0, 0, 1])
    table_shape = (rows, width) if axis == 0 else (width, rows)
    table = to.weight(table_shape) if pick.random() < 0.7 else to.add("Relu", to.source("x", table_shape))
    pattern = patterned(pick, rows, int(np.prod(shape)))
    to.add("GatherRows", table, indices, axis=axis, indices=pattern)
    then = pick.choice(["", "Relu", "ReduceSum", "MatMul", "Add"])
    if then == "ReduceSum":
        to.add(then, to.last, to.ints(1), keepdims=0)
    elif then == "MatMul":
        to.add(then, to.last, to.weight((to.shape[-1], pick.randint(1, 6))))
    elif then == "Add":
        to.add(then, to.last, to.weight(to.shape[-1:]))
    elif then:
        to.add(then, to.last)
    return to.graph()


def pooled(seed: int) -> Graph:
    """Rows of a constant or of what a layer made, perhaps with a weight each, and what reduces them along axes of the
    indices; then nothing, an activation or a product.
    """
    pick = random.Random(seed)
    to = Writer(pick)
    shape = (pick.randint(1, 14), *(pick.randint(1, 5) for _ in range(pick.randint(0, 2))))
    indices, width, rows, axis = to.source("i", shape), pick.randint(1, 9), pick.randint(2, 40), pick.choice([0, 0, 1])
    table_shape = (rows, width) if axis == 0 else (width, rows)
    table = to.weight(table_shape) if pick.random() < 0.7 else to.add("Relu", to.source("x", table_shape))
    pattern = patterned(pick, rows, int(np.prod(shape)))
    to.add("GatherRows", table, indices, axis=axis, indices=pattern)
    op = pick.choice(["ReduceSum", "ReduceMean", "ReduceMax"])
    if op == "ReduceSum" and pick.random() < 0.5:
        wide = (*shape, 1) if axis == 0 else (1, *shape)
        weights = to.weight(wide) if pick.random() < 0.5 else to.source("w", wide)
        to.add("Mul", *(pick.sample([to.last, weights], 2)))
    bag = sorted(pick.sample(range(axis, axis + len(shape)), pick.randint(1, len(shape))))
    to.add(op, to.last, to.given(np.asarray(bag)), keepdims=pick.randint(0, 1))
    then = pick.choice(["", "Relu", "MatMul"])
    if then == "MatMul":
        to.add(then, to.last, to.weight((to.shape[-1], pick.randint(1, 6))))
    elif then:
        to.add(then, to.last)
    return to.graph()


def a_chip(seed: int, cached: bool = False) -> Architecture:
    """A small chip whose DRAM keeps tables, with descriptor costs, and perhaps a cache."""
    pick = random.Random(seed)
    rate = pick.choice([Fraction(8), Fraction(3), None])
    plain = small_chip(
        1 << pick.randint(8, 12), 1 << 9, dram_rate=rate, word=pick.choice([1, 4]), banks=pick.choice([1, 8])
    )
    dma = replace(
        plain.dma,
        setup_cycles=pick.choice([0, 7]),
        run_setup_cycles=pick.choice([0, 5]),
        row_setup_cycles=pick.choice([0, 0, 3, 40]),
        outstanding=pick.choice([None, 1, 4]),
    )
    memories = (replace(plain.memories[0], keeps=ROLES), *plain.memories[1:])
    found = replace(plain, memories=memories, dma=dma)
    if not cached:
        return found
    line = pick.choice([4, 16, 64])
    ways, sets = pick.choice([1, 2, 8]), pick.choice([1, 3, 4])
    fields = {"capacity_bytes": line * ways * sets, "line_bytes": line, "ways": ways, "hit_cycles": pick.choice([0, 9])}
    kept = ("inputs", "tables")
    cache = Cache(name="rows", kind="cache", keeps=kept, slots={}, filled_by="cache", word_bytes=4, **fields, **PART)
    return replace(found, caches=(cache,))


def further(chip: Architecture, what: str, case: int) -> Architecture:
    """The chip with a memory on the way ("staged"), with several cores ("cores"), and with several channels."""
    if "staged" in what:
        stage = replace(chip.memories[1], name="l2", capacity_bytes=1 << 13, keeps=ROLES[: 2 + case % 2])
        chip = replace(chip, memories=(chip.memories[0], stage, *chip.memories[1:]))
    if "cores" in what:
        chip = networked(chip, *SHAPES[case % len(SHAPES)])
    return replace(chip, dma=replace(chip.dma, channels=1 + case % 3))


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_law_42_look_ups_compute_the_model(case: int, cached: bool) -> None:
    """Law 42 with laws 38, 43 and 45: look-ups of any table under any legal mapping, with a cache and without, compute
    the model in integers and real numbers; the compiler's counts are the machine's as integers, its bound is not above
    the simulation, the assembly round-trips.
    """
    run_graph(looked_up(case), a_chip(case, cached), "" if case % 3 == 0 else str(case), case)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", CASES)
def test_law_42_bags_of_rows_compute_the_model(case: int, chip: str) -> None:
    """Law 42 with laws 38 and 43: rows that are pooled are read through the stream by the command that pools them, with
    a cache, through memories on the way, which one core has or several share, and under any legal mapping.
    """
    found = further(a_chip(case, "cached" in chip), chip, case)
    outcome = run_graph(pooled(case), found, "" if case % 3 == 0 else str(case), case)
    assert "EmbeddingBag" in outcome.operators and "GatherRows" not in outcome.operators


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("case", range(8))
def test_law_42_rows_are_cut_where_a_bag_has_no_room(case: int, chip: str) -> None:
    """Law 42 with laws 38 and 43: where the rows that a command pools at once have no room, it takes a part of each,
    and no other core takes the rest; where they have room none is cut.
    """
    bag, width = 30 + case, 8 + case % 3
    to = Writer(random.Random(case))
    table = to.weight((60, width))
    to.add("GatherRows", table, to.source("i", (5, bag)), axis=0, indices=f"uniform(seed={case})")
    to.add(("ReduceSum", "ReduceMean", "ReduceMax")[case % 3], to.last, to.ints(1), keepdims=0)
    graph = to.graph()
    for room in (1 << 12, bag * width):
        found = a_chip(case, "cached" in chip)
        inner = replace(found.memories[1], capacity_bytes=room)
        found = further(replace(found, memories=(found.memories[0], inner, *found.memories[2:])), chip, case)
        compiled = compile_model(lower_graph(graph, batch=1, sha256="").workload, found, Options())
        (frame,) = [frame for frame in compiled.frames if frame is not None]
        assert ("d2" in {loop.dim for loop in frame.loops}) == (room < 1 << 12)
        assert "d2" not in {loop.dim for loop in frame.loops[: frame.spread]}
        run_graph(graph, found, str(case) if case % 2 else "", case)


@pytest.mark.parametrize("case", CASES)
def test_law_38_bounds_of_look_ups_are_admissible(case: int) -> None:
    """Law 38: with the rates of the DRAM known to the compiler, its bound of each layer is not above the simulation."""
    chip = a_chip(case, cached=case % 2 == 1)
    workload = lower_graph(looked_up(case), batch=1, sha256="").workload
    options = Options(outer=outer_rates(chip), random="" if case % 3 else str(case))
    compiled = compile_model(workload, chip, options)
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)
    for layer in compiled.mapping.layers:
        records = [record for queue in activity.records.values() for record in queue if record.layer == layer.layer]
        span_ps = max(record.end_ps for record in records) - min(record.start_ps for record in records)
        assert layer.bound_cycles * 1000 <= span_ps


FUSED = """
schema: archsim.einsums/1
name: bags
batch: 1
parameters: 800
tensors:
  t: weight [100, 8]
  y: output [6, 8]
layers:
- name: bag
  op: Bag
  kind: vector
  dims: {b: 6, l: 5, c: 8}
  inputs:
  - in0 = t(5*b+l, c) as tables rows 0 zipf(exponent=1, seed=6)
  output: out = y(b, c) as outputs
  steps:
  - add passes 1
"""


@pytest.mark.parametrize("seed", ["", "1", "2", "3", "4"])
def test_law_42_a_vector_layer_may_look_its_operand_up(seed: str) -> None:
    """Law 42: rows come straight into the ring of the command that adds them up; no row is cut."""
    workload = workload_from_yaml(FUSED)
    check_workload(workload)
    chip = a_chip(5)
    compiled = compile_model(workload, chip, Options(random=seed))
    check(compiled.program, chip)
    assert "GATHER" in {record.op for record in simulate(compiled.program, chip).records["core[0].load"]}
    table = np.random.default_rng(0).integers(-9, 9, (100, 8))
    rows = entries(Indices("zipf", 6, 1.0), 100, np.arange(30)).reshape(6, 5)
    for order in range(3):
        executor = Executor(compiled.program, seed=order)
        executor.fill("t", table)
        executor.run()
        assert np.array_equal(executor.values("y"), table[rows].sum(axis=1))


@pytest.mark.parametrize("channels", [2, 3])
@pytest.mark.parametrize("case", range(12))
def test_law_42_with_several_channels(case: int, channels: int) -> None:
    """Law 42 with laws 38 and 43: random networks, and look-ups, whose moves are spread over several load and store
    queues, under random legal mappings.
    """
    chip = a_chip(case, cached=case % 2 == 1)
    chip = replace(chip, dma=replace(chip.dma, channels=channels))
    run_graph(looked_up(case), chip, str(case), case)
    outcome = run_case(case, orders=2, channels=channels, run_setup_cycles=3 * (case % 2))
    assert outcome.refused or outcome.operators


@pytest.mark.parametrize("case", range(16))
def test_law_38_descriptors_of_runs_are_in_the_bound(case: int) -> None:
    """Law 38: with descriptors that cost more than the bytes, the bound of every layer still is not above its span, and
    for a single layer it is above what the bytes alone would take.
    """
    to = Writer(random.Random(case))
    to.source("x", (case + 3, 40))
    to.add("MatMul", to.last, to.weight((40, 24)))
    workload = lower_graph(to.graph(), batch=1, sha256="").workload
    plain = small_chip(1 << 9, 1 << 9, dram_rate=Fraction(8))
    bounds = []
    for run_setup in (0, 50):
        chip = replace(plain, dma=replace(plain.dma, run_setup_cycles=run_setup))
        compiled = compile_model(workload, chip, Options(outer=outer_rates(chip), random=str(case)))
        (layer,) = compiled.mapping.layers
        assert layer.bound_cycles * 1000 <= simulate(compiled.program, chip).total_ps
        bounds.append(layer.bound_cycles)
    assert bounds[1] > bounds[0]


def test_weights_do_not_stand_behind_inputs() -> None:
    """Two channels: the second layer's weights are loaded while the first layer waits for slots for its inputs."""
    to = Writer(random.Random(0))
    to.source("x", (64, 64))
    to.add("MatMul", to.last, to.weight((64, 64)))
    to.add("MatMul", to.last, to.weight((64, 64)))
    workload = lower_graph(to.graph(), batch=1, sha256="").workload
    one = small_chip(1 << 14, 1 << 12, dram_rate=Fraction(16))
    two = replace(one, dma=replace(one.dma, channels=2))
    alone, both = (simulate(compile_model(workload, chip, Options()).program, chip) for chip in (one, two))
    assert set(both.records) >= {"core[0].load", "core[0].load1", "core[0].store", "core[0].store1"}
    assert {record.role for record in both.records["core[0].load"] if record.op == "MOVE"} == {"weights"}
    assert "weights" not in {record.role for record in both.records["core[0].load1"]}
    assert both.total_ps <= alone.total_ps


EMBEDDING = """
schema: archsim.workload/1
name: words
source: "by definition: a test"
parameters: {{batch: 3}}
layers:
  - embedding: {{name: emb, rows: 5000, dim: {dim}, lookups: [batch, 10], {pattern}}}
"""


def embedded(tmp_path: Path, dim: int = 24, pattern: str = "distribution: uniform, seed: 4") -> Path:
    path = tmp_path / "words.yaml"
    path.write_text(EMBEDDING.format(dim=dim, pattern=pattern))
    return path


@pytest.mark.parametrize("dim", [24, 64, 100])
def test_an_embedding_table_is_only_gathered(tmp_path: Path, dim: int) -> None:
    """What law 20 says of embedding tables: the DRAM reads rows x the bursts that each lies in, not the table."""
    chip = a_chip(1)
    fields = {"standard": "ddr4", "speed_mts": 2400, "width_bits": 64, "bytes_per_cycle": None}
    chip = replace(chip, memories=(replace(chip.memories[0], capacity_bytes=2**30, **fields), *chip.memories[1:]))
    workload = import_model(embedded(tmp_path, dim)).workload
    compiled = compile_model(workload, chip, Options(outer=outer_rates(chip)))
    activity = simulate(compiled.program, chip)
    table = next(tensor for tensor in compiled.program.tensors if tensor.role == "tables")
    first = table.base + entries(Indices("uniform", 4), 5000, np.arange(30)) * dim
    bursts = int(((first + dim - 1) // 64 - first // 64 + 1).sum())
    counts = {action: count for (_, part, action), count in activity.counts.items() if part == "dram"}
    assert (counts["read_bytes"], counts["pin_read_bytes"]) == (30 * dim, 64 * bursts)
    assert counts["pin_read_bytes"] < table.size_bytes / 50


def test_law_45_a_look_up_is_not_free(tmp_path: Path) -> None:
    """Law 45: it takes cycles and moves bytes, with every row in the cache too."""
    workload = import_model(embedded(tmp_path, pattern="trace: [" + ", ".join(["7"] * 30) + "]")).workload
    for cached in (False, True):
        chip = a_chip(0, cached)
        activity = simulate(compile_model(workload, chip, Options()).program, chip)
        assert activity.total_ps > 0 and activity.dram["dram"].read_bytes > 0


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("distribution: zipf", "key 'exponent' is missing"),
        ("distribution: zipf, exponent: -1", "exponent: found -1; allowed 0 or more"),
        ("exponent: 2", "exponent: has no meaning with distribution uniform; allowed with zipf"),
        ("trace: [1, 2]", "its trace has 2 rows up to 2; it looks 30 up"),
        ("trace: no.txt", "trace: trace file .*no.txt cannot be read"),
        ("distribution: normal", "allowed uniform, zipf, trace"),
        ("reduce: max", "allowed none, sum, mean"),
        ("input: nothing", "nothing is called 'nothing'"),
    ],
)
def test_mistakes_in_embeddings(tmp_path: Path, pattern: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as error:
        import_model(embedded(tmp_path, pattern=pattern))
    assert isinstance(error.value, ConfigError) or "emb" in str(error.value)


def test_a_table_of_another_dtype_is_refused(tmp_path: Path) -> None:
    workload = import_model(embedded(tmp_path)).workload
    with pytest.raises(ConfigError, match="gathers rows of bf16 tables as int8 inputs"):
        compile_model(workload, a_chip(1), Options(dtypes={"tables": "bf16"}))


POPULAR = {"uniform": {}, "zipf": {"distribution": "zipf", "alpha": 0.9}}


@pytest.mark.parametrize("kind", POPULAR)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_law_27_tables_of_a_recommendation_model_hit_as_often_as_rows_are_held(
    tmp_path: Path, kind: str, seed: int
) -> None:
    """Law 27: of a table of N rows that a cache of c lines holds in order of use, each look-up hits with the
    probability of the rows that are held before it; hits of all are within 3 standard deviations of their sum. Uniform
    ones, once c rows have been seen: c / N.
    """
    rows, held, batch, pooling = 200, 64, 256, 4
    sizes = {"num_embeddings_per_feature": [rows], "multi_hot_sizes": [pooling]}
    asked = {"batch": batch, "seed": seed, **POPULAR[kind]}
    workload = import_model(written(tmp_path, **sizes), parameters=asked).workload
    line = WIDTH
    cache = Cache(
        name="rows", kind="cache", keeps=("tables",), slots={}, filled_by="cache", word_bytes=4,
        capacity_bytes=line * held, line_bytes=line, ways=held, hit_cycles=1, **PART,
    )  # fmt: skip
    chip = replace(a_chip(2), caches=(cache,))
    activity = simulate(compile_model(workload, chip, Options()).program, chip)
    (lookup,) = (operand.rows.indices for layer in workload.layers for operand in layer.inputs if operand.rows)
    drawn = entries(lookup, rows, np.arange(batch * pooling)).tolist()
    weights = np.arange(1, rows + 1) ** -(0.9 if kind == "zipf" else 0.0)
    shares, recent, hopes = weights / weights.sum(), list[int](), list[float]()
    for row in drawn:
        hopes.append(float(sum(shares[other] for other in recent)))
        recent = [row, *(other for other in recent if other != row)][:held]
    if kind == "uniform":
        assert hopes[-1] == pytest.approx(held / rows)
    hits = activity.caches["rows"].hits
    assert abs(hits - sum(hopes)) <= 3 * sum(hope * (1 - hope) for hope in hopes) ** 0.5
    assert hits + activity.caches["rows"].misses == batch * pooling
