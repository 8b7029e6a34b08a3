"""One problem to one mapping: stated, cached or searched. Equal problems are searched once, in parallel if asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Any

from archsim.base.caches import code_sha256
from archsim.base.errors import ConfigError, MappingError
from archsim.base.progress import each
from archsim.ir.mapping import LayerMapping
from mapper.cost.chip_rates import ChipCosts
from mapper.given.judge import kept_fault
from mapper.options import EXHAUSTIVE, Options
from mapper.problem.constraints import FREE, Rules
from mapper.problem.problem import Problem, content
from mapper.refine import refine
from mapper.search import catalogue
from mapper.search.catalogue import RANDOM
from mapper.search.exhaustive import least_figures
from mapper.search.mapping_cache import MACHINE, MappingCache, digest
from mapper.search.space import Choice
from mapper.search.templates import open_space

if TYPE_CHECKING:
    from concurrent.futures import Future

Found = LayerMapping | str  # a mapping, or why there is none
Work = tuple[Problem, Rules]


@dataclass(frozen=True)
class Search:
    """What one search needs beside its problem; can be sent to another process. ``name``, ``seed``: of the search."""

    chip: ChipCosts
    dtypes: Mapping[str, str]
    objective: str
    name: str = EXHAUSTIVE
    seed: str = ""

    def run(self, work: Work) -> Found:
        """The mapping that the search finds, or the reason why there is none."""
        try:
            return self.found(*work) if self.name == EXHAUSTIVE else self._judged(*work)
        except MappingError as error:
            return str(error)

    def found(self, problem: Problem, rules: Rules) -> LayerMapping:
        """The mapping that the search finds, as it is; raises MappingError when there is none."""
        search = catalogue.get(self.name)
        choice = search.search(problem, self.chip, self.dtypes, self.objective, rules, self.seed)
        if not isinstance(choice, Choice):
            raise ConfigError(
                f"mapping search '{self.name}': search returned {type(choice).__name__}; allowed a "
                "mapper.search.space.Choice"
            )
        return choice.mapping

    def _judged(self, problem: Problem, rules: Rules) -> LayerMapping:
        """What a search that was asked for by name finds, with its name; raises ConfigError where it is no mapping."""
        found = self.found(problem, rules)
        fault = kept_fault(problem, found, self.chip, self.dtypes, rules, figures=True)
        if fault:
            layer = problem.layer
            raise ConfigError(
                f"mapping search '{self.name}': what it found is no mapping of layer '{layer.name}' ({layer.op}) on "
                f"'{problem.unit}': {fault}"
            )
        return replace(found, proof=f"search '{self.name}': {found.proof}")


class Solver:
    """Searches the problems of one compilation; ``cache`` outlives it."""

    def __init__(self, chip: ChipCosts, dtypes: Mapping[str, str], options: Options) -> None:
        name, seed = (RANDOM, options.random) if options.random else (options.search, options.seed)
        self.search = Search(chip, dtypes, options.objective, name, seed)
        self.options = options
        self._named = self._search_key()
        measured = [sorted(options.outer.items()), sorted(options.network_shares.items())]
        self._given = digest([sorted(dtypes.items()), options.objective, *measured])
        self.cache = MappingCache(options.cache, chip.architecture.sha256)
        self._memo: dict[str, Found] = {}

    def solve(self, problem: Problem, rules: Rules = FREE) -> LayerMapping:
        """The mapping of a problem; raises MappingError when there is none."""
        if self.options.random:
            return self.search.found(problem, rules)
        key = self.key(problem, rules)
        found = self._known(key, (problem, rules))
        if found is None:
            found = self._learn(key, self.search.run((problem, rules)))
        if isinstance(found, str):
            del self._memo[key]  # it names the layer that was searched
            raise MappingError(found)
        return replace(found, layer=problem.layer.name)

    def refined(self, problem: Problem, rules: Rules, simulated: Callable[[LayerMapping], int]) -> LayerMapping:
        """The best mapping by simulation; ``simulated``: cycles of the problem alone. Raises as ``solve``."""
        key = digest([self.key(problem, rules), self.options.refine, code_sha256(MACHINE)])
        found = self._known(key, (problem, rules))
        if found is None:
            space = open_space(problem, self.search.chip, self.search.dtypes, rules)
            search = catalogue.ranked(self.search.name)
            objective, most = self.options.objective, self.options.refine
            first = search.best(space, objective)
            least = least_figures(space, objective)
            best = refine(first, search.candidates(space, objective), least, simulated, most, objective)
            found = self._learn(key, best)
        assert not isinstance(found, str)
        return replace(found, layer=problem.layer.name)

    def chosen(self, key: str, whole: Sequence[Work]) -> LayerMapping | None:
        """The best mapping of a layer, of which ``whole`` has a problem for each engine, where it is known; ``key``: of
        the ``choice``."""
        found = self._known(key, *whole) if not self.options.random else None
        return replace(found, layer=whole[0][0].layer.name) if isinstance(found, LayerMapping) else None

    def choose(self, key: str, best: LayerMapping) -> None:
        """Remember the best mapping of a layer over all engines and spreads."""
        if not self.options.random:
            self._learn(key, best)

    def choice(self, whole: Sequence[Work]) -> str:
        """Key of a choice; of one that was simulated also what that depends on."""
        simulated = [self.options.refine, code_sha256(MACHINE)] if self.options.refine else []
        return digest(["choice", *(self.key(*work) for work in whole), *simulated])

    @property
    def asked(self) -> tuple[str, ...]:
        """What a mapping depends on beside its problem, the chip and the code."""
        return self._given, *self._named

    @property
    def is_parallel(self) -> bool:
        """Whether several problems are searched at a time: no random mappings, nor those that are simulated."""
        return self.options.workers > 1 and not self.options.random and not self.options.refine

    def prepare(self, works: Iterable[Work]) -> None:
        """Search what is not known yet, in ``options.workers`` processes; they end at once with whatever ends this.

        What a process does not bring back, since it died, is searched here later.
        """
        assert self.is_parallel
        missing = {key: work for work in works if self._known(key := self.key(*work), work) is None}
        if len(missing) < 2:
            return
        from multiprocessing import get_context

        from pebble import ProcessPool

        pool: Any = ProcessPool(
            min(self.options.workers, len(missing)), initializer=signal, initargs=(SIGINT, SIG_IGN),
            context=get_context("spawn"),
        )  # fmt: skip
        try:
            searches = [pool.schedule(self.search.run, args=[work]) for work in missing.values()]
            for key, search in each(list(zip(missing, searches, strict=True)), "mapping", "different layers"):
                found = _result(search)
                if not isinstance(found, str):
                    self._learn(key, found)
        finally:
            pool.stop()
            pool.join()

    def _known(self, key: str, *whole: Work) -> Found | None:
        """What is known under ``key`` of a problem, or of a layer with one for each engine; from disk if right."""
        if key in self._memo:
            return self._memo[key]
        found = self.cache.get(key)
        if found is None:
            return None
        fault = self._fault(found, whole)
        if fault:
            name = whole[0][0].layer.name
            self.cache.drop(key, f"what is kept of layer '{name}' is no mapping of it on this chip ({fault})")
            return None
        self._memo[key] = found
        return found

    def _fault(self, found: LayerMapping, whole: Sequence[Work]) -> str:
        """What is wrong with a mapping from the cache; '' if nothing is."""
        for problem, rules in whole:
            if problem.unit == found.unit:
                search = self.search
                return kept_fault(problem, found, search.chip, search.dtypes, rules, self.cache.is_shared)
        return f"unit '{found.unit}'"

    def _learn(self, key: str, found: Found) -> Found:
        if not isinstance(found, str):
            self.cache.put(key, found)
        self._memo[key] = found
        return found

    def key(self, problem: Problem, rules: Rules = FREE) -> str:
        """Content of a problem and of all that its mapping depends on beside the chip and the code."""
        return digest(
            [
                *content(problem),
                sorted(problem.capacity.items()),
                self._given,
                *([replace(rules, place="")] if rules else []),
                *([*self._named, problem.layer.name] if self._named else []),
            ]
        )

    def _search_key(self) -> tuple[str, ...]:
        """What a mapping depends on by the search: nothing by the usual one, else its name, seed and code. Any other
        search may draw by the name of a layer, which is then part of the key too.

        Raises ConfigError for a search that there is not, or that cannot be refined where that is asked.
        """
        if self.options.refine:
            catalogue.ranked(self.search.name)
        catalogue.get(self.search.name)
        if self.search.name == EXHAUSTIVE:
            return ()
        return self.search.name, self.search.seed, catalogue.code_sha256(self.search.name)


def _result(search: Future[Found]) -> Found:
    """What a process found, or why nothing came of it."""
    from pebble import ProcessExpired

    try:
        return search.result()
    except ProcessExpired as error:
        return f"its process died (exit code {error.exitcode})"
