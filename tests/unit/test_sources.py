"""The digest of what compiled functions are made from: of the right files, and worked out again after a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base import sources

MAKER = "archsim.base.maker"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with a folder of compiled functions, one that gives constants to it, and one that has nothing to do."""
    monkeypatch.setenv("ARCHSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ARCHSIM_NO_CACHE", raising=False)
    monkeypatch.setattr(sources, "_read", {})
    texts = {
        "archsim/base/maker.py": "def njit(function): return function\n",
        "archsim/pe/loop.py": f"from {MAKER} import njit\nfrom archsim.ir.layout import WIDTH\n"
        "from archsim.ir import rows, layout as k\n",
        "archsim/pe/beside.py": "",
        "archsim/ir/layout.py": "WIDTH = 3\n",
        "archsim/ir/rows.py": "FIRST = 0\n",
        "archsim/ir/other.py": "",
        "mapper/layer_solver.py": "",
    }
    for name, text in texts.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree"


def digest(root: Path) -> str:
    return sources.digest(root, MAKER, (root / "archsim" / "base" / "maker.py",))


def test_a_change_behind_the_digest_is_seen(root: Path) -> None:
    digest(root)
    assert sources.are_as_read()
    (root / "archsim" / "pe" / "beside.py").write_text("LATER = 1\n")
    assert not sources.are_as_read()


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("archsim/pe/loop.py", True),
        ("archsim/pe/beside.py", True),
        ("archsim/ir/layout.py", True),
        ("archsim/ir/rows.py", True),
        ("archsim/base/maker.py", True),
        ("archsim/ir/other.py", False),
        ("mapper/layer_solver.py", False),
    ],
)
def test_it_is_of_what_is_compiled_in(root: Path, name: str, counts: bool) -> None:
    before = digest(root)
    assert digest(root) == before
    (root / name).write_text((root / name).read_text() + "# changed\n")
    assert (digest(root) != before) is counts


def test_what_was_found_is_kept_and_believed_where_it_is_whole(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(root)
    (kept,) = (root.parent / "cache" / "sources").iterdir()
    monkeypatch.setattr(sources, "_digest", lambda *_: "worked out again")
    assert digest(root) == before
    kept.write_text(kept.read_text().replace(before[:8], "0" * 8))
    assert digest(root) == "worked out again"
