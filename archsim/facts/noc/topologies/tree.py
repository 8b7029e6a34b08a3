"""Tree: one way between any two nodes; a source at the root reaches rows and columns by multicast (Eyeriss X and Y)."""

from __future__ import annotations

from collections.abc import Sequence

from archsim.facts.noc.topology import Link, NetworkNode, Topology, check_shape


def build(shape: Sequence[int], link_delay_cycles: int = 1) -> Topology:
    """``shape``: fan-out of each level from the root on; [12, 14]: a bus to 12 rows, on each one to 14 columns.

    Node 0 is at the root; nodes 1 to the product of ``shape`` are the leaves, in order. A router's output 0 leads up
    (of the root: to node 0), 1 and more down. A bus carries one flit a cycle to any number of its listeners.
    Source of the arrangement: Chen et al., "Eyeriss", JSSC 52(1), 2017, section V-B.
    """
    fans = check_shape("tree", shape, tuple(range(1, 5)))
    sizes = [1]
    for fan in fans[:-1]:
        sizes.append(sizes[-1] * fan)
    firsts = [sum(sizes[:level]) for level in range(len(sizes))]
    links = []
    for level in range(len(fans) - 1):
        for number in range(sizes[level + 1]):
            above, below = firsts[level] + number // fans[level], firsts[level + 1] + number
            links.append(Link(above, 1 + number % fans[level], below, 0, link_delay_cycles, 2 * level, 1))
            links.append(Link(below, 0, above, 1 + number % fans[level], link_delay_cycles, 2 * level + 1, -1))
    leaves = [
        NetworkNode(firsts[-1] + leaf // fans[-1], 1 + leaf % fans[-1], link_delay_cycles)
        for leaf in range(sizes[-1] * fans[-1])
    ]
    return Topology(
        name="tree",
        routers=sum(sizes),
        ports=1 + max(fans),
        links=tuple(links),
        nodes=(NetworkNode(0, 0, link_delay_cycles), *leaves),
        shape=fans,
        bisection_links=max(1, fans[0] // 2),
    )
