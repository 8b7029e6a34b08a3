"""One-file extensions: found by file name, loaded by name, plugins included."""

from __future__ import annotations

import os
import types
from pathlib import Path
from typing import Protocol

import pytest

from archsim.base import registry
from archsim.base.errors import ConfigError
from archsim.facts.dataflows.catalogue import KIND as DATAFLOWS
from archsim.facts.dram.catalogue import KIND as STANDARDS
from archsim.lab.files import show
from archsim.spec.locate import config_files
from mapper.policies import catalogue as policies
from tests.tools.commands import ROOT

STANDARD = "USUAL_CHANNEL = (16, 1024)\ndef dram(speed_mts, width_bits, channels, capacity_bytes): ...\n"


def test_built_in_extensions_are_listed_sorted_without_helpers() -> None:
    found = list(registry.modules(DATAFLOWS))
    assert found == sorted(found)
    assert {"output_stationary", "weight_stationary", "input_stationary", "dot_product"} <= set(found)
    assert not {"fold", "systolic", "catalogue", "__init__"} & set(found)
    assert "lpddr5" in registry.modules(STANDARDS)
    assert registry.modules(registry.Kind("thing", "archsim.no_such_room", "things")) == {}


def test_load_by_name_and_nearest_name() -> None:
    assert registry.load(DATAFLOWS, "weight_stationary").__name__ == f"{DATAFLOWS.package}.weight_stationary"
    with pytest.raises(
        ConfigError, match=r"no dataflow 'weight_stationry' \(did you mean 'weight_stationary'\?\); known: d"
    ):
        registry.load(DATAFLOWS, "weight_stationry")


def test_plugins_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    (first / "dram_standards").mkdir(parents=True)
    (second / "dataflows").mkdir(parents=True)
    (first / "dram_standards" / "ddr9.py").write_text("from ._shared import SPEEDS_MTS\n" + STANDARD)
    (first / "dram_standards" / "_shared.py").write_text("SPEEDS_MTS = (9,)\n")
    (second / "dataflows" / "mine.py").write_text("def fold(nest): return nest\n")
    (second / "dataflows" / "_helper.py").write_text("def other(): return 1\n")
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, os.pathsep.join((str(first), str(second))))
    assert registry.load(STANDARDS, "ddr9").SPEEDS_MTS == (9,)
    assert registry.load(STANDARDS, "ddr9") is registry.load(STANDARDS, "ddr9")
    assert "mine" in registry.modules(DATAFLOWS)
    assert "_helper" not in registry.modules(DATAFLOWS)
    assert "_shared" not in registry.modules(STANDARDS)


@pytest.mark.parametrize("text", ["raise RuntimeError('boom')", "def broken(:"])
def test_a_broken_plugin_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "dram_standards").mkdir()
    (tmp_path / "dram_standards" / "bad.py").write_text(text)
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigError, match=r"bad\.py: the extension cannot be imported"):
        registry.load(STANDARDS, "bad")


def test_two_files_cannot_claim_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dram_standards").mkdir()
    (tmp_path / "dram_standards" / "lpddr5.py").write_text("")
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, str(tmp_path))
    with pytest.raises(ConfigError, match="two files claim the name 'lpddr5'"):
        registry.modules(STANDARDS)


def test_a_missing_plugin_directory_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, "/no/such/directory")
    with pytest.raises(ConfigError, match="/no/such/directory"):
        registry.modules(DATAFLOWS)


KINDS = show.extension_kinds()
PYTHON_FOLDERS = [folder for folder, found in registry.FOLDERS.items() if found.suffix == registry.PYTHON]


def extension(home: Path, place: str, text: str = "") -> Path:
    """A file in a plugin directory."""
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_every_folder_has_its_kind() -> None:
    """Thirteen kinds: nine in Python, each with a Protocol, and chips, technology, workloads, models beside tables."""
    assert list(KINDS.keys() ^ set(PYTHON_FOLDERS)) == []
    assert all(kind.name == registry.FOLDERS[folder].kind and kind.protocol for folder, kind in KINDS.items())
    files = {found.kind for found in registry.FOLDERS.values() if found.suffix in (registry.YAML, registry.JSON)}
    assert len(KINDS) == 9 and {"chip", "technology table", "workload", "model"} <= files
    assert [name for name, _ in show.listing("kinds")] == [found.kind for found in registry.FOLDERS.values()]


HELPERS = {  # beside the extensions of a package of the tree
    "dataflows": {"catalogue", "fold", "systolic"},
    "passes": {"manager"},
    "search": {
        "catalogue",
        "patterns",
        "promising_spreads",
        "mapping_cache",
        "outdone",
        "ranking",
        "reason",
        "space",
        "table_cache",
        "templates",
        "ties",
    },
    "policies": {"catalogue"},
    "explore": {"catalogue", "learner", "problem"},
}


def test_every_file_of_the_tree_is_an_extension_or_a_known_helper() -> None:
    """One that lacks what its kind defines would be read by nobody; so would a table in a folder that no kind has."""
    for folder, kind in KINDS.items():
        known = {Path(path).resolve() for path in registry.modules(kind).values()}
        package = ROOT / kind.package.replace(".", "/")
        others = {path.stem for path in package.glob("*.py") if path.resolve() not in known and path.stem[0] != "_"}
        assert others == HELPERS.get(folder, set()), folder
    tables = {folder: found for folder, found in registry.FOLDERS.items() if found.suffix != registry.PYTHON}
    assert {path.name for path in (ROOT / "configs").iterdir()} <= tables.keys()
    assert {path.suffix for path in (ROOT / "configs").rglob("*") if path.is_file()} == {registry.YAML, registry.JSON}


@pytest.mark.parametrize("folder", PYTHON_FOLDERS)
def test_files_of_the_tree_define_what_their_protocol_asks(folder: str) -> None:
    kind = KINDS[folder]
    for name, file in registry.modules(kind).items():
        registry._check_defined(kind, registry.load(kind, name), Path(file))
    assert registry.modules(kind)


@pytest.mark.parametrize("folder", PYTHON_FOLDERS)
def test_an_empty_file_is_told_all_that_it_lacks(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extension(tmp_path, f"{folder}/hollow.py")
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, str(tmp_path))
    kind = KINDS[folder]
    with pytest.raises(ConfigError, match=rf"hollow\.py: is no {kind.name}: it does not define ") as caught:
        registry.load(kind, "hollow")
    assert kind.protocol is not None and kind.protocol.__name__ in str(caught.value)
    if kind.defines:
        assert kind.defines in str(caught.value)


class Thing(Protocol):
    """What the tests below ask of a file."""

    SIZES: tuple[int, ...]
    NAME: str = "thing"

    def make(self, size: int, *, often: bool = False) -> int: ...


class Twin(Protocol):
    """What it may define as well."""

    def left(self) -> int: ...

    def right(self) -> int: ...


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SIZES = (1,)\ndef make(size, often=False): ...", ""),
        ("SIZES = ()\nNAME = 'x'\ndef make(size, *, often): ...", ""),
        ("SIZES = (1,)\ndef make(*args, **kwargs): ...\ndef left(): ...\ndef right(): ...", ""),
        ("NAME = 'x'", "it does not define SIZES, make"),
        ("SIZES = 1\ndef make(size, often): ...", "SIZES is 1, which is no tuple[int, ...]"),
        ("SIZES = ('a',)\ndef make(size, often): ...", "SIZES is ('a',), which is no tuple[int, ...]"),
        ("SIZES = (1,)\nNAME = 3\ndef make(size, often): ...", "NAME is 3, which is no str"),
        ("SIZES = (1,)\nmake = 3", "make cannot be called as make(size, often)"),
        ("SIZES = (1,)\ndef make(size): ...", "make cannot be called as make(size, often)"),
        ("SIZES = (1,)\ndef make(size, other, often): ...", "make cannot be called as make(size, often)"),
        ("SIZES = (1,)\ndef make(size, often): ...\ndef left(): ...", "it does not define right"),
    ],
)
def test_values_types_and_arguments_are_checked(text: str, says: str) -> None:
    kind = registry.Kind("thing", "", "things", "make", Thing, (Twin,))
    module = types.ModuleType("module")
    exec(text, module.__dict__)
    if not says:
        registry._check_defined(kind, module, Path("x.py"))
        return
    with pytest.raises(ConfigError) as caught:
        registry._check_defined(kind, module, Path("x.py"))
    assert str(caught.value).startswith(f"x.py: is no thing: {says}; ")


def test_a_plugin_may_be_a_package_with_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two directories may have helpers of one name; each plugin gets its own."""
    homes = [tmp_path / "one", tmp_path / "two"]
    for speed, home in enumerate(homes, start=5):
        extension(home, "dram_standards/_shared.py", f"SPEEDS_MTS = ({speed},)\n")
    extension(homes[0], "dram_standards/big/__init__.py", "from .inner import SPEEDS_MTS\n" + STANDARD)
    extension(homes[0], "dram_standards/big/inner.py", "from .._shared import SPEEDS_MTS\n")
    extension(homes[1], "dram_standards/small.py", "from ._shared import SPEEDS_MTS\n" + STANDARD)
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, os.pathsep.join(map(str, homes)))
    assert [registry.load(STANDARDS, name).SPEEDS_MTS for name in ("big", "small")] == [(5,), (6,)]
    assert list(registry.plugins(STANDARDS)) == ["big", "small"]
    found = registry.sha256(registry.plugins(STANDARDS)["big"]), registry.plugins_sha256()
    extension(homes[0], "dram_standards/big/inner.py", "SPEEDS_MTS = (7,)\n")
    assert found[0] != registry.sha256(registry.plugins(STANDARDS)["big"]) and found[1] != registry.plugins_sha256()
    found = registry.sha256(registry.plugins(STANDARDS)["big"]), registry.sha256(registry.plugins(STANDARDS)["small"])
    extension(homes[0], "dram_standards/_shared.py", "SPEEDS_MTS = (8,)\n")
    assert found[0] != registry.sha256(registry.plugins(STANDARDS)["big"])
    assert found[1] == registry.sha256(registry.plugins(STANDARDS)["small"])


def test_what_may_change_numbers_from_outside_is_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plugin and every table; chips and workloads have hashes of their own."""
    monkeypatch.delenv(registry.PLUGINS_VARIABLE, raising=False)
    monkeypatch.delenv(registry.CONFIGS_VARIABLE, raising=False)
    assert registry.extensions_sha256() == ""
    seen = set()
    extension(tmp_path, "dataflows/mine.py", "X = 1\n")
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, str(tmp_path))
    seen.add(registry.extensions_sha256())
    monkeypatch.setenv(registry.CONFIGS_VARIABLE, str(tmp_path))
    seen.add(registry.extensions_sha256())
    extension(tmp_path, "technology/5nm.yaml", "name: 5nm\n")
    seen.add(registry.extensions_sha256())
    extension(tmp_path, "accelerators/mine.yaml", "name: mine\n")
    seen.add(registry.extensions_sha256())
    extension(tmp_path, "dataflows/_helper.py", "Y = 1\n")
    seen.add(registry.extensions_sha256())
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("variable", "place", "says"),
    [
        ("PLUGINS", "op/x.py", "nothing reads the folder .*/op .did you mean 'ops'..; allowed are the folders ops, p"),
        ("PLUGINS", "x.py", "nothing reads the file .*/x.py"),
        ("PLUGINS", "ops/x.txt", "nothing reads .*/ops/x.txt; allowed in the folder 'ops' are files that end in .py"),
        ("PLUGINS", "ops/x/y.py", "nothing reads .*/ops/x; .*packages with __init__.py"),
        ("PLUGINS", "links/x.yaml", "nothing reads the folder .*/links there; .* ARCHSIM_CONFIGS too"),
        ("PLUGINS", "passes", "nothing reads the file .*/passes"),
        ("CONFIGS", "links/x.yml", "nothing reads .*/links/x.yml; .* files that end in .yaml and"),
        ("CONFIGS", "links/x/y.yaml", "nothing reads .*/links/x;"),
        ("CONFIGS", "chips/x.yaml", "nothing reads the folder .*/chips"),
        ("CONFIGS", "ops/x.py", "nothing reads the folder .*/ops there; .* ARCHSIM_PLUGINS too"),
    ],
)
def test_what_nothing_reads_is_refused(
    variable: str, place: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extension(tmp_path, place)
    monkeypatch.setenv(f"ARCHSIM_{variable}", str(tmp_path))
    for ask in (registry.check_directories, lambda: registry.modules(DATAFLOWS), lambda: config_files("links")):
        with pytest.raises(ConfigError, match=f"^ARCHSIM_{variable}: {says}"):
            ask()


def test_what_is_nobodys_business_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Helpers, hidden files, documents; one directory may serve both variables."""
    for place in ("README.md", "LICENSE", ".git/x", "_old/x.py", "ops/__pycache__/x.pyc", "ops/_x.txt", "links/_x.yml"):
        extension(tmp_path, place)
    (tmp_path / "dataflows").mkdir()
    for variable in (registry.PLUGINS_VARIABLE, registry.CONFIGS_VARIABLE):
        monkeypatch.setenv(variable, str(tmp_path))
    registry.check_directories()
    assert "_x" not in registry.modules(KINDS["ops"])


def test_the_trees_own_configs_are_all_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.CONFIGS_VARIABLE, str(ROOT / "configs"))
    registry.check_directories()


def test_policies_of_plugins_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extension(tmp_path, "policies/mine.py", "def restrict(workload, chip): ...\n")
    extension(tmp_path, "policies/wrong.py", "def restrict(workload): ...\n")
    monkeypatch.setenv(registry.PLUGINS_VARIABLE, str(tmp_path))
    registry.check_directories()
    assert policies.names() == ("framework", "library", "mine", "wrong", "xla")
    assert policies.get("mine") is policies.get("mine")
    with pytest.raises(ConfigError, match="restrict"):
        policies.get("wrong")
