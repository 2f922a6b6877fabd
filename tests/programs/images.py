# mypy: ignore-errors
# pyright: basic
"""Images and grids of cells."""

import numpy as np


def mandelbrot(width, height, limit):
    """How many steps each point takes to escape."""
    image = np.zeros((height, width), dtype=np.int32)
    for row in range(height):
        for col in range(width):
            c = complex(-2.0 + 3.0 * col / width, -1.2 + 2.4 * row / height)
            z = 0j
            n = 0
            while abs(z) <= 2 and n < limit:
                z = z * z + c
                n += 1
            image[row, col] = n
    return image


def escape_time(c, limit):
    """The same for one point, smooth between steps; `limit` if it does not escape."""
    z = 0j
    for n in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 1e4:
            return n + 1 - np.log2(np.log(np.abs(z)))
    return float(limit)


def game_of_life(board, generations):
    """Until the board no longer changes, or for `generations`; beyond the edges all is dead."""
    rows, cols = board.shape
    age = 0
    while age < generations:
        new = np.zeros_like(board)
        for r in range(rows):
            for c in range(cols):
                neighbours = 0
                for dr in (-1, 0, 1):
                    for dc in (-1, 0, 1):
                        if (dr or dc) and 0 <= r + dr < rows and 0 <= c + dc < cols:
                            neighbours += board[r + dr, c + dc]
                if neighbours == 3 or (neighbours == 2 and board[r, c]):
                    new[r, c] = 1
        age += 1
        if (new == board).all():
            break
        board = new
    return board, age


def elementary_automaton(start, rule, generations):
    """Wolfram's automata on a ring, a row per generation."""
    n = len(start)
    history = np.zeros((generations + 1, n), dtype=np.uint8)
    history[0] = start
    for t in range(generations):
        for i in range(n):
            pattern = 4 * int(history[t, i - 1]) + 2 * int(history[t, i]) + int(history[t, (i + 1) % n])
            if rule >> pattern & 1:
                history[t + 1, i] = 1
    return history


def forest_fire(trees, spark):
    """Burn from a cell until the fire is out: 0 empty, 1 tree, 2 burning, 3 burnt. Returns the hours, too."""
    forest = trees.copy()
    r, c = spark
    if forest[r, c] != 1:
        return forest, 0
    forest[r, c] = 2
    hours = 0
    while np.any(forest == 2):
        burning = forest == 2
        near = np.zeros_like(burning)
        near[1:] |= burning[:-1]
        near[:-1] |= burning[1:]
        near[:, 1:] |= burning[:, :-1]
        near[:, :-1] |= burning[:, 1:]
        forest = np.where(burning, 3, np.where(near & (forest == 1), 2, forest))
        hours += 1
    return forest, hours


def sobel(image, border):
    """The strength of edges, with a border that is repeated, mirrored or zero."""
    rows, cols = image.shape
    out = np.zeros((rows, cols))
    kernel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])
    for r in range(rows):
        for c in range(cols):
            gx = gy = 0.0
            for i in range(-1, 2):
                for j in range(-1, 2):
                    y, x = r + i, c + j
                    if border == "repeat":
                        y = min(max(y, 0), rows - 1)
                        x = min(max(x, 0), cols - 1)
                    elif border == "mirror":
                        y = abs(y) if y < rows else 2 * rows - 2 - y
                        x = abs(x) if x < cols else 2 * cols - 2 - x
                    elif not (0 <= y < rows and 0 <= x < cols):
                        continue
                    gx += kernel[i + 1, j + 1] * image[y, x]
                    gy += kernel[j + 1, i + 1] * image[y, x]
            out[r, c] = np.sqrt(gx**2 + gy**2)
    return out


def dither(image):
    """Black and white by Floyd and Steinberg's diffusion of errors, in place."""
    rows, cols = image.shape
    for y in range(rows):
        for x in range(cols):
            old = image[y, x]
            new = 1.0 if old >= 0.5 else 0.0
            image[y, x] = new
            error = old - new
            if x + 1 < cols:
                image[y, x + 1] += error * 7 / 16
            if y + 1 < rows:
                if x > 0:
                    image[y + 1, x - 1] += error * 3 / 16
                image[y + 1, x] += error * 5 / 16
                if x + 1 < cols:
                    image[y + 1, x + 1] += error / 16


def otsu_threshold(image):
    """The grey level that parts an image of bytes best into dark and bright."""
    histogram = np.zeros(256)
    for value in image.ravel():
        histogram[value] += 1
    total = image.size
    weighted = np.arange(256) @ histogram
    best, threshold = -1.0, 0
    below = sum_below = 0.0
    for t in range(256):
        below += histogram[t]
        if below == 0:
            continue
        above = total - below
        if above == 0:
            break
        sum_below += t * histogram[t]
        gap = sum_below / below - (weighted - sum_below) / above
        between = below * above * gap**2
        if between > best:
            best, threshold = between, t
    return threshold


def label_regions(mask):
    """Regions of cells that touch at edges: the largest label spreads through each; returns their number, too."""
    rows, cols = mask.shape
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    while True:
        old = labels.copy()
        for r in range(rows):
            for c in range(cols):
                if labels[r, c] == 0:
                    continue
                if r > 0 and labels[r - 1, c] > labels[r, c]:
                    labels[r, c] = labels[r - 1, c]
                if c > 0 and labels[r, c - 1] > labels[r, c]:
                    labels[r, c] = labels[r, c - 1]
                if r + 1 < rows and labels[r + 1, c] > labels[r, c]:
                    labels[r, c] = labels[r + 1, c]
                if c + 1 < cols and labels[r, c + 1] > labels[r, c]:
                    labels[r, c] = labels[r, c + 1]
        if np.all(labels == old):
            break
    seen = np.zeros(mask.size + 1, dtype=bool)
    for label in labels.flat:
        seen[label] = True
    return labels, seen[1:].sum()


def line(image, x0, y0, x1, y1):
    """Bresenham's line, drawn into an image; returns the number of points."""
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx = 1 if x0 < x1 else -1
    sy = 1 if y0 < y1 else -1
    error = dx + dy
    points = 0
    while True:
        image[y0, x0] = 1
        points += 1
        if x0 == x1 and y0 == y1:
            break
        doubled = 2 * error
        if doubled >= dy:
            error += dy
            x0 += sx
        if doubled <= dx:
            error += dx
            y0 += sy
    return points
