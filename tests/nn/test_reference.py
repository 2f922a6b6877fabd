"""Values, gradients and second derivatives are those that PyTorch gives: tests/reference/make_torch.py kept them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from reference.cases import CASES, Case
from samples import grouping
from samples.grouping import in_groups, quick_first
from tracemill import nn

FILE = Path(__file__).parent.parent / "reference" / "torch.npz"


def _layer_norm_backward(ct: Any, x: Any, weight: Any, bias: Any, shape: Any) -> Any:
    """The statistics as separate numbers: derivatives must still reach x through them."""
    axes = tuple(range(-len(shape), 0))
    held = tm.stop_gradient(x)
    mean = np.mean(held, axes, keepdims=True)
    rstd = 1 / np.sqrt(np.mean((held - mean) ** 2, axes, keepdims=True) + 1e-5)
    wanted = (True, weight is not None, bias is not None)
    return nn.layer_norm_backward(ct, x, shape, mean, rstd, weight, bias, wanted)


def _batch_norm_backward(ct: Any, x: Any, weight: Any, mean: Any, var: Any, training: bool) -> Any:
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    held = tm.stop_gradient(x)
    own, rstd = np.mean(held, axes), 1 / np.sqrt(np.var(held, axes) + 1e-5)
    wanted = (True, weight is not None, True)
    return nn.batch_norm_backward(ct, x, weight, mean, var, own, rstd, training, 1e-5, wanted)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "layer_norm": lambda x, w, b, shape, eps=1e-5: nn.layer_norm(x, shape, w, b, eps),
    "layer_norm_backward": _layer_norm_backward,
    "rms_norm": lambda x, w, shape, eps: nn.rms_norm(x, shape, w, eps),
    "group_norm": lambda x, w, b, groups: nn.group_norm(x, groups, w, b),
    "batch_norm_backward": _batch_norm_backward,
    "trace": np.trace,
}


@pytest.fixture(scope="module")
def kept() -> Mapping[str, Any]:
    with np.load(FILE, allow_pickle=False) as file:
        return dict(file)


class Reference:
    """A case with what is kept of it."""

    def __init__(self, case: Case, kept: Mapping[str, Any], dtype: Any) -> None:
        self.case = case
        prefix = f"{kept['ids'].tolist().index(case.id)}/"
        self.kept = {
            name.removeprefix(prefix): x.astype(dtype) if x.dtype.kind == "f" else x
            for name, x in kept.items()
            if name.startswith(prefix)
        }
        self.arguments = [self.kept.get(f"x{i}") for i in range(len(case.arguments))]
        self.moving = [x for x, moves in zip(self.arguments, self.kept["moving"], strict=True) if moves]

    def all(self, name: str) -> list[Any]:
        return [self.kept[f"{name}{i}"] for i in range(len(self.kept)) if f"{name}{i}" in self.kept]

    def outputs(self, *moving: Any) -> list[Any]:
        """The arrays that the function returns if these replace the arguments that vary."""
        rest = iter(moving)
        marks = self.kept["moving"]
        arguments = [next(rest) if m else x for x, m in zip(self.arguments, marks, strict=True)]
        name = self.case.function
        function = FUNCTIONS.get(name) or getattr(nn, name)
        found = function(*arguments, **self.case.options)
        return [x for x in (found if isinstance(found, tuple) else (found,)) if x is not None]

    def gradients(self, *moving: Any) -> Any:
        return tm.vjp(lambda *xs: self.outputs(*xs)[0], *moving)[1](self.kept["ct"])

    def second(self, *moving: Any) -> Any:
        """The gradients of the gradients' pairing with the directions."""
        directions = self.all("v")
        return tm.vjp(self.gradients, *moving)[1](tuple(directions))


of_each_function = in_groups(
    grouped._replace(is_exhaustive=grouped.is_slow and number % 6 > 0)
    for number, grouped in enumerate(
        quick_first(grouping.Case(case.function, case.id, (case,)) for case in CASES)
    )
)
"""The first case of each, a sixth of the others, and, with ``--more``, all."""


def assert_close(actual: Any, expected: Any, dtype: Any, where: str) -> None:
    assert len(actual) >= len(expected), where
    tolerance = 1e-10 if dtype == np.float64 else 2e-4
    for ours, theirs in zip(actual, expected, strict=False):
        assert (ours.dtype, np.shape(ours)) == (dtype, theirs.shape), where
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance, err_msg=where)


@pytest.mark.sampled(
    "binary_cross_entropy_with_logits(real[4,3],positive[4,3],positive[3],none)-float32", every=6, slow=3
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_values_and_derivatives_to_second_order_are_pytorchs(case: Case, dtype: Any, kept: Any) -> None:
    reference = Reference(case, kept, dtype)
    x = reference.moving
    assert_close(reference.outputs(*x), reference.all("y"), dtype, "value")
    assert_close(reference.gradients(*x), reference.all("g"), dtype, "gradient")
    assert_close(reference.second(*x), reference.all("h"), dtype, "second derivative")


@pytest.mark.slow
@of_each_function
def test_compiled_values_and_derivatives_are_pytorchs(case: Case, kept: Any) -> None:
    reference = Reference(case, kept, np.float64)
    x = reference.moving

    @tm.compile
    def everything(*x: Any) -> Any:
        return reference.outputs(*x), reference.gradients(*x), reference.second(*x)

    with np.errstate(all="ignore"):
        values, first, second = everything(*x)
    assert_close(values, reference.all("y"), np.float64, "value")
    assert_close(first, reference.all("g"), np.float64, "gradient")
    assert_close(second, reference.all("h"), np.float64, "second derivative")


def test_the_file_holds_the_cases_and_says_which_version_made_it(kept: Any) -> None:
    assert kept["ids"].tolist() == [case.id for case in CASES]
    assert str(kept["torch"]).startswith("2.")
    assert len({case.id for case in CASES}) == len(CASES)
