"""Tensors of torch and arrays of JAX in the memory of the host come in and go out, without copies where possible."""

import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ForeignArrayError


def double(x: Any) -> Any:
    return x * 2


def squares(x: Any) -> Any:
    return np.sum(x * x)


class TestTorch:
    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    def test_each_transform_takes_and_returns_tensors(self, torch: Any) -> None:
        x = torch.tensor([1.0, 2.0, 3.0])
        found = {
            "compile": tm.compile(double)(x),
            "vmap": tm.vmap(double)(x),
            "grad": tm.grad(squares)(x),
            "compiled grad": tm.compile(tm.grad(squares))(x),
            "value_and_grad": tm.value_and_grad(squares)(x)[1],
            "jvp": tm.jvp(double, (x,), (x,))[1],
            "jacrev": tm.jacrev(squares)(x),
        }
        for name, one in found.items():
            assert torch.equal(one, 2 * x), name
        assert torch.equal(tm.hessian(squares)(x), 2 * torch.eye(3))

    def test_the_function_of_vjp_takes_tensors_too(self, torch: Any) -> None:
        x = torch.tensor([1.0, 2.0], dtype=torch.float64)
        value, pull = tm.vjp(np.square, x)
        assert torch.equal(value, x * x)
        (found,) = pull(torch.ones(2, dtype=torch.float64))
        assert torch.equal(found, 2 * x)

    def test_containers_of_tensors_and_arrays(self, torch: Any) -> None:
        found = tm.compile(lambda p: {"sum": p["w"] + p["b"], "one": 1.5})(
            {"w": torch.ones(2), "b": np.float32(1)}
        )
        assert torch.equal(found["sum"], torch.tensor([2.0, 2.0]))
        assert found["one"] == 1.5

    def test_memory_is_shared(self, torch: Any) -> None:
        x = torch.zeros(3)

        def write(x: Any) -> None:
            x[0] = 5.0

        tm.compile(write)(x)
        assert x[0] == 5.0
        assert torch.equal(tm.compile(double)(x[::2]), x[::2] * 2)

    def test_neither_arguments_nor_results_are_copied(self, torch: Any) -> None:
        x, f = torch.ones(1_000_000, dtype=torch.float64), tm.compile(double)
        f(x)
        tracemalloc.start()  # NumPy's memory, which that of the result is
        try:
            f(x)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert 8_000_000 <= peak < 12_000_000

    def test_a_tensor_that_changes_is_not_taken_for_a_setting(self, torch: Any) -> None:
        f, x = tm.compile(double), torch.tensor([1.0])
        assert f(x) == 2
        x += 1
        assert f(x) == 4
        assert len(f.signatures()) == 1

    def test_writes_to_a_tensor_outside_are_seen(self, torch: Any) -> None:
        w, held = torch.ones(3), {"w": torch.ones(3)}
        functions = [
            tm.compile(lambda x: x * float(w.sum())),
            tm.compile(lambda x: x * float(held["w"].sum())),
            tm.compile(lambda x: x * w.numpy()[0] + 2),
        ]
        assert [f(1.0) for f in functions] == [3, 3, 3]
        w[0] = 7.0
        held["w"] += 1
        assert [f(1.0) for f in functions] == [9, 6, 9]

    @pytest.mark.parametrize(
        "name", "bfloat16 float16 float32 float64 int8 int16 int32 int64 uint8 bool complex64".split()
    )
    def test_dtypes(self, torch: Any, name: str) -> None:
        x = torch.tensor([1, 0, 1]).to(getattr(torch, name))
        found = tm.compile(lambda x: x.copy())(x)
        assert found.dtype == x.dtype
        assert torch.equal(found, x)

    def test_shapes(self, torch: Any) -> None:
        for x in (torch.tensor(2.0), torch.empty(0), torch.ones(2, 3).T, torch.ones(1, 4).expand(3, 4)):
            found = tm.compile(double)(x)
            assert found.shape == x.shape
            assert torch.equal(found, x * 2)

    def test_loops_of_tensors_name_the_conversion(self, torch: Any) -> None:
        with pytest.raises(
            TypeError, match=r"xs is Tensor, not an array\. Convert it first, np\.asarray\(x\)"
        ):
            tm.scan(lambda c, x: (c + x, c), 0.0, torch.ones(3))

    def test_the_stages_of_a_call_with_tensors(self, torch: Any) -> None:
        assert "x: f32[2]" in str(tm.compile(double).lower(torch.ones(2)).graph)

    def test_tensors_that_cannot_come_in_name_the_fix(self, torch: Any) -> None:
        leaf = torch.ones(2, requires_grad=True)
        conjugated = torch.tensor([1j, 2.0]).conj()
        for f in (tm.compile(double), tm.grad(squares), tm.vmap(double)):
            with pytest.raises(
                ForeignArrayError, match=r"args\[0\] is a tensor that requires grad.*x\.detach\(\)"
            ):
                f(leaf)
        with pytest.raises(ForeignArrayError, match=r"args\[0\]\['w'\].*x\.detach\(\)"):
            tm.compile(lambda p: p["w"])({"w": torch.nn.Parameter(torch.ones(2))})
        with pytest.raises(ForeignArrayError, match=r"x\.to_dense\(\)"):
            tm.compile(double)(torch.eye(2).to_sparse())
        with pytest.raises(ForeignArrayError, match=r"x\.resolve_conj\(\)"):
            tm.compile(double)(conjugated)
        assert torch.equal(tm.compile(double)(leaf.detach()), 2 * leaf.detach())
        assert torch.equal(tm.compile(double)(conjugated.resolve_conj()), 2 * conjugated)


class TestJax:
    @pytest.fixture
    def jnp(self) -> Any:
        pytest.importorskip("jax")
        return pytest.importorskip("jax.numpy")

    def test_each_transform_takes_and_returns_arrays(self, jnp: Any) -> None:
        x = jnp.array([1.0, 2.0, 3.0])
        for found in (
            tm.compile(double)(x),
            tm.grad(squares)(x),
            tm.vmap(double)(x),
            tm.jvp(double, (x,), (x,))[1],
        ):
            assert type(found) is type(x)
            assert jnp.array_equal(found, 2 * x)

    def test_bfloat16_and_numbers(self, jnp: Any) -> None:
        x = jnp.array([1.0, 2.0], jnp.bfloat16)
        assert tm.compile(double)(x).dtype == ml_dtypes.bfloat16
        assert float(tm.compile(squares)(jnp.array([3.0]))) == 9

    def test_integers_that_do_not_fit_are_an_error(self, jnp: Any) -> None:
        x = jnp.array([1, 2])
        assert jnp.array_equal(tm.compile(lambda x: x.astype(np.int64) * 1000)(x), x * 1000)
        with pytest.raises(ForeignArrayError, match=r"do not fit JAX's int32.*jax_enable_x64"):
            tm.compile(lambda x: x.astype(np.int64) * 2**40)(x)

    def test_an_array_is_read_only(self, jnp: Any) -> None:
        def write(x: Any) -> None:
            x[0] = 5.0

        x = jnp.zeros(2)
        with pytest.raises(ValueError, match="read-only"):
            tm.compile(write)(x)
        assert x[0] == 0


class Exported:
    """An array of a library that NumPy does not know, which DLPack exports."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __dlpack_device__(self) -> Any:
        return self.held.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__(**options)


class Standard(Exported):
    """One whose library follows the Array API standard."""

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=lambda x: Standard(np.from_dlpack(x)))


class TestDLPack:
    def test_each_transform_takes_and_returns_arrays(self) -> None:
        x = Standard(np.array([1.0, 2.0, 3.0]))
        transforms: list[Callable[[Any], Any]] = [
            tm.compile(double),
            tm.grad(squares),
            tm.vmap(double),
            lambda x: tm.jvp(double, (x,), (x,))[1],
        ]
        for transform in transforms:
            found = transform(x)
            assert type(found) is Standard
            np.testing.assert_array_equal(found.held, 2 * x.held)

    def test_results_are_numpy_arrays_without_a_namespace(self) -> None:
        found = tm.compile(lambda a, b: a * b)(np.array([2.0]), Exported(np.array([3.0])))
        assert type(found) is np.ndarray
        assert found[0] == 6.0

    def test_memory_is_shared_and_read_in_each_call(self) -> None:
        x, f = Exported(np.zeros(3)), tm.compile(double)

        def write(x: Any) -> None:
            x[0] += 5.0

        for expected in (10.0, 20.0):
            tm.compile(write)(x)
            assert f(x)[0] == expected
        assert len(f.signatures()) == 1

    def test_memory_that_numpy_cannot_read_is_named(self) -> None:
        class Refusing(Exported):
            def __dlpack__(self, **options: Any) -> Any:
                raise BufferError("not now")

        with pytest.raises(ForeignArrayError, match=r"args\[0\] is a Refusing .*not now.*np\.asarray\(x\)"):
            tm.grad(squares)(Refusing(np.ones(2)))
