"""Mapping searches by name: what they find is judged, named and kept apart from what others found."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError, MappingError
from archsim.base.registry import PLUGINS_VARIABLE
from archsim.frontend.load import load_model
from archsim.ir.mapping import LayerMapping
from archsim.spec.load import load
from mapper.compile import compile_model
from mapper.options import Options
from mapper.search import catalogue
from tests.tools.commands import GOLDEN

HEAD = """
from dataclasses import replace
from mapper.search import exhaustive
"""
SIGNATURE = "def search(problem, chip, dtypes, objective, rules, seed):\n"
BEST = "    found = exhaustive.search(problem, chip, dtypes, objective, rules)\n"


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Three convolutions, of which the last two are equal but for their names."""
    path = tmp_path / "tiny.csv"
    path.write_text("conv1, 8, 8, 3, 3, 4, 8, 1,\nconv2, 6, 6, 3, 3, 8, 8, 1,\nconv3, 6, 6, 3, 3, 8, 8, 1,\n")
    return str(path)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a search stands."""
    (tmp_path / "plugins" / "search").mkdir(parents=True)
    monkeypatch.setenv(PLUGINS_VARIABLE, str(tmp_path / "plugins"))
    return tmp_path / "plugins" / "search" / "mine.py"


def mapped(model: str, options: Options) -> tuple[LayerMapping, ...]:
    return compile_model(load_model(model), load(GOLDEN / "chip.yaml"), options).mapping.layers


def test_names_and_the_nearest() -> None:
    assert catalogue.names() == ("exhaustive", "random")
    with pytest.raises(ConfigError, match=r"no mapping search 'exaustive' \(did you mean 'exhaustive'\?\)"):
        catalogue.get("exaustive")


def test_mappings_are_those_of_the_search_its_seed_and_each_layer(model: str, tmp_path: Path) -> None:
    """Caches never mix them: in any order, from a cache or without one, each is what it is."""
    asked = [Options(), *(Options(search="random", seed=seed) for seed in "01")]
    alone = [mapped(model, options) for options in asked]
    assert alone[0] != alone[1] != alone[2]
    proofs = [{layer.proof for layer in layers} for layers in alone]
    assert proofs == [{"optimal in the stated space"}, {"search 'random': drawn at random"}, proofs[1]]
    assert alone[1][1].nodes != alone[1][2].nodes or alone[2][1].nodes != alone[2][2].nodes  # equal layers draw apart
    for order in (asked, asked[::-1]):
        for options in order:
            kept = mapped(model, Options(search=options.search, seed=options.seed, cache=tmp_path / "cache"))
            assert kept == alone[asked.index(options)]


def test_processes_find_what_one_finds(model: str) -> None:
    assert mapped(model, Options(search="random", workers=2)) == mapped(model, Options(search="random"))


def test_the_code_of_a_plugin_is_part_of_the_key(model: str, tmp_path: Path, plugin: Path) -> None:
    plugin.write_text(HEAD + SIGNATURE + BEST + "    return found\n")
    first = catalogue.code_sha256("mine")
    assert mapped(model, Options(search="mine"))[0].proof == "search 'mine': optimal in the stated space"
    plugin.write_text(plugin.read_text() + "# edited\n")
    assert first != catalogue.code_sha256("mine") and catalogue.code_sha256("random") == ""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (f"{BEST}    return found.mapping\n", "search returned LayerMapping; allowed a mapper.search.space.Choice"),
        (
            f"{BEST}    return replace(found, mapping=replace(found.mapping, nodes=()))\n",
            r"search 'mine': what it found is no mapping of layer 'conv1' \(Conv\) on 'mxu': ",
        ),
        (
            f"{BEST}    return replace(found, mapping=replace(found.mapping, expected_cycles=1))\n",
            "it takes .* cycles where it states 1",
        ),
    ],
)
def test_what_is_no_mapping_is_refused(model: str, plugin: Path, body: str, says: str) -> None:
    plugin.write_text(HEAD + SIGNATURE + body)
    with pytest.raises(ConfigError, match=says):
        mapped(model, Options(search="mine"))


def test_nothing_fits_is_the_searchs_to_say(model: str, plugin: Path) -> None:
    plugin.write_text(
        "from archsim.base.errors import MappingError\n" + SIGNATURE + "    raise MappingError('no room: ' + seed)\n"
    )
    with pytest.raises(MappingError, match="no room: 5"):
        mapped(model, Options(search="mine", seed="5"))


def test_only_what_lists_candidates_can_be_refined(model: str, plugin: Path) -> None:
    with pytest.raises(ConfigError, match="--refine: the mapping search 'random' lists no candidates; .*exhaustive"):
        mapped(model, Options(search="random", refine=2, simulate=lambda program: 1 << 40))
    plugin.write_text(
        HEAD + SIGNATURE + BEST + "    return found\nbest, candidates = exhaustive.best, exhaustive.candidates\n"
    )
    asked = Options(search="mine", refine=1, simulate=lambda program: 1 << 40)
    assert {layer.simulated_cycles for layer in mapped(model, asked)} == {1 << 40}
