"""`converting`: the ``convert=`` of a transform, which says whose code is converted when its function is traced."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ...compiler.callers.user_code import CONVERTS
from ...compiler.errors import TransformArgumentError
from ...compiler.frontend.conversion import converted
from ...compiler.nesting import shown
from .run import like_function

Convert: TypeAlias = bool | str | Iterable[str] | None


def converting(func: Callable[..., Any], convert: Convert) -> Callable[..., Any]:
    """`func`, whose code is converted as `convert` says: True, False, or names of libraries. None keeps the
    surrounding setting.

    Raises:
        TransformArgumentError: `convert` is none of these.
    """
    if convert is None:
        return func
    chosen = convert if isinstance(convert, bool) else _names(convert)

    @like_function(func)
    def traced(*args: Any, **kwargs: Any) -> Any:
        token = CONVERTS.set(chosen)
        try:
            return converted(func)(*args, **kwargs)
        finally:
            CONVERTS.reset(token)

    return traced


def _names(convert: Any) -> tuple[str, ...]:
    names = (
        (convert,) if isinstance(convert, str) else tuple(convert) if isinstance(convert, Iterable) else ()
    )
    if not names or not all(isinstance(name, str) for name in names):
        raise TransformArgumentError(
            f'convert must be True, False, or names of libraries such as ("mylib",), not {shown(convert)}'
        )
    return names
