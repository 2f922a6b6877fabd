# mypy: ignore-errors
# pyright: basic
"""Graphs as dense matrices."""

import numpy as np


def floyd_warshall(weights):
    """All shortest distances, and whether there is a negative cycle."""
    dist = weights.copy()
    n = len(dist)
    for i in range(n):
        dist[i, i] = min(dist[i, i], 0.0)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i, k] + dist[k, j] < dist[i, j]:
                    dist[i, j] = dist[i, k] + dist[k, j]
    for i in range(n):
        if dist[i, i] < 0:
            return dist, True
    return dist, False


def bellman_ford(sources, targets, lengths, n, start):
    """Shortest distances along a list of edges; NaNs if a negative cycle can be reached."""
    dist = np.full(n, np.inf)
    dist[start] = 0.0
    for _ in range(n - 1):
        changed = False
        for u, v, w in zip(sources, targets, lengths, strict=True):
            if dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
                changed = True
        if not changed:
            break
    for u, v, w in zip(sources, targets, lengths, strict=True):
        if dist[u] + w < dist[v]:
            return np.full(n, np.nan)
    return dist


def dijkstra(weights, start):
    """Distances and predecessors; a weight of 0 is not an edge."""
    n = weights.shape[0]
    dist = np.full(n, np.inf)
    previous = np.full(n, -1)
    visited = np.zeros(n, dtype=bool)
    dist[start] = 0
    while True:
        best, u = np.inf, -1
        for i in range(n):
            if not visited[i] and dist[i] < best:
                best, u = dist[i], i
        if u < 0:
            break
        visited[u] = True
        for v in range(n):
            if weights[u, v] > 0 and not visited[v]:
                candidate = dist[u] + weights[u, v]
                if candidate < dist[v]:
                    dist[v] = candidate
                    previous[v] = u
    return dist, previous


def pagerank(links, damping, tol):
    """The share of visits of each page; a page without links leads to every page."""
    n = links.shape[0]
    out = links.sum(axis=1)
    transition = np.zeros((n, n))
    for i in range(n):
        if out[i] == 0:
            transition[i] = 1.0 / n
        else:
            transition[i] = links[i] / out[i]
    rank = np.ones(n) / n
    change = 1.0
    iterations = 0
    while change > tol:
        new = (1 - damping) / n + damping * (rank @ transition)
        change = np.abs(new - rank).sum()
        rank = new
        iterations += 1
    return rank, iterations


def components(adjacency):
    """The smallest node of each node's component, spread along edges until nothing changes."""
    labels = np.arange(adjacency.shape[0])
    changed = True
    while changed:
        changed = False
        for i in range(len(labels)):
            for j in range(len(labels)):
                if adjacency[i, j] and labels[j] < labels[i]:
                    labels[i] = labels[j]
                    changed = True
    return labels


def spanning_tree(weights):
    """Prim's algorithm: the length of the shortest tree and the parent of each node."""
    n = len(weights)
    in_tree = [False] * n
    in_tree[0] = True
    cost = weights[0].copy()
    parent = np.zeros(n, dtype=int)
    parent[0] = -1
    total = 0.0
    for _ in range(n - 1):
        best = -1
        for v in range(n):
            if not in_tree[v] and (best == -1 or cost[v] < cost[best]):
                best = v
        in_tree[best] = True
        total += cost[best]
        for v in range(n):
            if not in_tree[v] and weights[best, v] < cost[v]:
                cost[v] = weights[best, v]
                parent[v] = best
    return total, parent


def maze_distance(walls, start, goal):
    """The length of the shortest way through a maze, by a queue of cells, or -1."""
    rows, cols = walls.shape
    distance = -np.ones((rows, cols), dtype=int)
    queue = np.zeros((rows * cols, 2), dtype=int)
    queue[0] = start
    distance[start[0], start[1]] = 0
    head, tail = 0, 1
    while head < tail:
        r, c = queue[head]
        head += 1
        if r == goal[0] and c == goal[1]:
            return distance[r, c]
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            nr, nc = r + dr, c + dc
            if 0 <= nr < rows and 0 <= nc < cols and not walls[nr, nc] and distance[nr, nc] < 0:
                distance[nr, nc] = distance[r, c] + 1
                queue[tail] = nr, nc
                tail += 1
    return -1


def colour_greedily(adjacency):
    """The first free colour for each node in turn, and the number of colours."""
    n = adjacency.shape[0]
    colours = -np.ones(n, dtype=np.int32)
    for v in range(n):
        used = np.zeros(n, dtype=bool)
        for u in range(n):
            if adjacency[v, u] and colours[u] >= 0:
                used[colours[u]] = True
        c = 0
        while used[c]:
            c += 1
        colours[v] = c
    return colours, colours.max() + 1
