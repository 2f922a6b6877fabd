"""Which arguments of a compiled function are static: `static_argnums` and `static_argnames`, and whether they exist."""

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, signature
from typing import Any

from ...compiler.callers.function_names import describe
from ...compiler.errors import StaticArgumentError
from ...compiler.nesting import shown

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def as_tuple(option: str, given: Any, of: type[Any]) -> tuple[Any, ...]:
    """One or several ints or strings as a tuple."""
    items = (given,) if isinstance(given, of) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(item, of) and not isinstance(item, bool) for item in items):
        raise StaticArgumentError(f"{option} must be {of.__name__} or a tuple of them, not {shown(given)}")
    return items


def static_arguments(
    function: Callable[..., Any], argnums: Sequence[int], argnames: Sequence[str]
) -> tuple[frozenset[int], frozenset[str]]:
    """Positions and names of the static arguments: an argument with both is static however it is passed.

    Raises `StaticArgumentError` for arguments that the function does not have, if Python knows its parameters.
    """
    if not argnums and not argnames:
        return frozenset(), frozenset()
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions that are written in C do not say
        return frozenset(argnums), frozenset(argnames)
    kinds = {parameter.kind for parameter in parameters}
    positional = [p.name for p in parameters if p.kind in _POSITIONAL]
    named = [p.name for p in parameters if p.kind in _NAMED]
    if Parameter.VAR_POSITIONAL not in kinds:
        _check(function, "static_argnums", argnums, range(-len(positional), len(positional)), positional)
    if Parameter.VAR_KEYWORD not in kinds:
        _check(function, "static_argnames", argnames, named, named)
    return (
        frozenset(argnums).union(positional.index(name) for name in argnames if name in positional),
        frozenset(argnames).union(positional[n] for n in argnums if 0 <= n < len(positional)),
    )


def _check(
    function: Callable[..., Any], option: str, given: Sequence[Any], known: Iterable[Any], names: list[str]
) -> None:
    for item in given:
        if item not in known:
            raise StaticArgumentError(
                f"{option} has {shown(item)}, but {describe(function)} has no such parameter: it has "
                f"{', '.join(names) or 'none'}"
            )
