"""The cheapest way to reach every node from a root: Chu-Liu and Edmonds.

The 2016 survey, section 4, orders the queries of a cube with Gabow's algorithm for the same problem, which is
faster on graphs much larger than sets of queries are.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def find_arborescence(edges: Mapping[tuple[N, N], float], root: N) -> dict[N, N]:
    """Return for each node but the root the node that it is reached from, so that all edges together cost least.

    `edges` maps pairs (from, to) to costs; every node must be reachable from the root.

    >>> find_arborescence({("root", "a"): 5, ("root", "b"): 6, ("a", "b"): 1, ("b", "a"): 1}, "root")
    {'a': 'root', 'b': 'a'}
    """
    chosen = _cheapest_edges(edges, root)
    circle = _find_circle(chosen, root)
    if not circle:
        return chosen
    # One of the circle's edges has to go. With the circle as one node, an edge into it costs what it costs more
    # than the edge that it replaces.
    inside = min(circle, key=list(chosen).index)
    left: dict[tuple[N, N], float] = {}
    origin: dict[tuple[N, N], tuple[N, N]] = {}
    for (a, b), cost in edges.items():
        one, two = (inside if node in circle else node for node in (a, b))
        more = cost - edges[chosen[b], b] if b in circle else cost
        if one != two and more < left.get((one, two), float("inf")):
            left[one, two], origin[one, two] = more, (a, b)
    outside = find_arborescence(left, root)
    entered = {b: a for a, b in (origin[a, b] for b, a in outside.items())}
    return {node: entered.get(node, chosen[node]) for node in chosen}


def _cheapest_edges(edges: Mapping[tuple[N, N], float], root: N) -> dict[N, N]:
    """Return for each node the node from which the cheapest edge leads to it."""
    chosen: dict[N, N] = {}
    for (a, b), cost in edges.items():
        if b != root and a != b and (b not in chosen or cost < edges[chosen[b], b]):
            chosen[b] = a
    return chosen


def _find_circle(chosen: Mapping[N, N], root: N) -> set[N]:
    """Return the nodes of a circle among chosen edges, none if there is no circle."""
    done = {root}
    for start in chosen:
        path: dict[N, None] = {}
        node = start
        while node not in done and node not in path:
            path[node] = None
            node = chosen[node]
        if node in path:
            nodes = list(path)
            return set(nodes[nodes.index(node) :])
        done |= path.keys()
    return set()
