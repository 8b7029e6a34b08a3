"""What the wheel holds is what the product reaches: no module of archsim or mapper is there for tests alone."""

from __future__ import annotations

from pathlib import Path

from tests.tools.reach import ENTRIES, unreached
from tests.tools.rooms import plan

# Modules that nothing reaches yet, with the rule that will call them.
RESERVED = {
    "mapper.lower.collective": "a rule of the groups of layers that lowers a collective operator of a model to moves",
}


def test_everything_in_the_wheel_is_reached_from_an_entry_point() -> None:
    assert {*ENTRIES} <= {*plan().files}
    assert unreached(plan()) == sorted(RESERVED)


def test_reach_follows_every_kind_of_import(tmp_path: Path) -> None:
    """At the top, inside functions, for types, lazily by name, by a module's path as text, and by a folder's."""
    texts = {
        "archsim/__init__.py": "import lazy_loader\nx = lazy_loader.attach(__name__, submod_attrs={'lab.front': []})",
        "archsim/__main__.py": (
            "from archsim.cli.app import main\nfrom archsim import registry\n"
            "K = registry.Kind('a kind', 'mapper.found')\nHASHED = ('archsim.lab', 'archsim.old')"
        ),
        "archsim/cli/__init__.py": "",
        "archsim/cli/app.py": "import typing\nif typing.TYPE_CHECKING:\n    from archsim.types import Shown\n",
        "archsim/types.py": "",
        "archsim/lab/__init__.py": "",
        "archsim/lab/front.py": "def run():\n    from archsim.lab import inner\n",
        "archsim/lab/inner.py": "NAME = 'archsim.lab.by_text'\n",
        "archsim/lab/by_text.py": "from archsim.lab import sibling",
        "archsim/registry.py": "",
        "archsim/old/__init__.py": "",
        "archsim/old/unused.py": "",
        "archsim/lab/sibling.py": "",
        "archsim/lab/alone.py": "import archsim.lab.only_from_alone",
        "archsim/lab/only_from_alone.py": '"""Named in prose: archsim.lab.alone."""',
        "mapper/__init__.py": "",
        "mapper/found/__init__.py": "",
        "mapper/found/one.py": "",
        "mapper/found/_helper.py": "",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    lost = ["archsim.lab.alone", "archsim.lab.only_from_alone", "archsim.old.unused", "mapper.found._helper"]
    assert unreached(plan(tmp_path)) == lost
