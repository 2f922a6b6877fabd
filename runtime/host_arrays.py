"""Arrays of torch, JAX, and others that DLPack exports, in the memory of the host.

As arguments they become NumPy arrays, and results return to their library. Libraries are looked up among the loaded
modules only. Where the library allows it, no element is copied.
"""

import sys
from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np
import optree

from ..compiler.arguments.leaves import NAMESPACE, argument_names
from ..compiler.errors import ForeignArrayError
from ..compiler.labelled.classes import LabelledDataError

P = ParamSpec("P")
R = TypeVar("R")
_HOST: Final = 1
"""DLPack's number for the memory of the host."""


def taking_host_arrays(function: Callable[P, R]) -> Callable[P, R]:
    """A function of NumPy arrays that also takes arrays of other libraries, and then returns such arrays.

    So do the functions that it returns, such as that of `vjp`.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        found = entered(args, kwargs)
        if found is None:
            return function(*args, **kwargs)
        given, more, leave = found
        return leave(function(*given, **more))  # type: ignore[no-any-return]

    return called


def entered(args: Any, kwargs: Any) -> tuple[Any, Any, Callable[[Any], Any]] | None:
    """Arguments with NumPy arrays in place of those of other libraries, and what converts a result.

    The first of them decides what results are. None if there is none.

    Raises:
        ForeignArrayError: a tensor requires grad, or NumPy cannot read the memory of an array.
    """
    is_loaded = "torch" in sys.modules or "jax" in sys.modules
    if not is_loaded and not any(map(_is_of_library, (*args, *kwargs.values()))):
        return None  # quickly: containers other than tuples, which `jvp` takes, are not looked into
    call: Any = (args, kwargs)
    try:
        leaves, tree = optree.tree_flatten(call, namespace=NAMESPACE)
    except (RecursionError, LabelledDataError):  # refused with its name later
        return None
    kinds = list(map(_library_of, map(type, leaves)))
    if not any(kinds):
        return None
    from_numpy = None
    for place, kind in enumerate(kinds):
        if kind is not None and _is_on_host(x := leaves[place]):
            from_numpy = from_numpy or _FROM_NUMPY.get(kind) or _importer(x)
            leaves[place] = _TO_NUMPY[kind](x, partial(_name, tree, place))
    if from_numpy is None:
        return None

    def leave(x: Any) -> Any:
        return optree.tree_map(lambda leaf: _returned(leaf, from_numpy), x, namespace=NAMESPACE)

    given: Any = optree.tree_unflatten(tree, leaves)
    return (*given, leave)


def _name(tree: Any, place: int) -> str:
    return argument_names(tree)[place]


def _returned(leaf: Any, from_numpy: Callable[[Any], Any]) -> Any:
    if type(leaf) is np.ndarray or isinstance(leaf, np.generic):
        return from_numpy(np.asarray(leaf))
    return taking_host_arrays(leaf) if callable(leaf) and not isinstance(leaf, type) else leaf


@lru_cache(1024)
def _library_of(kind: Any) -> str | None:
    """The library of an array, by its class."""
    if kind in (float, int, bool, complex, str) or issubclass(kind, np.ndarray):
        return None
    torch: Any = sys.modules.get("torch")
    jax: Any = sys.modules.get("jax")
    if hasattr(torch, "Tensor") and issubclass(kind, torch.Tensor):
        return "torch"
    if hasattr(jax, "Array") and kind.__module__.startswith("jaxlib") and issubclass(kind, jax.Array):
        return "jax"
    is_exported = hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__")
    return "dlpack" if is_exported and not kind.__module__.startswith("tracemill.") else None


def _is_of_library(x: Any) -> bool:
    """Whether it is an array of another library, or a tuple that contains one."""
    kind: Any = type(x)
    return any(map(_is_of_library, x)) if kind is tuple else _library_of(kind) is not None


def _is_on_host(x: Any) -> bool:
    try:
        return bool(x.__dlpack_device__()[0] == _HOST)
    except (AttributeError, ValueError):  # tensors without memory have a device that DLPack does not know
        return False


# ---- torch -------------------------------------------------------------------------------------------------


def _from_torch(x: Any, path: Callable[[], str]) -> Any:
    torch = sys.modules["torch"]
    if x.requires_grad:
        raise ForeignArrayError(
            f"{path()} is a tensor that requires grad, and torch would not record what is computed with it: pass "
            "x.detach()"
        )
    if x.layout != torch.strided or x.is_quantized:
        raise ForeignArrayError(
            f"{path()} is a tensor whose elements are not all in memory: pass x.to_dense()"
        )
    if x.is_conj() or x.is_neg():
        raise ForeignArrayError(
            f"{path()} is a tensor that is conjugated or negated when it is read: pass x.resolve_conj().resolve_neg()"
        )
    if x.dtype == torch.bfloat16:
        import ml_dtypes

        return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    try:
        return x.numpy()
    except (TypeError, RuntimeError) as error:
        raise ForeignArrayError(f"{path()} is a tensor of {x.dtype}: {error}") from None


def _to_torch(x: Any) -> Any:
    torch = sys.modules["torch"]
    if not x.flags.writeable or any(stride < 0 for stride in x.strides):
        x = x.copy()
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


# ---- JAX ---------------------------------------------------------------------------------------------------


def _from_jax(x: Any, path: Callable[[], str]) -> Any:
    return np.asarray(x)


def _to_jax(x: Any) -> Any:
    """An array of JAX, which has no 64 bits unless it is told so: floats are rounded.

    Raises:
        ForeignArrayError: integers do not fit 32 bits.
    """
    found = sys.modules["jax"].numpy.asarray(x)
    if x.dtype.kind in "iu" and found.dtype != x.dtype and x.size:
        limits = np.iinfo(found.dtype)
        if not (limits.min <= x.min() and x.max() <= limits.max):
            raise ForeignArrayError(
                f"the result holds integers from {x.min()} to {x.max()}, which do not fit JAX's {found.dtype}: call "
                'jax.config.update("jax_enable_x64", True) first, or pass NumPy arrays, np.asarray(x)'
            )
    return found


# ---- DLPack ------------------------------------------------------------------------------------------------


def _from_dlpack(x: Any, path: Callable[[], str]) -> Any:
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ForeignArrayError(
            f"{path()} is a {type(x).__name__} that NumPy cannot read by DLPack ({error}): pass np.asarray(x)"
        ) from None


def _importer(x: Any) -> Callable[[Any], Any]:
    """What makes an array of the library of `x`, if that follows the Array API standard; NumPy arrays otherwise."""
    if not hasattr(x, "__array_namespace__"):
        return np.asarray
    from_dlpack = x.__array_namespace__().from_dlpack
    return lambda found: from_dlpack(found if found.flags.writeable else found.copy())


_TO_NUMPY: Final = {"torch": _from_torch, "jax": _from_jax, "dlpack": _from_dlpack}
_FROM_NUMPY: Final = {"torch": _to_torch, "jax": _to_jax}
