"""How others compute a row on the GPU: eager PyTorch, ``torch.compile``, and JAX."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from ...compiler.errors import BackendError
from ...runtime.gpu_programs.timer import LEAST_SAMPLES, LEAST_SECONDS, MOST_SAMPLES, WARM_UP_SECONDS, Timing
from . import workloads
from .row import Array, Arrays, Row

Program: TypeAlias = Callable[[], Any]
"""Queues a row on the GPU, and returns its results."""

_SHORT: Final = (workloads.layers,)
"""Rows with many short kernels, for which launches dominate the time."""
_RECORDED: Final = "reduce-overhead"
"""How ``torch.compile`` records such kernels as a graph, like Tracemill."""

_QUEUED: Final = 20
"""JAX calls that are timed together: it has no clock on the GPU."""
_GROUPS: Final = 5
"""The minimum number of repetitions."""


class Peer(Protocol):
    """A library that computes on GPUs."""

    def program(self, row: Row, arrays: Arrays) -> Program:
        """The callable for a row. May compile now, or at the first call."""
        ...

    def corners(self, result: Any, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        """The first elements of each result along each axis, in double precision."""
        ...

    def timing(self, program: Program) -> Timing:
        """Seconds of a call on the GPU."""
        ...


class Torch:
    """PyTorch on the first GPU, eager or through ``torch.compile``."""

    def __init__(self, *, compiled: bool, device: str = "cuda") -> None:
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise BackendError("this PyTorch finds no GPU")
        self.compiled, self.device = compiled, device

    def program(self, row: Row, arrays: Arrays) -> Program:
        import torch

        if self.compiled:
            torch._dynamo.reset()
        given = [self._tensor(array) for array in arrays]
        own = _of_torch(row)

        def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
            if not self.compiled:
                return function
            mode = _RECORDED if row.function in _SHORT else None
            compiled: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False, mode=mode)
            return compiled

        match row.task:
            case "value":
                function = wrapped(own)

                def value() -> Any:
                    with torch.no_grad():
                        return function(*given)

                return value
            case "gradient":
                *primals, cotangent = given
                function = wrapped(own)
                tracked = [
                    x.requires_grad_() if number in row.argnums else x for number, x in enumerate(primals)
                ]
                wanted = [tracked[number] for number in row.argnums]
                return lambda: torch.autograd.grad(function(*tracked), wanted, cotangent)
            case "gradient per sample":
                dims = tuple(0 if number in row.mapped else None for number in range(len(given)))
                per_sample = wrapped(torch.func.vmap(torch.func.grad(own, row.argnums), dims))
                return lambda: per_sample(*given)

    def corners(self, result: Any, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        results = result if isinstance(result, tuple) else (result,)
        cut = [x.detach()[tuple(map(slice, shape))] for x, shape in zip(results, shapes, strict=True)]
        return [x.double().cpu().numpy() for x in cut]

    def timing(self, program: Program) -> Timing:
        import torch

        def seconds(count: int) -> list[float]:
            pairs: list[tuple[Any, Any]] = []
            for _ in range(count):
                pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                pair[0].record()
                program()
                pair[1].record()
                pairs.append(pair)
            torch.cuda.synchronize()
            return [start.elapsed_time(end) / 1e3 for start, end in pairs]

        def once() -> None:
            program()
            torch.cuda.synchronize()

        return _timed(once, seconds)

    def _tensor(self, array: Array) -> Any:
        """bf16 is not one of NumPy's own dtypes, so it is passed as bits."""
        import torch

        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).to(self.device).view(torch.bfloat16)
        return torch.from_numpy(array).to(self.device)


class Jax:
    """``jax.jit`` on its default device, which is the GPU."""

    def __init__(self, *, needs_gpu: bool = True) -> None:
        if needs_gpu and not _is_on_gpu():
            raise BackendError("this JAX finds no GPU")

    def program(self, row: Row, arrays: Arrays) -> Program:
        import jax
        from jax import numpy as jnp

        jax.config.update("jax_enable_x64", True)
        exact = all(array.dtype.itemsize >= 4 for array in arrays)
        jax.config.update(
            "jax_default_matmul_precision", "highest" if exact else None
        )  # otherwise f32 is rounded to tf32
        plain = _of_jax(row)
        function = plain
        match row.task:
            case "value":
                pass
            case "gradient":

                def gradient(*arrays: Any) -> Any:
                    *primals, cotangent = arrays
                    found = jax.vjp(plain, *primals)[1](cotangent)
                    return tuple(found[number] for number in row.argnums)

                function = gradient
            case "gradient per sample":
                dims = tuple(0 if number in row.mapped else None for number in range(len(arrays)))
                function = jax.vmap(jax.grad(plain, row.argnums), dims)
        compiled = jax.jit(function)
        given = [jnp.asarray(array) for array in arrays]
        return lambda: compiled(*given)

    def corners(self, result: Any, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        results = result if isinstance(result, tuple) else (result,)
        cut = [x[tuple(map(slice, shape))] for x, shape in zip(results, shapes, strict=True)]
        return [np.asarray(x).astype(np.float64) for x in cut]

    def timing(self, program: Program) -> Timing:
        import jax

        def several(count: int) -> float:
            started = perf_counter()
            result = None
            for _ in range(count):
                result = program()
            jax.block_until_ready(result)
            return (perf_counter() - started) / count

        def seconds(count: int) -> list[float]:
            return [several(_QUEUED) for _ in range(max(_GROUPS, count // _QUEUED))]

        return _timed(lambda: several(1), seconds)


def _timed(once: Callable[[], object], seconds: Callable[[int], list[float]]) -> Timing:
    """Like `tracemill.runtime.gpu_programs.timer.measure`: with the same warm-up and number of samples."""
    started, calls = perf_counter(), 0
    while not calls or perf_counter() - started < WARM_UP_SECONDS:
        once()
        calls += 1
    each = (perf_counter() - started) / calls
    samples = seconds(min(max(LEAST_SAMPLES, int(LEAST_SECONDS / each) + 1), MOST_SAMPLES))
    low, median, high = (float(x) for x in np.quantile(samples, (0.1, 0.5, 0.9)))
    return Timing(median, low, high, len(samples))


# ---- their own functions -----------------------------------------------------------------------------------


def _of_torch(row: Row) -> Callable[..., Any]:
    import torch
    from torch.nn import functional

    functions: dict[Callable[..., Any], Callable[..., Any]] = {
        workloads.softmax: lambda x: torch.softmax(x, -1),
        workloads.layer_norm: lambda x, scale, shift: functional.layer_norm(x, x.shape[-1:], scale, shift),
        workloads.gelu_mlp: lambda x, w1, w2: functional.gelu(x @ w1) @ w2,
        workloads.matmul_gelu: lambda x, w, bias: functional.gelu(torch.addmm(bias, x, w)),
        workloads.matmul: torch.matmul,
        workloads.attention: lambda *arrays: functional.scaled_dot_product_attention(
            *(x[None] for x in arrays)  # its fast kernels take four axes
        )[0],
        workloads.scatter_add: lambda places, values: values.new_zeros(len(values) // 64).index_add(
            0, places, values
        ),
    }
    return functions.get(row.function, lambda *arrays: row.function(torch, *arrays))


def _of_jax(row: Row) -> Callable[..., Any]:
    import jax
    from jax import numpy as jnp

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        return jax.nn.standardize(wide, axis=-1, epsilon=1e-5).astype(x.dtype) * scale + shift

    functions: dict[Callable[..., Any], Callable[..., Any]] = {
        workloads.softmax: jax.nn.softmax,
        workloads.layer_norm: layer_norm,
        workloads.gelu_mlp: lambda x, w1, w2: jax.nn.gelu(x @ w1, approximate=False) @ w2,
        workloads.matmul_gelu: lambda x, w, bias: jax.nn.gelu(x @ w + bias, approximate=False),
        workloads.matmul: jnp.matmul,
        workloads.attention: lambda *arrays: jax.nn.dot_product_attention(
            *(x[:, :, None] for x in arrays), implementation="cudnn" if _is_on_gpu() else None
        )[:, :, 0],
        workloads.scatter_add: lambda places, values: (
            jnp.zeros(len(values) // 64, values.dtype).at[places].add(values)
        ),
    }
    return functions.get(row.function, lambda *arrays: row.function(jnp, *arrays))


def _is_on_gpu() -> bool:
    import jax

    return bool(jax.default_backend() != "cpu")


PEERS: Final[dict[str, Callable[[], Peer]]] = {
    "torch": lambda: Torch(compiled=False),
    "torch.compile": lambda: Torch(compiled=True),
    "jax": Jax,
}


def is_installed(peer: str) -> bool:
    return find_spec(peer.partition(".")[0]) is not None


def version_of(peer: str) -> str:
    """The versions to show beside a number."""
    return version(peer.partition(".")[0])
