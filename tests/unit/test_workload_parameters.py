"""Parameters of a workload file that use one another: order, overrides, rings, places of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.frontend.load import load_model
from archsim.ir.workload import Workload

FILE = "schema: archsim.workload/1\nname: t\nparameters:\n{}layers:\n  - gemm: {{m: rows, n: ffn, k: hidden}}\n"


def loaded(tmp_path: Path, parameters: str, **given: int) -> Workload:
    path = tmp_path / "w.yaml"
    path.write_text(FILE.format("".join(f"  {line}\n" for line in parameters.split("; "))), encoding="utf-8")
    return load_model(path, parameters=given or None)


def sizes(workload: Workload) -> dict[str, int]:
    return dict(workload.layers[0].dims)


@pytest.mark.parametrize(
    "stated",
    ["rows: 2; hidden: 64; ffn: 4 * hidden", "ffn: 4 * hidden; hidden: 16 * rows * 2; rows: 2",
     'ffn: "hidden * heads"; heads: hidden // 16; rows: heads - rest; hidden: 64; rest: 2'],
)  # fmt: skip
def test_any_order(tmp_path: Path, stated: str) -> None:
    assert sorted(sizes(loaded(tmp_path, stated)).values()) == [2, 64, 256]


def test_what_depends_follows_and_what_is_set_does_not_depend(tmp_path: Path) -> None:
    stated = "rows: 2; hidden: 64; ffn: 4 * hidden"
    assert sorted(sizes(loaded(tmp_path, stated, hidden=32)).values()) == [2, 32, 128]
    assert sorted(sizes(loaded(tmp_path, stated, ffn=7, hidden=32)).values()) == [2, 7, 32]


def test_batch_may_be_used(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(FILE.format("  rows: 3 * batch\n  batch: 1\n  hidden: 8\n  ffn: 8\n"), encoding="utf-8")
    assert sizes(load_model(path, batch=4))["m"] == 12


MISTAKES = [
    ("rows: 2; hidden: ffn; ffn: 4 * hidden", "5:3: workload.parameters.hidden: depends on itself: hidden uses ffn uses"
     " hidden"),
    ("rows: rows; hidden: 1; ffn: 1", "4:3: workload.parameters.rows: depends on itself: rows uses rows"),
    ("rows: b; hidden: 1; ffn: 1; b: c; c: rows + 1", "rows uses b uses c uses rows"),
    ("rows: 2; hidden: 64; ffn: 4 * hiden", "6:3: workload.parameters.ffn: found '4 * hiden': 'hiden' is no parameter "
     "(did you mean 'hidden'?); known: rows, hidden"),
    ("rows: 2; hidden: 64; ffn: hidden - 65", "6:3: workload.parameters.ffn: found -1; allowed 0 or more"),
    ("rows: 2; hidden: 64; ffn: hidden - 64", "found 0; allowed 1 or more"),
    ("rows: 2; hidden: 64; ffn: hidden / 2", "6:3: workload.parameters.ffn: found 'hidden / 2': only whole numbers"),
    ("rows: 2; hidden: 64; ffn: 4 *", "6:3: workload.parameters.ffn: found '4 *': '4 *' is not arithmetic"),
    ("rows: 2; hidden: 64; ffn: 1.5", "6:3: workload.parameters.ffn: found 1.5; allowed a whole number or arithmetic"),
    ("rows: 2; hidden: 0; ffn: 8 // hidden", "6:3: workload.parameters.ffn: found '8 // hidden': a division by 0"),
]  # fmt: skip


@pytest.mark.parametrize(("stated", "said"), MISTAKES)
def test_mistakes_stand_at_their_key(tmp_path: Path, stated: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, stated)
    assert said in str(caught.value) and str(caught.value).startswith(f"{tmp_path / 'w.yaml'}:")


def test_a_ring_is_one_whatever_is_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="hidden uses ffn uses hidden"):
        loaded(tmp_path, "rows: 2; hidden: ffn; ffn: 4 * hidden", ffn=8)
    with pytest.raises(ConfigError, match=r"w\.yaml:5:3: workload.parameters.hidden: found -1; allowed 0 or more"):
        loaded(tmp_path, "rows: 2; hidden: 64; ffn: 4 * hidden", hidden=-1)


def test_long_chains_are_no_deep_ones(tmp_path: Path) -> None:
    chain = "; ".join(["rows: p1999", "hidden: 8", "ffn: 8", "p0: 1", *(f"p{n}: p{n - 1}" for n in range(1, 2000))])
    assert sizes(loaded(tmp_path, chain))["n"] == 8
