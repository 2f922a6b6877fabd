"""The derivative of attention by its weights, and the transpose of that, against their formulas in long double."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler.errors import ShapeError
from tracemill.compiler.ir import Shape


def _softmax_backward(change: Any, weights: Any) -> Any:
    return weights * (change - np.sum(change * weights, -1, keepdims=True))


def sum_to(x: Any, shape: Shape) -> Any:
    """Summed along the axes that `shape` lacks or has one entry of."""
    lead = x.ndim - len(shape)
    axes = tuple(axis + lead for axis, dim in enumerate(shape) if dim == 1)
    return np.reshape(np.sum(x, (*range(lead), *axes)), shape)


def _tangent(*values: Any, scale: float, wrt: tuple[int, ...]) -> Any:
    *tangents, query, key, value, weights = values
    moving = dict(zip(wrt, tangents, strict=True))
    dq, dk, dv, dmask = (moving.get(place, 0 * x) for place, x in enumerate((query, key, value, weights)))
    scores = np.longdouble(scale) * (
        np.einsum("...le,...se->...ls", dq, key) + np.einsum("...le,...se->...ls", query, dk)
    )
    change = _softmax_backward(scores + dmask, weights)
    return np.einsum("...ls,...sv->...lv", change, value) + np.einsum("...ls,...sv->...lv", weights, dv)


def _gradient(
    ct: Any,
    query: Any,
    key: Any,
    value: Any,
    weights: Any,
    scale: float,
    wrt: tuple[int, ...],
    mask_shape: Shape,
) -> Any:
    change = _softmax_backward(np.einsum("...lv,...sv->...ls", ct, value), weights)
    scaled = np.longdouble(scale) * change
    found = (
        sum_to(np.einsum("...ls,...se->...le", scaled, key), query.shape),
        sum_to(np.einsum("...ls,...le->...se", scaled, query), key.shape),
        sum_to(np.einsum("...ls,...lv->...sv", weights, ct), value.shape),
    )
    return tuple(sum_to(change, mask_shape) if place == 3 else found[place] for place in wrt)


SHARED: dict[str, Any] = {"ulps": 2048, "signed_zeros": False}
SEVERAL: dict[str, Any] = {**SHARED, "label": "several"}
"""For this many inputs, mapping each along each axis would take minutes."""
QKV = ((2, 3), (4, 3), (4, 2))
GROUPED = ((2, 1, 3, 2), (2, 2, 2), (2, 2, 3))


def _tangents(shapes: tuple[Shape, ...], weights: Shape, dtypes: Any, *wrt: int, mask: Shape = ()) -> Sample:
    known = (*shapes, weights)
    moving = tuple(mask if place == 3 else shapes[place] for place in wrt)
    params = {"scale": 0.5, "wrt": wrt}
    names = dtypes if isinstance(dtypes, str) else (dtypes[0],) * (len(wrt) + 3) + (dtypes[1],)
    return Sample(
        "attention_tangent",
        (*moving, *known),
        names,
        params,
        reference=_tangent,
        **(SHARED if len(wrt) == 1 else SEVERAL),
    )


def _gradients(
    ct: Shape, shapes: tuple[Shape, ...], weights: Shape, dtypes: Any, *wrt: int, mask: Shape = ()
) -> Sample:
    params = {"scale": 0.5, "wrt": wrt, "mask_shape": mask}
    names = dtypes if isinstance(dtypes, str) else (dtypes[0],) * 4 + (dtypes[1],)
    return Sample(
        "attention_gradient",
        (ct, *shapes, weights),
        names,
        params,
        reference=_gradient,
        **(SHARED if len(ct) == 2 else SEVERAL),
    )


SAMPLES: tuple[Sample, ...] = (
    _tangents(QKV, (2, 4), "f64", 0, 1, 2, 3, mask=(4,)),
    *(_tangents(QKV, (2, 4), "f64", place, mask=(2, 1)) for place in range(4)),
    _tangents(GROUPED, (2, 2, 3, 2), "f64", 0, 1, 3, mask=(3, 1)),
    _tangents(QKV, (2, 4), ("bf16", "f32"), 0, 1, 2),
    _gradients((2, 2), QKV, (2, 4), "f64", 0, 1, 2, 3, mask=(4,)),
    _gradients((2, 2, 3, 3), GROUPED, (2, 2, 3, 2), "f64", 0, 2, 3, mask=(3, 1)),
    _gradients((2, 2), QKV, (2, 4), "f32", 1),
    _gradients((2, 2), QKV, (2, 4), ("f16", "f32"), 0, 1, 2),
)
FAILURES: tuple[Failure, ...] = (
    Failure("attention_tangent", ((2, 2), *QKV, (2, 4)), "f64", ShapeError, "do not fit", {"scale": 1.0, "wrt": (0,)}),
    Failure("attention_gradient", ((2, 2), *QKV, (2, 3)), "f64", ShapeError, "weights are",
            {"scale": 1.0, "wrt": (0,), "mask_shape": ()}),
    Failure("attention_gradient", ((2, 3), *QKV, (2, 4)), "f64", ShapeError, "by weights",
            {"scale": 1.0, "wrt": (0,), "mask_shape": ()}),
)  # fmt: skip
