"""Classes of attrs are containers once they are registered, as dataclasses are."""

from typing import Any

import attrs
import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError, TransformTypeError


@attrs.define
class Layer:
    weights: Any
    bias: float
    name: str = "dense"


@attrs.frozen
class Model:
    layers: list[Layer]
    _scale: float
    size: int = attrs.field(default=3, converter=int, validator=attrs.validators.ge(1))


@attrs.define
class Unregistered:
    weights: Any


tm.register_dataclass(Layer, static=["name"])
tm.register_dataclass(Model, static=["size"])
X = np.array([1.0, 2.0])


def output(model: Model) -> Any:
    layer = model.layers[0]
    return model._scale * np.sum(layer.weights * X + layer.bias) * model.size


def test_gradients_have_the_class_and_its_settings() -> None:
    model = Model([Layer(np.array([3.0, 4.0]), 0.5)], 2.0)
    for transform in (tm.grad, lambda f: tm.compile(tm.grad(f)), lambda f: tm.grad(tm.compile(f))):
        found = transform(output)(model)
        assert type(found) is Model
        assert found.size == 3
        assert found.layers[0].name == "dense"
        np.testing.assert_allclose(found.layers[0].weights, 6 * X)
        assert found.layers[0].bias == 12.0
        assert found._scale == 3 * (11.0 + 1.0)


def test_a_compiled_function_returns_them_and_settings_are_part_of_the_variant() -> None:
    f = tm.compile(lambda layer: attrs.evolve(layer, weights=layer.weights * 2))
    for name in ("a", "b", "a"):
        found = f(Layer(X, 1.5, name))
        assert (found.name, found.bias) == (name, 1.5)
        np.testing.assert_array_equal(found.weights, 2 * X)
    f(Layer(X, 2.5, "a"))
    assert len(f.signatures()) == 2


def test_a_class_that_is_not_registered_names_the_fix() -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"args\[0\] is Unregistered.*tm\.register_dataclass\(Unregistered\)"
    ):
        tm.grad(lambda c: np.sum(c.weights))(Unregistered(X))


def test_another_class_is_refused() -> None:
    with pytest.raises(TransformTypeError, match="Plain is neither a dataclass nor a class of attrs"):
        tm.register_dataclass(type("Plain", (), {}))
