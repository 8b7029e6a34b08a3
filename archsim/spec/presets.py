"""Physical links by name: `phy: ucie_advanced` stands for the numbers of a file in configs/links, and their sources."""

from __future__ import annotations

from archsim.base.errors import nearest
from archsim.spec.locate import config_files
from archsim.spec.nodes import Node, read
from archsim.spec.problems import Problems
from archsim.spec.tree import placed

KIND = "links"
_KEY = "phy"
_NOT_NUMBERS = ("schema", "name", "description", "source", "sources")


def expand(root: Node) -> None:
    """Write the numbers of a preset where a network names one. Raises ConfigError for a name that is not there."""
    problems = Problems()
    for part in placed(root):
        named = part.node.mapping.get(_KEY)
        if part.kind == "noc" and named is not None and isinstance(named.value, str):
            _expand(part.node, named, f"{part.name}.{_KEY}", problems)
    problems.raise_all()


def _expand(section: Node, named: Node, path: str, problems: Problems) -> None:
    name, known = str(named.value), config_files(KIND)
    if name in known:
        section.mapping[_KEY] = Node(preset(name).value, named.mark)
        return
    allowed = f"{', '.join(known)}, or a mapping of its keys"
    problems.add(named.mark, path, f"found '{name}'; allowed {allowed}{nearest(name, known)}")


def preset(name: str) -> Node:
    """The numbers of a file in configs/links, each with its source. Raises ConfigError for one without."""
    from archsim.spec import tables
    from archsim.spec.schema_tables import Link

    document = read(config_files(KIND)[name])
    link = tables.of_node(document, Link)
    found = Node({}, document.mark)
    for key, node in document.mapping.items():
        if key not in _NOT_NUMBERS:
            source = link.sources[key]
            node.source = source if source.startswith("estimated:") else f"{name}: {source}"
            found.mapping[key] = node
    return found
