"""Writes torch.npz: what PyTorch gives for the calls in cases.py. PyTorch is not a dependency of the tests.

Run it in tests/, where torch is installed: ``python -m reference.make_torch``. All is in float64 on the CPU. For the
case at place k in "ids" the file holds, under "k/name": the arguments x0, x1, …; the outputs y0, …; the cotangent
"ct" of y0; the gradients g0, … that it gives; directions v0, … for these; and h0, …, the gradients of the sum of g·v,
where PyTorch has them: its third derivatives of normalisation take the statistics for constants, so that there are
none for the backward functions. "moving" says which arguments are differentiated, "torch" is the version.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from reference.cases import CASES, Case

aten = torch.ops.aten


def _classes(reduction: str) -> int:
    return ("none", "mean", "sum").index(reduction)


def _layer_norm_backward(ct: Any, x: Any, weight: Any, bias: Any, shape: Any) -> Any:
    _, mean, rstd = torch.native_layer_norm(x.detach(), shape, None, None, 1e-5)
    mask = [True, weight is not None, bias is not None]
    return aten.native_layer_norm_backward(ct, x, shape, mean, rstd, weight, bias, mask)


def _batch_norm(x: Any, mean: Any, var: Any, weight: Any, bias: Any, **options: Any) -> Any:
    mean, var = (None if one is None else one.detach().clone() for one in (mean, var))
    return (
        functional.batch_norm(x, mean, var, weight, bias, **options),
        *(one for one in (mean, var) if one is not None),
    )


def _batch_norm_backward(ct: Any, x: Any, weight: Any, mean: Any, var: Any, training: bool) -> Any:
    _, save_mean, save_rstd = torch.native_batch_norm(
        x.detach(), None, None, mean.detach().clone(), var.detach().clone(), training, 0.1, 1e-5
    )
    return aten.native_batch_norm_backward(
        ct, x, weight, mean.detach(), var.detach(), save_mean, save_rstd, training, 1e-5,
        [True, weight is not None, True],
    )  # fmt: skip


def _nll_loss_backward(ct: Any, x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    name = "nll_loss2d" if x.ndim == 4 else "nll_loss"
    given: tuple[Any, ...] = (x, target, weight, _classes(reduction), ignore_index)
    _, total = getattr(aten, f"{name}_forward")(
        *(one.detach() if hasattr(one, "detach") else one for one in given)
    )
    return getattr(aten, f"{name}_backward")(ct, *given, total)


FUNCTIONS: dict[str, Any] = {
    "log_sigmoid": functional.logsigmoid,
    "hard_sigmoid": lambda x: (
        functional.relu6(x + 3) / 6
    ),  # functional.hardsigmoid has its 1/6 in single precision
    "hard_swish": functional.hardswish,
    "hard_tanh": functional.hardtanh,
    "gelu": lambda x, approximate=False: functional.gelu(x, approximate="tanh" if approximate else "none"),
    "softplus": lambda x, beta=1.0: functional.softplus(x, beta=beta, threshold=100),
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
    "logsumexp": torch.logsumexp,
    "softmax_backward": lambda ct, y, axis: aten._softmax_backward_data(ct, y, axis, torch.float64),
    "log_softmax_backward": lambda ct, y, axis: aten._log_softmax_backward_data(ct, y, axis, torch.float64),
    "layer_norm": lambda x, weight, bias, shape, eps=1e-5: functional.layer_norm(x, shape, weight, bias, eps),
    "layer_norm_backward": _layer_norm_backward,
    "rms_norm": lambda x, weight, shape, eps: functional.rms_norm(x, shape, weight, eps),
    "group_norm": lambda x, weight, bias, groups: functional.group_norm(x, groups, weight, bias),
    "instance_norm": lambda x, weight, bias: functional.instance_norm(x, weight=weight, bias=bias),
    "batch_norm": _batch_norm,
    "batch_norm_backward": _batch_norm_backward,
    "nll_loss": lambda x, t, weight, **options: functional.nll_loss(x, t, weight=weight, **options),
    "cross_entropy": lambda x, t, weight, **options: functional.cross_entropy(x, t, weight=weight, **options),
    "nll_loss_backward": _nll_loss_backward,
    "binary_cross_entropy_with_logits": lambda x, t, weight, pos_weight: (
        functional.binary_cross_entropy_with_logits(x, t, weight, pos_weight=pos_weight)
    ),
    "attention": lambda q, k, v, mask, causal=False, scale=None: functional.scaled_dot_product_attention(
        q, k, v, mask, is_causal=causal, scale=scale
    ),
    "trace": lambda x: torch.sum(torch.diagonal(x)),
}
THIRD = ("layer_norm_backward", "batch_norm_backward")
CONSTANT = {
    "batch_norm": (1, 2),
    "batch_norm_backward": (3, 4),
    "layer_norm_backward": (3,),
    "nll_loss": (2,),
    "nll_loss_backward": (1, 3),
    "cross_entropy": (2,),
    "binary_cross_entropy_with_logits": (2, 3),
}
"""The arguments by number that PyTorch does not differentiate, or not twice."""


def drawn(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    if kind == "classes":
        return torch.tensor(rng.integers(0, 3, shape))
    if kind == "booleans":
        entries = rng.integers(0, 2, shape).astype(bool)
        entries[..., 0] = True  # every query sees a key
        return torch.tensor(entries)
    return torch.tensor(rng.uniform(0.1, 0.9, shape) if kind == "positive" else rng.uniform(-2.5, 2.5, shape))


def second_order(first: Any, directions: Any, moving: Any) -> Any:
    """The gradients of the sum of g·v; none where PyTorch has no second derivative."""
    total: Any = sum(torch.sum(g * v) for g, v in zip(first, directions, strict=True))
    if not total.requires_grad:
        return [torch.zeros_like(x) for x in moving]
    try:
        return torch.autograd.grad(total, moving, materialize_grads=True)
    except (RuntimeError, NotImplementedError) as error:
        if "derivative for" not in str(error) and "undefined Tensor" not in str(error):
            raise
        return []


def values(case: Case, rng: np.random.Generator) -> dict[str, Any]:
    arguments = [None if a is None else drawn(a[0], a[1], rng) for a in case.arguments]
    function = FUNCTIONS.get(case.function) or getattr(functional, case.function)
    moving = [
        x
        for i, x in enumerate(arguments)
        if x is not None and x.is_floating_point() and i not in CONSTANT.get(case.function, ())
    ]
    for x in moving:
        x.requires_grad_(True)
    outputs = function(*arguments, **case.options)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    ct = torch.tensor(rng.normal(size=tuple(outputs[0].shape)))
    first = torch.autograd.grad(outputs[0], moving, ct, create_graph=True, materialize_grads=True)
    directions = [torch.tensor(rng.normal(size=tuple(g.shape))) for g in first]
    second = [] if case.function in THIRD else second_order(first, directions, moving)
    found = {f"x{i}": x for i, x in enumerate(arguments) if x is not None}
    found |= {f"y{i}": y for i, y in enumerate(outputs) if y is not None}
    found |= {"ct": ct, "moving": torch.tensor([any(x is m for m in moving) for x in arguments])}
    for name, tensors in (("g", first), ("v", directions), ("h", second)):
        found |= {f"{name}{i}": tensor for i, tensor in enumerate(tensors)}
    return {name: tensor.detach().numpy(force=True) for name, tensor in found.items()}


def main() -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "torch": np.array(torch.__version__),
        "ids": np.array([case.id for case in CASES]),
    }
    for k, case in enumerate(CASES):
        arrays |= {f"{k}/{name}": array for name, array in values(case, rng).items()}
    np.savez_compressed(Path(__file__).with_name("torch.npz"), **arrays)


if __name__ == "__main__":
    main()
