"""The calls with values, gradients and second derivatives stored from PyTorch: inputs and options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A call of a function of `tracemill.nn`. An argument is None, or where its entries come from and its shape."""

    function: str
    arguments: tuple[tuple[str, Shape] | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def id(self) -> str:
        shapes = ",".join("none" if a is None else f"{a[0]}{list(a[1])}" for a in self.arguments)
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.function}({shapes}){options}".replace(" ", "")


def real(*shape: int) -> tuple[str, Shape]:
    return "real", shape


def positive(*shape: int) -> tuple[str, Shape]:
    return "positive", shape


def classes(*shape: int) -> tuple[str, Shape]:
    """Integers from 0 to 2."""
    return "classes", shape


def booleans(*shape: int) -> tuple[str, Shape]:
    return "booleans", shape


ACTIVATIONS = (
    *(Case(name, (real(7),)) for name in ("relu", "relu6", "leaky_relu", "elu", "selu", "sigmoid", "log_sigmoid",
      "softplus", "silu", "mish", "gelu", "hard_tanh", "hard_sigmoid", "hard_swish")),
    Case("gelu", (real(7),), {"approximate": True}),
    Case("elu", (real(7),), {"alpha": 1.5}),
    Case("softplus", (real(7),), {"beta": 2.0}),
    Case("leaky_relu", (real(7),), {"negative_slope": 0.2}),
)  # fmt: skip
SOFTMAX = (
    *(
        Case(name, (real(3, 4),), {"axis": axis})
        for name in ("softmax", "log_softmax", "logsumexp")
        for axis in (0, 1)
    ),
    Case("logsumexp", (real(2, 3, 2),), {"axis": (0, 2)}),
    Case("softmax", (real(0, 4),), {"axis": 1}),
    Case("softmax_backward", (real(3, 4), real(3, 4)), {"axis": 1}),
    Case("log_softmax_backward", (real(3, 4), real(3, 4)), {"axis": 0}),
)
NORMALIZATION = (
    Case("layer_norm", (real(4, 5), real(5), real(5)), {"shape": (5,)}),
    Case("layer_norm", (real(3, 2, 4), None, real(2, 4)), {"shape": (2, 4), "eps": 0.1}),
    Case("layer_norm", (real(4, 5), real(5), None), {"shape": (5,)}),
    Case("layer_norm", (real(0, 5), real(5), real(5)), {"shape": (5,)}),
    Case("layer_norm_backward", (real(4, 5), real(4, 5), real(5), real(5)), {"shape": (5,)}),
    Case("layer_norm_backward", (real(3, 2, 4), real(3, 2, 4), None, None), {"shape": (2, 4)}),
    Case("layer_norm_backward", (real(0, 5), real(0, 5), real(5), real(5)), {"shape": (5,)}),
    Case("rms_norm", (real(4, 5), real(5)), {"shape": (5,), "eps": 0.1}),
    Case("rms_norm", (real(4, 5), None), {"shape": (4, 5), "eps": 1e-6}),
    Case("group_norm", (real(3, 4, 2), real(4), real(4)), {"groups": 2}),
    Case("group_norm", (real(3, 6), None, None), {"groups": 3}),
    Case("instance_norm", (real(2, 3, 4), real(3), real(3))),
    *(
        Case("batch_norm", (real(*shape), real(3), positive(3), weight, weight), {"training": training})
        for shape in ((4, 3), (2, 3, 2, 2))
        for weight in (None, real(3))
        for training in (True, False)
    ),
    Case(
        "batch_norm",
        (real(4, 3), None, None, real(3), None),
        {"training": True, "momentum": 0.5, "eps": 0.01},
    ),
    *(
        Case(
            "batch_norm_backward",
            (real(4, 3, 2), real(4, 3, 2), weight, real(3), positive(3)),
            {"training": training},
        )
        for weight in (None, real(3))
        for training in (True, False)
    ),
)
LOSSES = (
    *(
        Case("nll_loss", (real(*x), classes(*target), weight), {"ignore_index": ignored, "reduction": reduction})
        for x, target in (((5, 3), (5,)), ((2, 3, 2, 2), (2, 2, 2)), ((3,), ()))
        for weight in (None, positive(3))
        for ignored in (-100, 1)
        for reduction in ("mean", "sum", "none")
        if x != (3,) or ignored == -100
    ),
    *(
        Case("nll_loss_backward", (real(*ct), real(*x), classes(*target), positive(3)),
             {"ignore_index": 1, "reduction": reduction})
        for ct, x, target, reduction in (
            ((), (5, 3), (5,), "mean"), ((5,), (5, 3), (5,), "none"), ((), (2, 3, 2, 2), (2, 2, 2), "sum"),
        )
    ),
    *(
        Case("cross_entropy", (real(*x), classes(*target), weight),
             {"ignore_index": 1, "reduction": reduction, "label_smoothing": smoothing})
        for x, target in (((5, 3), (5,)), ((2, 3, 2), (2, 2)))
        for weight in (None, positive(3))
        for reduction in ("mean", "sum", "none")
        for smoothing in (0.0, 0.1)
    ),
    *(
        Case("cross_entropy", (real(5, 3), positive(5, 3), weight), {"reduction": reduction, "label_smoothing": 0.1})
        for weight in (None, positive(3))
        for reduction in ("mean", "sum", "none")
    ),
    *(
        Case("binary_cross_entropy_with_logits", (real(4, 3), positive(4, 3), weight, pos_weight))
        for weight in (None, positive(3))
        for pos_weight in (None, positive(3))
    ),
    *(Case(name, (real(4, 3), real(4, 3)), {"reduction": reduction})
      for name in ("mse_loss", "l1_loss", "huber_loss") for reduction in ("mean", "sum", "none")),
    Case("huber_loss", (real(9), real(9)), {"delta": 0.5}),
)  # fmt: skip
ATTENTION = (
    Case("attention", (real(2, 4, 3), real(2, 5, 3), real(2, 5, 2), None)),
    Case("attention", (real(4, 3), real(4, 3), real(4, 2), None), {"causal": True}),
    Case("attention", (real(2, 4, 3), real(2, 5, 3), real(2, 5, 2), real(4, 5)), {"scale": 0.7}),
    Case("attention", (real(2, 4, 3), real(2, 5, 3), real(2, 5, 2), booleans(2, 4, 5))),
)
OTHERS = (Case("trace", (real(3, 3),)), Case("trace", (real(2, 4),)))
CASES: tuple[Case, ...] = (*ACTIVATIONS, *SOFTMAX, *NORMALIZATION, *LOSSES, *ATTENTION, *OTHERS)
