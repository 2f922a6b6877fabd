"""Answers for `programs.graphs`."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csgraph

from programs.checks.outcomes import Outcome


def floyd_warshall(got: Outcome, weights: Any) -> None:
    dist, is_negative = got.result
    if is_negative:
        with pytest.raises(csgraph.NegativeCycleError):
            csgraph.floyd_warshall(weights)
    else:
        assert_allclose(dist, csgraph.floyd_warshall(weights))


def bellman_ford(got: Outcome, sources: Any, targets: Any, lengths: Any, n: int, start: int) -> None:
    dist = previous = [0.0 if v == start else np.inf for v in range(n)]
    for _ in range(2 * n):  # a negative cycle that can be reached lowers a distance again and again
        previous = list(dist)
        for u, v, w in zip(sources, targets, lengths, strict=True):
            dist[v] = min(dist[v], previous[u] + w)
    assert_allclose(got.result, dist if dist == previous else [np.nan] * n)


def dijkstra(got: Outcome, weights: Any, start: int) -> None:
    dist, previous = got.result
    assert_allclose(dist, csgraph.dijkstra(weights, indices=start))
    for v, u in enumerate(previous):
        if u >= 0:
            assert_allclose(dist[v], dist[u] + weights[u, v])
        else:
            assert v == start or np.isinf(dist[v])


def pagerank(got: Outcome, links: Any, damping: float, tol: float) -> None:
    rank, iterations = got.result
    n = len(links)
    totals = links.sum(axis=1, keepdims=True)
    transition = np.divide(links, totals, out=np.full((n, n), 1 / n), where=totals > 0)
    google = damping * transition + (1 - damping) / n
    values: Any
    vectors: Any
    values, vectors = np.linalg.eig(google.T)
    stationary = vectors[:, np.argmax(values.real)].real
    assert_allclose(rank, stationary / stationary.sum(), atol=10 * tol)
    assert iterations > 1


def components(got: Outcome, adjacency: Any) -> None:
    _, labels = csgraph.connected_components(adjacency)
    smallest = [int(np.flatnonzero(labels == label)[0]) for label in labels]
    assert got.result.tolist() == smallest


def spanning_tree(got: Outcome, weights: Any) -> None:
    total, parent = got.result
    assert_allclose(total, csgraph.minimum_spanning_tree(weights).sum())
    assert_allclose(total, sum(weights[v, parent[v]] for v in range(1, len(weights))))


def maze_distance(got: Outcome, walls: Any, start: Any, goal: Any) -> None:
    rows, cols = walls.shape
    steps = np.abs(np.subtract.outer(np.arange(rows), np.arange(rows)))
    across = np.abs(np.subtract.outer(np.arange(cols), np.arange(cols)))
    is_next = (steps[:, None, :, None] + across[None, :, None, :]).reshape(walls.size, walls.size) == 1
    is_free = ~walls.ravel()
    distance = csgraph.shortest_path(is_next & is_free, unweighted=True, indices=start[0] * cols + start[1])
    expected = distance[goal[0] * cols + goal[1]]
    assert got.result == (-1 if np.isinf(expected) else expected)


def colour_greedily(got: Outcome, adjacency: Any) -> None:
    colours, number = got.result
    assert number == len(set(colours.tolist()))
    for v, colour in enumerate(colours):
        earlier = set(colours[:v][adjacency[v, :v]].tolist())
        assert colour not in earlier
        assert set(range(colour)) <= earlier
