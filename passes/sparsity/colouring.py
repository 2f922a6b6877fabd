"""Colour the columns of a pattern so that columns of the same colour can be computed together.

Curtis, Powell and Reid, "On the estimation of sparse Jacobian matrices" (1974): columns that share no row. Coleman
and Moré, "Estimation of sparse Jacobian matrices and graph coloring problems" (1983), as a graph problem, and
"Estimation of sparse Hessian matrices and graph coloring problems" (1984) for symmetric ones. All colourings here are
greedy: each column in turn gets the smallest free colour. A set of colours is an int with a bit for each.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ...compiler.dtypes import Array

Rows = Sequence[Sequence[int]]
"""Per row the columns in which it has an entry."""


def colour_columns(rows: Rows, columns: int) -> Array:
    """A colour per column; no row has entries in two columns of one colour.

    >>> colour_columns([[0, 1], [1, 2], [2, 3]], 4)
    array([0, 1, 0, 1])
    """
    rows_of: list[list[int]] = [[] for _ in range(columns)]
    for row, entries in enumerate(rows):
        for column in entries:
            rows_of[column].append(row)
    used = [0] * len(rows)
    colours = np.zeros(columns, int)
    for column in range(columns):
        taken = 0
        for row in rows_of[column]:
            taken |= used[row]
        colours[column] = colour = _least_free(taken)
        for row in rows_of[column]:
            used[row] |= 1 << colour
    return colours


def colour_neighbours(neighbours: Rows) -> Array:
    """A colour per vertex; neighbours differ. This is enough for the diagonal of a symmetric matrix.

    >>> colour_neighbours([[1], [0, 2], [1]])
    array([0, 1, 0])
    """
    colours = np.full(len(neighbours), -1)
    for vertex, around in enumerate(neighbours):
        taken = 0
        for other in around:
            if other != vertex and colours[other] >= 0:
                taken |= 1 << int(colours[other])
        colours[vertex] = _least_free(taken)
    return colours


def colour_stars(neighbours: Rows) -> Array:
    """A colour per vertex; neighbours differ, and every path of four vertices has at least three colours.

    Then each entry (i, j) of a symmetric matrix can be read off: in row i it is the only one among the columns of j's
    colour, or in row j the only one among those of i's. Gebremedhin, Manne and Pothen, "What color is your Jacobian?"
    (2005), section 6.

    >>> colour_stars([[1], [0, 2], [1, 3], [2]])
    array([0, 1, 0, 2])
    """
    colours = [-1] * len(neighbours)
    stars = _Stars(neighbours, colours)
    for vertex in range(len(neighbours)):
        colours[vertex] = _least_free(stars.forbidden(vertex))
        stars.coloured(vertex)
    return np.array(colours, int)


class _Stars:
    """The colours that a vertex may not have, kept up to date as other vertices are coloured."""

    def __init__(self, neighbours: Rows, colours: Sequence[int]) -> None:
        self.neighbours, self.colours = neighbours, colours
        count = len(neighbours)
        self.once, self.twice = [0] * count, [0] * count
        """The colours of at least one, and of at least two, of a vertex's neighbours."""
        self.first: list[dict[int, int]] = [{} for _ in range(count)]
        """Per vertex and colour: the first neighbour with that colour."""
        self.beyond = [0] * count
        """The colours of the neighbours that have another neighbour of this vertex's own colour."""

    def _coloured_around(self, vertex: int) -> Iterator[int]:
        return (w for w in self.neighbours[vertex] if w != vertex and self.colours[w] >= 0)

    def forbidden(self, vertex: int) -> int:
        taken = 0
        for w in self._coloured_around(vertex):
            taken |= 1 << self.colours[w]
            taken |= self.beyond[w]  # vertex – w – x – y with y coloured like w: vertex must differ from x
            if self.twice[vertex] >> self.colours[w] & 1:
                taken |= self.once[w]  # u – vertex – w – y with u coloured like w: vertex must differ from y
        return taken

    def coloured(self, vertex: int) -> None:
        """Record the vertex's colour."""
        bit = 1 << self.colours[vertex]
        for w in self._coloured_around(vertex):
            if self.twice[vertex] >> self.colours[w] & 1:
                self.beyond[w] |= bit
        for x in self.neighbours[vertex]:
            if x == vertex:
                continue
            if not self.once[x] & bit:
                self.once[x] |= bit
                self.first[x][self.colours[vertex]] = vertex
                continue
            self.twice[x] |= bit
            if self.colours[x] >= 0:
                self.beyond[vertex] |= 1 << self.colours[x]
                self.beyond[self.first[x][self.colours[vertex]]] |= 1 << self.colours[x]


def _least_free(taken: int) -> int:
    """The smallest colour that is not in the set."""
    return (~taken & (taken + 1)).bit_length() - 1
