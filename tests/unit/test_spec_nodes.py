"""YAML text to nodes: places, exact scalars, and everything that is refused before it can do harm."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path

import pytest

from archsim.base.errors import ConfigError
from archsim.spec import nodes


def test_every_key_knows_its_place() -> None:
    root = nodes.parse("a: 1\nb:\n  c: [x, {d: 2}]\n", "file.yaml")
    assert str(root.mapping["a"].mark) == "file.yaml:1:1"
    assert str(root.mapping["b"].mapping["c"].mark) == "file.yaml:3:3"
    assert str(root.mapping["b"].mapping["c"].items[1].mapping["d"].mark) == "file.yaml:3:11"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("-4", -4),
        ("010", 10),
        ("0.1", Decimal("0.1")),
        ("1/2", "1/2"),
        ("no", "no"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("true", True),
        ("~", None),
        (".inf", ".inf"),
        ("'4'", "4"),
        ("9" * 50, "9" * 50),
        ("1e5", "1e5"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    found = nodes.parse(f"key: {text}").mapping["key"].value
    assert found == value
    assert type(found) is type(value)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
REFUSED = [
    ("a: 1\na: 2\n", "f:2:1: duplicate key 'a', first at line 1"),
    ("a: {b: 1, b: 2}\n", "f:1:11: duplicate key 'b'"),
    ("a: !!python/object/apply:os.system [true]\n", "f:1:4: tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
    ("!!python/name:os.system\n", "tag"),
    ("a: !!int '4'\n", "tag"),
    ("a: !mine 4\n", "tag '!mine' is refused"),
    (BOMB, "more than 20000 values"),
    ("a: &a 1\nb: [" + "*a, " * 101 + "]\n", "more than 100 aliases"),
    ("a: ! 4\n", "tag '!' is refused"),
    ("a: &a [*a]\n", "no finished anchor"),
    ("a: *nobody\n", "nobody"),
    ("a:\n\tb: 1\n", "f:2:1: a tab as indentation; allowed spaces"),
    ("- 1\n- 2\n", "f:1:1: the document is not a mapping"),
    ("just text\n", "not a mapping"),
    ("", "f:1:1: empty"),
    ("# only a comment\n", "f:1:1: empty"),
    ("a: 1\n---\nb: 2\n", "f:2:1: a second document"),
    ("? [1, 2]\n: 3\n", "a key is not plain text"),
    ("a: [1\n", "not YAML"),
    ("a: 'x\n", "not YAML"),
    ("a: \x00\n", "not YAML"),
    ("a: " + "[" * 40 + "]" * 40, "nested deeper than 32"),
    ("a: " + "[" * 5000 + "]" * 5000, "f:1:"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[case[1] for case in REFUSED])
def test_refused(text: str, message: str) -> None:
    start = time.process_time()
    with pytest.raises(ConfigError) as error:
        nodes.parse(text, "f")
    assert message in str(error.value)
    assert time.process_time() - start < 1


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        nodes.read(tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        nodes.read(tmp_path)
    big = tmp_path / "big.yaml"
    big.write_text("a: " + "x" * nodes.MAX_BYTES)
    with pytest.raises(ConfigError, match="at most 1 MiB"):
        nodes.read(big)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: \xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        nodes.read(binary)


def test_aliases_within_limits_are_copies() -> None:
    root = nodes.parse("a: &a {x: 1}\nb: *a\n")
    assert root.plain() == {"a": {"x": 1}, "b": {"x": 1}}
    assert root.mapping["a"].value is not root.mapping["b"].value
