"""One name for one thing: no public class stands for two, and the glossary says every word once."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict

from tests.tools.rooms import ROOT, plan

# What the compiler calls as archsim calls something else; its files are rebuilt with the ranking of mappings.
OF_THE_COMPILER = {"Axis", "Einsum", "Memory", "Nest", "Operand", "Part", "Search"}


def _classes() -> dict[str, list[str]]:
    """Public class names with the modules that define them."""
    found = defaultdict(list)
    for module, path in plan().files.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return found


def test_a_public_class_name_is_defined_once() -> None:
    several = {name: modules for name, modules in _classes().items() if len(modules) > 1}
    ours = {name: modules for name, modules in several.items() if any(each.startswith("archsim.") for each in modules)}
    assert {name: modules for name, modules in ours.items() if name not in OF_THE_COMPILER} == {}
    assert set(ours) == OF_THE_COMPILER  # one that is mended leaves the list


def test_a_kernel_is_a_users() -> None:
    """Compiled code is called compiled and the event loop events; a kernel is what somebody writes, or of a window."""
    named = [module for module in plan().files if "kernel" in module]
    assert named == []


def test_the_glossary_says_every_word_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    heads = [line.split("|")[1] for line in text.splitlines() if re.match(r"\| (?!word )\w", line)]
    words = Counter(word.strip() for head in heads for word in head.split(","))
    assert len(words) > 90 and [word for word, times in words.items() if times > 1] == []
