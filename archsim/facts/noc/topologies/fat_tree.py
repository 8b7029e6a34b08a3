"""Fat tree: nodes at the leaves, routers in levels with as many links upwards as downwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from archsim.facts.noc.topology import Link, NetworkNode, Topology, check_shape

_MOST_LEVELS = 64  # of arity 2 they are more nodes than any chip has


def nodes(shape: Sequence[int]) -> int:
    """Of arity k and n levels k^n, as far as that is worth working out: no network has as many as 2^64."""
    return int(shape[0] ** min(shape[1], 64)) if len(shape) == 2 else prod(shape)


def build(shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
    """``shape``: arity k and levels n: k^n nodes, n levels of k^(n-1) routers, each with k links down and, below the
    top, k up. Source: Petrini, Vanneschi, "k-ary n-trees", IPPS 1997.

    Router w of level l (0 at the nodes) is l k^(n-1) + w. Outputs 0 to k - 1 lead down, k to 2 k - 1 up. A packet
    climbs until its node is below, at level l by the link of the sum of digits l of its source's and its destination's
    leaf; the way down is the only one. So the ways from one node make a tree, and uniform traffic loads links alike.
    """
    arity, levels = check_shape("fat_tree", shape, (2,))
    width = arity ** (levels - 1)
    links = [link for level in range(levels - 1) for link in _between(level, arity, width, link_delay_cycles)]
    return Topology(
        name="fat_tree",
        routers=levels * width,
        ports=2 * arity,
        links=tuple(links),
        nodes=tuple(NetworkNode(node // arity, node % arity, link_delay_cycles) for node in range(arity * width)),
        shape=(arity, levels),
        route=tuple(
            tuple(_port(level, word, node, arity) for node in range(arity * width))
            for level in range(levels)
            for word in range(width)
        ),
        bisection_links=max(1, arity * width // 2),
    )


def _between(level: int, arity: int, width: int, delay: int) -> Iterator[Link]:
    """Each router of the level and those above it whose words differ in the digit of the level alone."""
    step = arity**level
    for word in range(width):
        digit = word // step % arity
        for up in range(arity):
            above = word + (up - digit) * step
            low, high = level * width + word, (level + 1) * width + above
            yield Link(low, arity + up, high, digit, delay, 2 * level, 1)
            yield Link(high, digit, low, arity + up, delay, 2 * level + 1, -1)


def _port(level: int, word: int, node: int, arity: int) -> int:
    """Down where the node is below the router, else up by the digits of its leaf and of the router at this level."""
    below = node // arity
    step = int(arity**level)
    if word // step == below // step:
        return node % arity if level == 0 else below // (step // arity) % arity
    return arity + (below // step + word // step) % arity
