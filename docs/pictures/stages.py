"""The stages of one small function, each drawn as a graph: the pictures of the page that says how it works."""

from typing import Any

import numpy as np

import tracemill as tm
from tracemill.docs.pictures.graph_picture import graph_svg


def energy(x: Any, k: Any) -> Any:
    """That of a wave, for places f64[n] and a wave number."""
    return np.sum(np.sin(k * x) ** 2)


def stage_pictures() -> dict[str, str]:
    """SVG by the name of its file, without its ending."""
    x, k = np.zeros(1000), np.float64(2.0)
    gradient = tm.compile(tm.grad(energy), backend="c").lower(x, k)
    batch = tm.compile(tm.vmap(tm.grad(energy), in_dims=(0, None)), backend="c").lower(np.zeros((8, 1000)), k)
    return {
        "stage_traced": graph_svg(tm.compile(energy).lower(x, k).graph),
        "stage_gradient": graph_svg(gradient.graph),
        "stage_simplified": graph_svg(gradient.after("remove_dead_code")),
        "stage_batch": graph_svg(batch.after("remove_dead_code")),
        "stage_kernels": graph_svg(gradient.after("fuse")),
    }
