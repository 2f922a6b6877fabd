"""How compiled functions of the main module are pickled: by name, and by value where that name means nothing.

`pickle` refers to a function by its name, which processes of `multiprocessing` find: they have the same main module.
Workers of joblib and Dask have another one, so `cloudpickle`, with which they receive functions, copies those of the
main module. It does so for functions alone. Therefore a compiled function is pickled as a function that stands under
``f._portable``: one pickler refers to it by that name, and the other one copies it.
"""

import sys
from types import FunctionType
from typing import Any, Final

NAME: Final = "_portable"
"""The attribute that holds the function."""


def portable_function(function: Any, qualified: str) -> FunctionType:
    """A copy of a function that is found as `NAME` of the object with this qualified name."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__doc__ = function.__doc__
    copy.__module__ = function.__module__
    copy.__dict__.update(function.__dict__)
    copy.__qualname__ = f"{qualified}.{NAME}"
    return copy


def found_by_name(module: str, qualified: str) -> Any:
    """What a qualified name leads to in a module; None if to nothing."""
    found: Any = sys.modules.get(module)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    return found


def holder_of(function: FunctionType) -> Any:
    """The object of this process under whose `NAME` a function stands; None if there is none.

    The function is then a copy of one of another main module, and gets its own name again.
    """
    qualified = function.__qualname__.removesuffix(f".{NAME}")
    found = found_by_name(function.__module__, qualified)
    if getattr(found, NAME, None) is function:
        return found
    function.__qualname__ = qualified
    return None
