"""Arrays of other libraries as arguments of compiled functions, and results as arrays of the same library."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import optree

from ...compiler.arguments.leaves import NAMESPACE
from .device_array import DeviceArray

_OURS: Final = frozenset({np.ndarray, DeviceArray, bool, int, float, complex, str, type(None)})

_FROM_DLPACK: Final[dict[str, tuple[str, str]]] = {
    "cupy": ("cupy", "from_dlpack"),
    "jax": ("jax.dlpack", "from_dlpack"),
    "jaxlib": ("jax.dlpack", "from_dlpack"),
    "torch": ("torch", "from_dlpack"),
}
"""By the package that defines an array's type: the function that converts others to it."""


def entered(leaves: Sequence[Any]) -> tuple[list[Any], Callable[[Any], Any] | None]:
    """Arguments with arrays of other libraries on a GPU replaced by `DeviceArray`s, without a copy.

    Also a function that converts results: each `DeviceArray` becomes an array of the first such library, without a
    copy; None if there is no such library with a function for it.

    Raises:
        ForeignArrayError: an array's elements are not contiguous, or its dtype is not supported.
    """
    if all(type(leaf) in _OURS for leaf in leaves):
        return list(leaves), None
    from .foreign import foreign

    found = [foreign(leaf) if type(leaf) not in _OURS else None for leaf in leaves]
    strangers = (type(leaf) for leaf, array in zip(leaves, found, strict=True) if array is not None)
    packages = (kind.__module__.partition(".")[0] for kind in strangers if kind is not DeviceArray)
    maker = next((_FROM_DLPACK[name] for name in packages if name in _FROM_DLPACK), None)
    ours = [leaf if array is None else array for leaf, array in zip(leaves, found, strict=True)]
    if maker is None:
        return ours, None
    module, name = maker
    from_dlpack = getattr(sys.modules[module], name)

    def leave(result: Any) -> Any:
        return optree.tree_map(
            lambda x: from_dlpack(x) if isinstance(x, DeviceArray) else x, result, namespace=NAMESPACE
        )

    return ours, leave
