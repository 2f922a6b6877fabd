"""Triton's interpreter over NumPy memory: runs the functions of kernels without a GPU.

What the interpreter of Triton 3.6 gets wrong is mended here: numbers of two bytes with eight bits of exponent, blocks
made of one comparison, products of tf32, which it takes for exact ones, and the functions of libdevice, for which it
has none. What is slow is made fast.
"""

import gc
import linecache
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from inspect import getmembers
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.special

from gpu.launch_memory import WatchedLaunch
from gpu.stub_gpu import StubGpu
from tracemill.compiler.backends.triton.kernels.kernel import Launch, TritonKernel
from tracemill.compiler.dtypes import dtype_name, real_dtype
from tracemill.compiler.symbolic_size import SymbolicSize


@contextmanager
def interpreting() -> Generator[None]:
    """Tell Triton to interpret: it asks before its own functions are defined, and again when ours are.

    It parses functions when they are first called, where the garbage collector must wait: CPython 3.11 takes finalizers
    that run within ``ast.parse`` for a fault of its own.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TRITON_INTERPRET", "1")
            yield
    finally:
        if collects:
            gc.enable()


if "triton" in sys.modules:
    raise ImportError("Triton is loaded, and compiles: import its interpreter when tests are collected")

with interpreting():
    import triton
    import triton.language as tl
    from triton._C.libtriton.ir import INPUT_PRECISION
    from triton.language.extra import libdevice
    from triton.runtime import interpreter
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

Array = np.ndarray[Any, Any]


class Memory:
    """An array as the interpreter takes one: a pointer to memory that it reads and writes in place."""

    def __init__(self, array: Array, *, is_whole: bool = True) -> None:
        self.array = array
        self.is_whole = is_whole
        name = dtype_name(real_dtype(array.dtype))
        self.dtype = {"bool": "i1", "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64"}.get(
            name, name
        )

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def untyped_storage(self) -> "Memory":
        return self

    def cpu(self) -> "Memory":
        return self

    def new_empty(self, *shape: Any, **options: Any) -> "Memory":
        return Memory(self.array)

    def set_(self, *layout: Any) -> None:
        """The memory is the caller's own already."""

    def copy_(self, other: "Memory") -> Any:
        """Results are where they belong."""

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape

    def stride(self) -> tuple[int, ...]:
        return self.array.strides


def run(
    kernel: TritonKernel, inputs: Sequence[Array], sizes: Mapping[str, int] = MappingProxyType({})
) -> list[Array]:
    """The outputs of a kernel, where named sizes have these values."""

    def at(size: Any) -> int:
        return size.at(sizes) if isinstance(size, SymbolicSize) else size

    given = [*inputs, *(constant.array for constant in kernel.constants)]
    given = [np.require(x, requirements=("C", "A")) for x in given]
    others = [np.empty(tuple(map(at, t.shape)), t.dtype) for t in kernel.buffers[len(given) :]]
    memory = [Memory(array) for array in (*given, *others)]
    with interpreting(), np.errstate(all="ignore"):
        functions = module(kernel.text)
        for launch in kernel.launches:
            numbers = [at(number.value) for number in launch.numbers]
            functions[launch.function][(at(launch.programs),)](*(memory[i] for i in launch.buffers), *numbers)
    return others[: kernel.outputs]


def on_stub(kernel: TritonKernel) -> dict[str, Callable[..., None]]:
    """The functions of a kernel for ``StubGpu.kernels``: they compute on the memory that their pointers point to."""
    with interpreting():
        functions = module(kernel.text)

    def called(launch: Launch) -> Callable[..., None]:
        types = [kernel.buffers[number] for number in launch.buffers]

        def compute(programs: int, *pointers: int) -> None:
            memory = [
                Memory(StubGpu.array(pointer, type.shape, type.dtype))
                for pointer, type in zip(pointers, types, strict=True)
            ]
            with interpreting(), np.errstate(all="ignore"):
                functions[launch.function][(programs,)](*memory)

        return compute

    return {launch.function: called(launch) for launch in kernel.launches}


def module(text: str) -> dict[str, Any]:
    """The functions of a text; Triton reads their source again."""
    name = f"<triton {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"__name__": name, "triton": triton, "tl": tl, "libdevice": libdevice}
    exec(compile(text, name, "exec"), scope)
    return scope


# ---- numbers with eight bits of exponent in two bytes --------------------------------------------------

_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
_binary_op, _unary_op = InterpreterBuilder.binary_op, InterpreterBuilder.unary_op
_create_dot = InterpreterBuilder.create_dot
_cast, _fp_to_fp = InterpreterBuilder.cast_impl, InterpreterBuilder.create_fp_to_fp


def _is_bfloat(handle: Any) -> bool:
    return bool(handle.dtype.scalar == tl.bfloat16)


def _widened(handle: Any) -> Any:
    if not _is_bfloat(handle):
        return handle
    return TensorHandle((handle.data.astype(np.uint32) << np.uint32(16)).view(np.float32), tl.float32)


def _narrowed(x: Array) -> Any:
    """To the nearest, ties to even."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    rounded = ((bits + ((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF)) >> np.uint32(16)).astype(
        np.uint16
    )
    return TensorHandle(np.where(np.isnan(x), np.uint16(0x7FC0), rounded), tl.bfloat16)


def _binary(self: Any, x: Any, y: Any, op: Any) -> Any:
    if not _is_bfloat(x) or op in (np.bitwise_and, np.bitwise_or, np.bitwise_xor):
        return _binary_op(self, x, y, op)
    result = _binary_op(self, _widened(x), _widened(y), op)
    return result if op in _COMPARISONS else _narrowed(result.data)


def _unary(self: Any, x: Any, op: Any) -> Any:
    return _narrowed(_unary_op(self, _widened(x), op).data) if _is_bfloat(x) else _unary_op(self, x, op)


def _converted(self: Any, x: Any, dtype: Any) -> Any:
    if _is_bfloat(x):
        wide = _widened(x)
        return wide if dtype.scalar == tl.float32 else _converted(self, wide, dtype)
    if dtype.scalar == tl.bfloat16:
        return _narrowed(x.data.astype(np.float32))
    return _cast(self, x, dtype)


def _between_floats(self: Any, x: Any, dtype: Any, rounding: Any) -> Any:
    if _is_bfloat(x) or dtype.scalar == tl.bfloat16:
        return _converted(self, x, dtype)
    return _fp_to_fp(self, x, dtype, rounding)


def _splat(self: Any, block: Any, x: Any) -> Any:
    """A number as a block of its true dtype, which differs from its declared one after a comparison."""
    return TensorHandle(
        np.full(block.shape, np.ravel(x.data)[0], dtype=np.asarray(x.data).dtype), x.dtype.scalar
    )


def _dot(self: Any, x: Any, y: Any, total: Any, precision: Any, *others: Any) -> Any:
    """As tensor cores multiply: of numbers of four bytes, what tf32 has of them, or that and of the rest."""
    if x.dtype.scalar != tl.float32 or precision == INPUT_PRECISION.IEEE:
        return _create_dot(self, _widened(x), _widened(y), total, precision, *others)
    (x, x_rest), (y, y_rest) = (_in_tf32(operand.data) for operand in (x, y))
    if precision == INPUT_PRECISION.TF32x3:
        small = x_rest @ y + x @ y_rest
        total = TensorHandle(total.data + np.where(np.isnan(small), np.float32(0), small), tl.float32)
    x, y = (TensorHandle(operand, tl.float32) for operand in (x, y))
    return _create_dot(self, x, y, total, precision, *others)


def _in_tf32(x: Array) -> tuple[Array, Array]:
    """The nearest numbers with 11 bits, and those of what is left."""

    def nearest(x: Array) -> Array:
        bits = (np.ascontiguousarray(x, np.float32).view(np.uint32) + np.uint32(0x1000)) & np.uint32(
            0xFFFFE000
        )
        return np.where(np.isfinite(x), bits.view(np.float32), x)

    large = nearest(x)
    return large, nearest(x - large)


_MENDED: dict[str, Callable[..., Any]] = {
    "binary_op": _binary,
    "unary_op": _unary,
    "cast_impl": _converted,
    "create_fp_to_fp": _between_floats,
    "create_splat": _splat,
    "create_dot": _dot,
}
for _name, _method in _MENDED.items():
    setattr(InterpreterBuilder, _name, _method)


# ---- numbers as limits of loops ------------------------------------------------------------------------

_patch_tensors = interpreter._patch_lang_tensor


def _with_limits(tensor: Any, scope: Any) -> None:
    """NumPy takes no array with an axis for a number, which Triton 3.6 gives it."""
    _patch_tensors(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda number: int(np.squeeze(number.handle.data)))


interpreter._patch_lang_tensor = _with_limits


# ---- memory ----------------------------------------------------------------------------------------------

_launched: list[WatchedLaunch] = []
"""The launch that runs, if one does."""

_load, _store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store
_update, _call = InterpreterBuilder.create_atomic_rmw, interpreter.GridExecutor.__call__


def _itemsize(pointers: Any) -> int:
    dtype: np.dtype[Any] = np.dtype(interpreter._get_np_dtype(pointers.get_element_ty()))
    return dtype.itemsize


def _loaded(self: Any, pointers: Any, mask: Any, other: Any, *others: Any, **named: Any) -> Any:
    """What is not loaded, and nothing else is given for, is anything on a GPU; the interpreter says 0."""
    if _launched:
        _launched[-1].read(self.grid_idx[0], pointers.data, mask.data, _itemsize(pointers))
    dtype = pointers.get_element_ty()
    if other is None and not mask.data.all():
        content = np.dtype(interpreter._get_np_dtype(dtype))
        anything = np.ones(1, content) if content.kind == "b" else np.frombuffer(b"\xff" * 8, content)[:1]
        other = TensorHandle(np.broadcast_to(anything, pointers.data.shape), dtype)
    return _load(self, pointers, mask, other, *others, **named)


def _stored(self: Any, pointers: Any, value: Any, mask: Any, *others: Any, **named: Any) -> Any:
    if _launched:
        written = value.data.astype(interpreter._get_np_dtype(pointers.get_element_ty()), copy=False)
        _launched[-1].write(self.grid_idx[0], pointers.data, mask.data, written)
    return _store(self, pointers, value, mask, *others, **named)


def _updated(self: Any, operation: Any, pointers: Any, value: Any, mask: Any, *others: Any) -> Any:
    if _launched:
        _launched[-1].update(self.grid_idx[0], pointers.data, mask.data, _itemsize(pointers))
    return _update(self, operation, pointers, value, mask, *others)


def _watched(self: Any, *arguments: Any, **named: Any) -> None:
    given = [x for x in arguments if isinstance(x, Memory)]
    ends = (
        [(x.data_ptr(), x.data_ptr() + x.array.nbytes) for x in given]
        if all(x.is_whole for x in given)
        else []
    )
    launch = WatchedLaunch(self.fn.__name__, ends)
    _launched.append(launch)
    try:
        _call(self, *arguments, **named)
    finally:
        _launched.pop()
    launch.check()


_MENDED_MEMORY: dict[str, Callable[..., Any]] = {
    "create_masked_load": _loaded,
    "create_masked_store": _stored,
    "create_atomic_rmw": _updated,
}
for _name, _method in _MENDED_MEMORY.items():
    setattr(InterpreterBuilder, _name, _method)
interpreter.GridExecutor.__call__ = _watched


# ---- what is done for nothing -----------------------------------------------------------------------------

interpreter.interpreter_builder.options = replace(
    interpreter.interpreter_builder.options, sanitize_overflow=False
)
"""It computes whether integers overflow, and does not look, unless it debugs."""


@cache
def _builtins_of(place: Any) -> list[tuple[str, Any]]:
    return [(name, member) for name, member in getmembers(place) if tl.core.is_builtin(member)]


def _patch_builtins(place: Any, builder: Any, scope: Any) -> None:
    """It looks through all that the language has before each launch."""
    for name, member in _builtins_of(place):
        interpreter._patch_attr(place, name, member, builder, scope)


interpreter._patch_builtin = _patch_builtins
_patch_language = cache(interpreter._patch_lang)


def _called_by_another(self: Any, *args: Any, **kwargs: Any) -> Any:
    """It teaches the language to interpret at each call of a function by another, which takes 4 ms.

    A launch has taught the module that ours see; the inner module, which Triton's own see, is never told otherwise.
    """
    if any(value is tl.core for value in self.fn.__globals__.values()):
        _patch_language(self.fn)
    return self.rewrite()(*args, **kwargs)


interpreter.InterpretedFunction.__call__ = _called_by_another


# ---- reductions and scans by our own functions ---------------------------------------------------------


def _joined(self: Any, before: Sequence[Any], now: Sequence[Any]) -> list[Any]:
    joined = self.combine_fn.fn(*before, *now)
    return list(joined) if isinstance(joined, tuple) else [joined]


def _scanned(self: Any, input: Sequence[Any]) -> list[Any]:
    """In doubling steps: the interpreter's own takes one element after another, 35 ms for a thousand."""
    axis, shape = self.axis, input[0].handle.data.shape
    length, at = shape[axis], np.indices(shape)[axis]
    step = 1
    while step < length:
        before = [self.to_tensor(np.roll(x.handle.data, step, axis), x.dtype) for x in input]
        joined = _joined(self, before, input)
        input = [
            self.to_tensor(np.where(at < step, x.handle.data, y.handle.data), x.dtype)
            for x, y in zip(input, joined, strict=True)
        ]
        step *= 2
    return list(input)


def _reduced(self: Any, input: Sequence[Any]) -> list[Any]:
    """Neighbours in pairs, then these in pairs."""
    axis = self.axis
    while input[0].handle.data.shape[axis] > 1:
        early, late = (
            [
                self.to_tensor(x.handle.data[(slice(None),) * axis + (slice(i, None, 2),)], x.dtype)
                for x in input
            ]
            for i in range(2)
        )
        input = _joined(self, early, late)
    if self.keep_dims:
        return list(input)
    return [self.to_tensor(np.squeeze(x.handle.data, axis), x.dtype) for x in input]


def _sorted(x: Any, dim: int) -> Any:
    """By NumPy: the interpreter takes 200 ms for 256 numbers."""
    return tl.tensor(TensorHandle(np.sort(x.handle.data, axis=dim), x.dtype), x.type)


setattr(tl, "sort", _sorted)  # noqa: B010  (mypy: a function of another type)
interpreter.ScanOps.generic_scan = _scanned
interpreter.ReduceOps.generic_reduce = _reduced


# ---- the functions of libdevice ------------------------------------------------------------------------


def _log_gamma(x: Array) -> Array:
    """SciPy's is infinite where the argument is very small; the limit there is −log|x|."""
    return np.where(np.abs(x) < 1e-300, -np.log(np.abs(x)), scipy.special.gammaln(x))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh".split()
    },
    **{
        name: getattr(np, name)
        for name in "sqrt cbrt floor ceil trunc rint fmod hypot copysign nextafter".split()
    },
    **{name: getattr(np, name) for name in "isnan isinf signbit".split()},
    **{f"a{name}": getattr(np, f"arc{name}") for name in "sin cos tan sinh cosh tanh tan2".split()},
    **{name: getattr(scipy.special, name) for name in "erf erfc erfcx erfinv j0 j1 y0 y1".split()},
    "lgamma": _log_gamma,
    "tgamma": scipy.special.gamma,
    "normcdfinv": scipy.special.ndtri,
    "pow": np.power,
}


def _on_blocks(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*operands: Any) -> Any:
        blocks = [x if isinstance(x, tl.tensor) else None for x in operands]
        like = next(x for x in blocks if x is not None)
        numbers = [x.handle.data if isinstance(x, tl.tensor) else getattr(x, "value", x) for x in operands]
        with np.errstate(all="ignore"):
            result = np.asarray(function(*(np.asarray(n, like.handle.data.dtype) for n in numbers)))
        scalar = tl.int1 if result.dtype == np.bool_ else like.dtype
        handle = TensorHandle(result.astype(interpreter._get_np_dtype(scalar)), scalar)
        return tl.tensor(
            handle,
            tl.block_type(scalar, list(result.shape))
            if result.shape != (1,) or isinstance(like.type, tl.block_type)
            else scalar,
        )

    return call


for _name, _function in _FUNCTIONS.items():
    setattr(libdevice, _name, _on_blocks(_function))
