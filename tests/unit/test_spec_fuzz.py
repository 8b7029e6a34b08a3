"""Whatever a chip file holds, the answer is a chip or an ArchsimError: never another exception, never a hang."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from archsim.base.errors import ArchsimError, ConfigError
from archsim.spec import load

pytestmark = pytest.mark.slow  # quantified over many documents

ROOT = Path(__file__).resolve().parents[2]
CHIPS = [
    ROOT / "tests/golden/chip.yaml",
    ROOT / "configs/accelerators/tpu_v1.yaml",
    ROOT / "configs/accelerators/simba.yaml",
]
VALUES: list[object] = [
    None,
    True,
    0,
    -1,
    1.5,
    float("inf"),
    "",
    "x",
    "1 GHz",
    "1e99 B",
    "all",
    [],
    [1],
    {},
    {"all": 1},
    {"x": {}},
]
VALUES += ["./chip.yaml", "constant", "array", "int8", [["kv"]], {"read": "1 pJ"}, [{"axis": "rows"}], 10**30]


def places(node: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Paths of everything in a document."""
    found = [path] if path else []
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in entries:
        found += places(child, (*path, key))
    return found


def mutate(document: dict[str, object], rng: random.Random) -> None:
    """Delete, replace, rename or double one thing somewhere."""
    *way, last = rng.choice(places(document))
    holder: object = document
    for step in way:
        holder = holder[step]  # type: ignore[index]
    change = rng.randrange(4)
    if change == 0:
        del holder[last]  # type: ignore[attr-defined]
    elif change == 1 and isinstance(holder, dict):
        holder[rng.choice(["name", "kind", "size", "array", "sources", "extends", str(last)[:-1]])] = holder.pop(last)
    elif change == 2 and isinstance(holder, list):
        holder.append(deepcopy(holder[0]))
    else:
        holder[last] = deepcopy(rng.choice(VALUES))  # type: ignore[index]


@pytest.mark.parametrize("path", CHIPS, ids=[path.stem for path in CHIPS])
def test_mutated_chips_never_crash(path: Path) -> None:
    rng = random.Random(1)
    good = path.read_text(encoding="utf-8")
    original = yaml.safe_load(good)
    refused = 0
    for _ in range(100):
        document = deepcopy(original)
        for _ in range(rng.randint(1, 3)):
            mutate(document, rng)
        text = json.dumps(document)
        try:
            chip = load.loads(text, file=str(path))
        except ArchsimError as error:
            refused += 1
            assert str(path) in str(error) or "no chip" in str(error), text
        else:
            assert load.loads(load.to_yaml(chip)) == chip, text
    assert 40 < refused < 100


def test_mutated_text_never_crashes() -> None:
    rng = random.Random(2)
    good = CHIPS[0].read_text(encoding="utf-8")
    for _ in range(100):
        at = rng.randrange(len(good))
        text = good[:at] + rng.choice("{}[]:,-#&*!|>'\"%@`\t\n \x00é") + good[at + rng.randrange(3) :]
        try:
            load.loads(text)
        except ArchsimError:
            continue


def test_random_options_never_crash() -> None:
    rng = random.Random(3)
    paths = [*load.key_paths("edge_npu"), "mxu.rates.int8xint4", "l1.energy.read", "mxu.fanouts.x", "a.b.c", "", "."]
    for _ in range(100):
        values = {rng.choice(paths): rng.choice(VALUES) for _ in range(2)}
        try:
            load.load("edge_npu", values)
        except ConfigError as error:
            assert "--set" in str(error) or "edge_npu.yaml" in str(error)
        except ArchsimError:
            continue
