"""The first half of the compiler: what stays on chip, and one mapping per layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf, prod

from archsim.base.errors import ConfigError, MappingError
from archsim.base.progress import each
from archsim.energy.chip import mapped_energies
from archsim.ir.mapping import LayerMapping
from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.allocate.residency import Residency, plan_residency
from mapper.cost.chip_rates import ADDED, ChipCosts, fold_function, vector_time
from mapper.cost.grid_cost import Costs
from mapper.fusion.forecast import forecast
from mapper.fusion.members import FusedGroup, Fusion, fused
from mapper.given.priced import price
from mapper.given.stated import Stated, StatedError
from mapper.groups.plan import GroupPlan, engines_of, expanded, planned, spans_of, windowed
from mapper.groups.ties import GroupError
from mapper.in_groups import with_groups
from mapper.layer_solver import Solver, Work
from mapper.lower.model import Mapped
from mapper.lower.one_layer import lower_alone
from mapper.options import BEST, Options
from mapper.overlap import Overlap
from mapper.policies import catalogue as policies
from mapper.policies.catalogue import LayerRestriction
from mapper.pressure import relieved
from mapper.problem import constraints
from mapper.problem.array_axes import obeyed
from mapper.problem.capacity import usable
from mapper.problem.core_partition import on_cores
from mapper.problem.engines import engines_of_layer
from mapper.problem.formats import FACTORS, engine_pair, is_converted, operand_dtype
from mapper.problem.packed import base_of
from mapper.problem.problem import Problem, build, content
from mapper.search.outdone import outdone
from mapper.search.promising_spreads import spreads
from mapper.search.ranking import best_of

EXTERNAL = ("weight", "input")  # kinds of tensors that no layer makes
ANY = LayerRestriction()
Barred = frozenset[str]
Pair = tuple[Problem, LayerMapping]


class Layers:
    """Maps the layers of one workload to one chip."""

    def __init__(
        self,
        workload: Workload,
        architecture: Architecture,
        dtypes: Mapping[str, str],
        options: Options,
        solver: Solver | None = None,
        fusions: Sequence[Fusion] = (),
    ) -> None:
        """``solver``: one that knows mappings already; ``fusions``: layers that run as groups."""
        self.fusions = tuple(fusions)
        self._prices: dict[object, Costs] = {}
        self.workload, self.architecture, self.dtypes, self.options = workload, architecture, dtypes, options
        energies = mapped_energies(architecture)
        self.chip = ChipCosts(
            architecture, options.outer, energies.pj, standing_w=energies.standing_w, shares=options.network_shares
        )
        self.solver = solver or Solver(self.chip, dtypes, options)
        engines = engines_of(options.given.layers.values(), architecture)
        self.groups = planned(options.given.groups, workload, architecture, dtypes, engines)
        self.stated = Stated(workload, self.chip, dtypes, expanded(options.given, self.groups, workload))
        left = policies.restriction(options.policy, workload, architecture).layers
        self.rules = {layer.name: self._rules(layer, left.get(layer.name, ANY)) for layer in workload.layers}

    def map(self) -> Mapped:
        """Residency and a mapping per layer; a layer that cannot be mapped sends the largest pinned tensor to DRAM, and
        so do layers that lose more by what stays than it spares.

        Raises MappingError (tensor, level, needs, has) when a layer cannot be mapped at all. Mappings that were found
        are kept, whatever ends the search.
        """
        self.stated.check()
        try:
            found = self.mapped(frozenset())
            found = found if self.options.random else relieved(self, found)
            found = with_groups(self, found) if self.may_have_groups else found
        finally:
            self.solver.cache.save()
        if self.options.fences == "all":
            return found
        overlap = Overlap(self.workload, self.architecture, self.chip, self.dtypes)
        return replace(found, mappings=overlap.expected(found))

    def in_groups(self, fusions: Sequence[Fusion]) -> Layers:
        """The same where these layers run as groups; what this one has found it knows."""
        return Layers(self.workload, self.architecture, self.dtypes, self.options, self.solver, fusions)

    @property
    def may_have_groups(self) -> bool:
        """Whether layers may run as groups that no file states: on one core, where nothing else says how all run, and
        the simulator ranks no mappings, which it does of layers alone."""
        given, options = self.options.given, self.options
        apart: object = (
            options.random or options.fences == "all" or given.placements or self.architecture.noc is not None
        )
        apart = apart or options.refine > 0
        return options.schedule == BEST and not apart

    @property
    def objective(self) -> str:
        """What is minimised."""
        return self.options.objective

    @property
    def asked(self) -> object:
        """What searches depend on beside problems, chip and code: alike where that is."""
        return self.solver.asked

    def priced(self, problem: Problem, mapping: LayerMapping) -> Costs:
        """The costs of a layer in a mapping; those that are alike share them."""
        key = content(problem), mapping.unit, mapping.nodes, mapping.resident
        if key not in self._prices:
            self._prices[key] = price(problem, mapping, self.chip, self.dtypes)
        return self._prices[key]

    def searched_pass(self, problem: Problem) -> LayerMapping:
        """The best mapping of a member's pass; raises MappingError where there is none."""
        return self.solver.solve(problem, self.rules[problem.layer.name].on(problem.engine))

    def mapped(self, barred: Barred) -> Mapped:
        """The same where the tensors ``barred`` may not stay on chip, nor those that leave a layer too little room."""
        fusions = self.fusions
        try:
            return self._mapped(barred)
        finally:
            self.fusions = fusions

    def _mapped(self, asked: Barred) -> Mapped:
        """The same; groups that cannot be made are left out of it."""
        indices, barred = range(len(self.workload.layers)), asked
        while True:
            residency = self.residency(barred)
            self._prepare(residency)
            try:
                groups = [self._fused(choice, residency) for choice in self.fusions]
                known = {index: pair for group in groups for index, pair in self._members(group)}
                pairs = [
                    known.get(index) or self._noted(index, residency)
                    for index in each(indices, "mapping", "layers", self._name)
                ]
            except TooTightError as tight:
                barred |= {tight.tensor}
                continue
            except UnfusedError as error:
                self.fusions = tuple(choice for choice in self.fusions if choice != error.choice)
                barred = asked
                continue
            plans = sorted((*self.groups, *(group.plan for group in groups)), key=lambda plan: plan.first)
            for plan in plans:
                pairs[plan.first : plan.last + 1] = self._forecast(plan, pairs[plan.first : plan.last + 1])
            problems, mappings = zip(*pairs, strict=True) if pairs else ((), ())
            return Mapped(residency, problems, mappings, barred, tuple(plans))

    def _fused(self, choice: Fusion, residency: Residency) -> FusedGroup:
        """A group beside what stays on chip; raises TooTightError where that leaves it no room, UnfusedError where it
        is none in any."""
        try:
            return fused(self, choice, residency)
        except GroupError:
            raise UnfusedError(choice) from None
        except MappingError:
            pinned = [found for index in choice.members for found in residency.at(index)]
            pinned = [found for found in pinned if found.tensor not in self.fixed]
            if not pinned:
                raise UnfusedError(choice) from None
            raise TooTightError(max(pinned, key=lambda r: (r.layout.size_bytes, r.tensor)).tensor) from None

    def _members(self, group: FusedGroup) -> Iterator[tuple[int, Pair]]:
        yield from zip(group.choice.members, zip(group.problems, group.mappings, strict=True), strict=True)

    def _forecast(
        self, plan: GroupPlan, members: Sequence[tuple[Problem | None, LayerMapping]]
    ) -> list[tuple[Problem | None, LayerMapping]]:
        """The members of a group with what they are expected to take beside one another."""
        pairs = [(problem, mapping) for problem, mapping in members if problem is not None]
        found = forecast(self._priced(pairs), prod(plan.trips), plan.begins)
        return [
            (problem, replace(mapping, expected_cycles=round(part)))
            for (problem, mapping), part in zip(pairs, found.parts, strict=True)
        ]

    def _name(self, index: int) -> str:
        return self.workload.layers[index].name

    def _noted(self, index: int, residency: Residency) -> tuple[Problem | None, LayerMapping]:
        """``map_layer``; what ends it from outside says where it was."""
        layer, layers = self.workload.layers[index], len(self.workload.layers)
        try:
            return self.map_layer(index, residency)
        except (KeyboardInterrupt, MemoryError) as error:
            kept = ", and kept" if self.options.cache is not None else ""
            error.add_note(f"at layer '{layer.name}' ({layer.op}); {index} of {layers} layers are mapped{kept}")
            raise

    def residency(self, barred: Barred) -> Residency:
        """What stays on chip when the tensors ``barred`` may not."""
        if self.options.fences == "all":
            barred = frozenset(self.workload.tensors)
        elif self.architecture.noc is None:
            barred |= self._converted
        made = (self.workload.layers[at].output.tensor for choice in self.fusions for at in choice.members[:-1])
        barred |= windowed(self.groups) | frozenset(made)
        spans = [*spans_of(self.groups), *((choice.members[0], choice.members[-1]) for choice in self.fusions)]
        return plan_residency(self.workload, self.architecture, self.dtypes, barred, self.stated.placed, spans)

    @cached_property
    def _converted(self) -> Barred:
        """Factors that a VECTOR command converts: it makes them of tiles in a ring, not of a tensor on chip."""
        found = set[str]()
        for layer in self.workload.layers:
            if is_converted(layer, self.workload, self.architecture, self.dtypes):
                found |= {base_of(self.workload, operand.tensor) for operand in layer.inputs if operand.name in FACTORS}
        return frozenset(found)

    @property
    def fixed(self) -> Barred:
        """Tensors of which a file says where they lie: those that are placed, and those of stated layers, whose loop
        trees are made for where these lie."""
        stated = (layer for layer in self.workload.layers if self.stated.has(layer))
        used = (op.tensor for layer in stated for op in (*layer.inputs, layer.output))
        return frozenset((*self.stated.placed, *(base_of(self.workload, name) for name in used)))

    def is_stated(self, index: int) -> bool:
        """Whether a file states the mapping of a layer, or it is in a group."""
        grouped = any(index in choice.members for choice in self.fusions)
        return grouped or self.stated.has(self.workload.layers[index])

    def is_free(self, index: int) -> bool:
        """Whether nothing that was asked says how a layer is mapped."""
        return not self.is_stated(index) and not self.rules[self.workload.layers[index].name]

    def map_layer(self, index: int, residency: Residency) -> tuple[Problem | None, LayerMapping]:
        """Problem and mapping of one layer; raises TooTightError where a tensor that stays on chip leaves no room.

        Where no tile has room for the slots that memories state, each has one: nothing comes in beside what is worked
        on, but the layer runs.
        """
        layer = self.workload.layers[index]
        if layer.kind == "host":
            return None, LayerMapping(layer.name, "host", "host", (), (), 0, 1, 1, "runs on the host")
        self._check_tables(layer)
        self._check_state(layer)
        fixed = {*self.stated.placed, *self.stated.resident(layer)}
        pinned = [found for found in residency.at(index) if found.tensor not in fixed]
        try:
            if self.stated.has(layer):
                return self._as_stated(index, layer, residency)
            return self._best(self._on_engines(index, residency), residency)
        except StatedError:
            raise
        except MappingError:
            if pinned:
                raise TooTightError(max(pinned, key=lambda r: (r.layout.size_bytes, r.tensor)).tensor) from None
            if self.stated.has(layer):
                raise
            single = [(problem.in_one_slot, rules) for problem, rules in self._on_engines(index, residency)]
            return self._best(single, residency)

    def _ranked(self, found: Sequence[Pair]) -> Pair:
        """The best: by simulation where there was one, else by what searches rank by."""
        if len(found) == 1:
            return found[0]
        if found[0][1].simulated_cycles:
            return min(found, key=lambda pair: pair[1].simulated_cycles)
        return found[best_of(self._priced(found), self.options.objective)]

    def _priced(self, found: Iterable[Pair]) -> list[Costs]:
        return [self.priced(problem, mapping) for problem, mapping in found]

    def _as_stated(self, index: int, layer: Layer, residency: Residency) -> Pair:
        engine = self.stated.engine(layer, self._possible(layer))
        problem = self.stated.on_cores(self.problem(index, residency, engine))
        rules = self.rules[layer.name].on(problem.engine)
        return problem, self.stated.mapping(problem, self._free(index, residency), rules)

    def _best(self, whole: Sequence[Work], residency: Residency) -> Pair:
        """The best over all engines and spreads; what was best of an equal layer is not ranked again."""
        key = self.solver.choice(whole)
        known = self.solver.chosen(key, whole)
        if known is not None:
            problem = next(problem for problem, _ in whole if problem.unit == known.unit)
            return on_cores(problem, self.architecture, known), known
        found = self._fitting(self._parts(whole[:1]), residency)
        for part, rules in self._contenders(whole[1:], found):
            found.append((part, self._solved(part, residency, rules)))
        best = self._ranked(found)
        self.solver.choose(key, best[1])
        return best

    def _fitting(self, parts: Iterable[Work], residency: Residency) -> list[Pair]:
        """The mappings of all parts, but of those whose tiles of a menu do not fit; raises MappingError where none
        does, for the smallest tiles."""
        found, fault, least = list[Pair](), None, inf
        for part, rules in parts:
            try:
                found.append((part, self._solved(part, residency, rules)))
            except MappingError as error:
                if not self.rules[part.layer.name].menu:
                    raise
                points = prod(rules.tiles.values())
                fault, least = (error, points) if points < least else (fault, least)
        if fault is not None and not found:
            raise fault
        return found

    def _solved(self, problem: Problem, residency: Residency, rules: constraints.Rules) -> LayerMapping:
        simulate = self.options.simulate
        if not self.options.refine or simulate is None:
            return self.solver.solve(problem, rules)

        def alone(mapping: LayerMapping) -> int:
            assert simulate is not None
            program = lower_alone(
                self.workload, self.architecture, self.dtypes, self.options, problem, residency, mapping
            )
            return simulate(program)

        return self.solver.refined(problem, rules, alone)

    def _contenders(self, whole: Iterable[Work], found: Sequence[Pair]) -> Iterator[Work]:
        """The parts of problems on further engines that may be as good as what was ``found``."""
        parts = list(self._parts(whole))
        costs = self._priced(found) if parts and not self.options.refine else []
        for part, rules in parts:
            if not outdone(part, self.chip, self.options.objective, costs):
                yield part, rules

    def _unknown(self, residency: Residency) -> Iterator[list[Work]]:
        """Of layers that no file states, and of which the best is not known yet, the problems on each engine."""
        for index, layer in enumerate(self.workload.layers):
            if layer.kind != "host" and not self.is_stated(index):
                whole = self._on_engines(index, residency)
                if self.solver.chosen(self.solver.choice(whole), whole) is None:
                    yield whole

    def _prepare(self, residency: Residency) -> None:
        """Search many layers at once, on their first engines and then on those that may be as good."""
        if not self.solver.is_parallel:
            return
        layers = list(self._unknown(residency))
        self.solver.prepare(part for whole in layers for part in self._parts(whole[:1]))
        self.solver.prepare(part for whole in layers for part in self._rest(whole, residency))

    def _rest(self, whole: Sequence[Work], residency: Residency) -> Iterator[Work]:
        """What is left to search of a layer whose mappings on its first engine are known, if it has any there."""
        if len(whole) == 1:
            return
        try:
            found = self._fitting(self._parts(whole[:1]), residency)
        except MappingError:
            return  # it is raised where the layer is mapped
        yield from self._contenders(whole[1:], found)

    def searched(self, index: int, residency: Residency) -> Iterator[Work]:
        """What a search of a layer may look at: a problem for each engine and spread, none on the host."""
        return self._parts(self._on_engines(index, residency))

    def _on_engines(self, index: int, residency: Residency) -> list[Work]:
        """A problem for each engine, not spread over cores."""
        layer = self.workload.layers[index]
        rules = self.rules[layer.name]
        engines = self._engines(layer, rules) if layer.kind != "host" else ()
        return [(self.problem(index, residency, engine), rules.on(engine)) for engine in engines]

    def _parts(self, whole: Iterable[Work]) -> Iterator[Work]:
        """Problems as they are on one core, or the parts that the cores of a chip may have of them."""
        for problem, asked in whole:
            for rules in asked.chosen(problem):
                if self.architecture.noc is None:
                    yield problem, rules
                for spread in spreads(problem, self.chip, self.dtypes, rules.tiles):
                    yield problem.of_core(spread), rules

    def _possible(self, layer: Layer) -> list[str]:
        return engines_of_layer(layer, self.workload, self.architecture, self.dtypes)

    def _rules(self, layer: Layer, left: LayerRestriction) -> constraints.Rules:
        """What the constraints mean for a layer on this chip, and what a policy has ``left``; raises MappingError where
        they cannot hold."""
        rules = constraints.merge(layer, self.options.given.constraints)
        units = constraints.able(left.units, self._possible(layer), self.architecture) if left.units else ()
        rules = rules.under(self.options.policy, units, left.prefetch, left.tiles)
        if not rules.spatial:
            return rules
        engines = self._engines(layer, rules) if layer.kind == "matmul" else []
        if "array" not in engines or not self.architecture.arrays:
            axes = " and ".join(rules.spatial)
            raise MappingError(
                f"{rules.place}: layer '{layer.name}' ({layer.op}) runs on no array, which alone has {axes}"
            )
        others = tuple(unit.name for unit in self.architecture.vectors[:1] if "vector" in engines)
        return obeyed(layer, rules, self.architecture.arrays[0], self._pair(layer), others)

    def _pair(self, layer: Layer) -> dict[str, str]:
        """The number formats of both factors of a product as the array reads them, by their roles."""
        found = engine_pair(layer, self.workload, self.architecture, self.dtypes)
        return dict(zip(("inputs", "weights"), found, strict=True))

    def _engines(self, layer: Layer, rules: constraints.Rules) -> list[str]:
        """Those that may be searched: the vector unit for matmuls only where it may be as fast as the array."""
        possible = self._possible(layer)
        if rules.units is not None:
            return constraints.engines(layer, possible, rules, self.architecture)
        return possible if len(possible) > 1 and self._suits_vector(layer) else possible[:1]

    def _suits_vector(self, layer: Layer) -> bool:
        """Whether the vector unit does a matmul in no more time than the array does it as one tile, or groups leave an
        array empty."""
        if any(layer.dims[dim] > 1 for dim in layer.batch):
            return True
        array, unit = self.architecture.arrays[0], self.architecture.vectors[0]
        dtype = operand_dtype(layer.output, self.workload, self.dtypes)
        if dtype not in unit.lanes:
            return False
        by_vector = vector_time(prod(layer.dims.values()), ADDED, unit, dtype)
        by_array, *_ = fold_function(self.chip, layer, array, self._pair(layer))(tuple(layer.dims.items()))
        return by_vector * array.clock_hz <= by_array * unit.clock_hz

    def _check_tables(self, layer: Layer) -> None:
        """A copy changes no element, so rows have the activations' format."""
        tables, inputs = self.dtypes.get("tables", self.dtypes["weights"]), self.dtypes["inputs"]
        if layer.kind == "copy" and tables != inputs and any(operand.role == "tables" for operand in layer.inputs):
            raise ConfigError(
                f"layer '{layer.name}' ({layer.op}) gathers rows of {tables} tables as {inputs} inputs; a gather "
                f"changes no element: state dtypes.tables of the chip, or --dtype with tables={inputs}"
            )

    def _check_state(self, layer: Layer) -> None:
        """Nor do rows that are copied to a state change theirs."""
        rows, written = (
            operand_dtype(operand, self.workload, self.dtypes) for operand in (layer.inputs[0], layer.output)
        )
        if layer.kind == "copy" and layer.output.role == "kv" and rows != written:
            raise ConfigError(
                f"layer '{layer.name}' ({layer.op}) copies rows of {rows} to a state of {written}; a copy changes no "
                f"element: state dtypes.kv of the chip, or --dtype with kv={rows}"
            )

    def problem(
        self, index: int, residency: Residency, engine: str, windows: Mapping[str, str] | None = None
    ) -> Problem:
        """The layer as a mapping problem on ``engine``, beside what stays on chip; ``windows``: memories of tensors
        that its group makes and reads, those of the groups that are stated unless given."""
        free, capacity = self._free(index, residency), {}
        for memory in self.architecture.memories:
            is_shared = memory.name in residency.capacity
            capacity[memory.name] = usable(memory, free[memory.name], memory.capacity_bytes, is_shared)
        pinned = {found.tensor: found.memory for found in residency.at(index)}
        pinned |= self._windows(index) if windows is None else windows
        layer = self.workload.layers[index]
        made = build(layer, self.workload, self.architecture, self.dtypes, capacity, pinned, engine)
        return replace(made, external=self._external(index))

    def _external(self, index: int) -> frozenset[str]:
        """Operands of a layer that no layer makes, where others run before it and may hide what brings them."""
        layers, tensors = self.workload.layers, self.workload.tensors
        if self.options.fences == "all" or all(layer.kind == "host" for layer in layers[:index]):
            return frozenset()
        return frozenset(found.name for found in layers[index].inputs if tensors[found.tensor].kind in EXTERNAL)

    def _windows(self, index: int) -> dict[str, str]:
        """The memories in which tensors lie that the members of a layer's group make for one another."""
        plan = next((plan for plan in self.groups if plan.first <= index <= plan.last), None)
        return {window.tensor.name: window.window.level for window in plan.windows} if plan is not None else {}

    def _free(self, index: int, residency: Residency) -> dict[str, int]:
        plan = next((plan for plan in self.groups if plan.first <= index <= plan.last), None)
        beside = range(plan.first, plan.last + 1) if plan is not None else (index,)
        return residency.free_beside(beside, self.architecture)


class UnfusedError(Exception):
    """The layers of a ``choice`` cannot run as a group after all."""

    def __init__(self, choice: Fusion) -> None:
        super().__init__(choice)
        self.choice = choice


class TooTightError(Exception):
    """A layer cannot be mapped while ``tensor`` is pinned."""

    def __init__(self, tensor: str) -> None:
        super().__init__(tensor)
        self.tensor = tensor
