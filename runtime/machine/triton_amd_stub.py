"""Functions of AMD's library OCML that Triton lacks: programs call them by the names of NVIDIA's."""

import functools
from collections.abc import Callable
from typing import Any, Final

MISSING: Final = {"cbrt": "cbrt", "normcdfinv": "ncdfinv"}
"""By their names in NVIDIA's library."""


@functools.cache
def name_missing_functions() -> None:
    """Register them with Triton."""
    from triton.language.extra.hip import libdevice

    for name, own in MISSING.items():
        if not hasattr(libdevice, name):
            setattr(libdevice, name, _function(own))


def _function(name: str) -> Callable[..., Any]:
    """A function of one number, which the library has in both precisions."""
    import triton.language as tl
    from triton.language import core

    symbols = {
        (dtype,): (f"__ocml_{name}_f{bits}", dtype) for dtype, bits in ((tl.float32, 32), (tl.float64, 64))
    }

    def function(x: Any, _semantic: Any = None) -> Any:
        return core.extern_elementwise("", "", [x], symbols, is_pure=True, _semantic=_semantic)

    found: Callable[..., Any] = core.extern(function)
    return found
