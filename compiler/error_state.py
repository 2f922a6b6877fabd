"""NumPy's error state (`np.errstate`, `np.seterr`): whether it is stricter than what compiled programs do."""

import contextvars
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TypeAlias, cast

import numpy as np

ErrorState: TypeAlias = tuple[tuple[str, str], ...]
"""The result of `np.geterr`, or a part of it, as hashable pairs."""

_states: dict[ErrorState, ErrorState] = {}


def _one_per_state() -> Any:
    """An object that stands for the current state, from NumPy's public functions."""
    state = state_in_force()
    return _states.setdefault(state, state)


def state_in_force() -> ErrorState:
    """The state as a value."""
    kinds: Any = np.geterr()
    return tuple(kinds.items())


# NumPy keeps the state in a context variable. Reading it is much faster than `np.geterr`, but not public.
_variable: Any = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]

error_state: Final[Callable[[], Any]] = _one_per_state if _variable is None else _variable.get
"""Returns an object that stands for the current state: the same object means the same state."""
DEFAULT: Final = contextvars.Context().run(error_state)
"""Stands for NumPy's default: "ignore" for underflow, and "warn" for everything else."""

_KINDS: Final = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}

_UNCHANGED: Final = nullcontext()


class _Seen:
    """The last state that was found not to be strict."""

    lenient: Any = DEFAULT
    quiet: Any = DEFAULT
    """That of `begin_quiet`."""


def is_strict() -> bool:
    """Whether the state asks for more than NumPy's default: to raise, call, print or log, or to warn of underflow."""
    state = error_state()
    if state is DEFAULT or state is _Seen.lenient or state is _Seen.quiet:
        return False
    if strict_part(state_in_force()):
        return True
    _Seen.lenient = state
    return False


def quiet_unless_strict() -> AbstractContextManager[Any]:
    """Ignore floating-point errors within the block, unless the user asked for more than NumPy's default."""
    return _UNCHANGED if is_strict() else np.errstate(all="ignore")


with np.errstate(all="ignore"):
    _QUIET: Final = error_state()
    _Seen.quiet = _QUIET


_quieted: contextvars.ContextVar[tuple[Any, ErrorState]] = contextvars.ContextVar("_quieted")
"""A state of `begin_quiet`, and the user's state before, if that was not the default."""


def begin_quiet() -> Any:
    """Like `quiet_unless_strict`, until `end_quiet` gets the result. It is faster than a block."""
    if _variable is not None and error_state() is DEFAULT:
        return _variable.set(_QUIET)
    if is_strict():
        return None
    before = tuple(users_error_state().items())
    block = np.errstate(all="ignore")
    block.__enter__()
    return block, _quieted.set((error_state(), before))


def end_quiet(token: Any) -> None:
    """Handle floating-point errors as before `begin_quiet`, which returned `token`."""
    if isinstance(token, contextvars.Token):
        _variable.reset(token)
    elif token is not None:
        block, before = token
        _quieted.reset(before)
        block.__exit__(None, None, None)


def users_error_state() -> dict[str, str]:
    """``np.geterr()``, without what `begin_quiet` has changed."""
    state = error_state()
    quieted, before = _quieted.get((None, ()))
    if state is quieted:
        return dict(before)
    if _variable is not None and state is _QUIET:
        return dict(_KINDS)
    found: Any = np.geterr()
    return dict(found)


def set_users_error_state(**kinds: Any) -> dict[str, str]:
    """``np.seterr(**kinds)``, which returns the state before."""
    before = users_error_state()
    np.seterr(**kinds)
    return before


def strict_part(state: ErrorState) -> ErrorState:
    """The kinds of errors for which a state asks for more than NumPy's default."""
    return tuple((name, kind) for name, kind in state if kind not in ("ignore", _KINDS[name]))


def under(state: ErrorState) -> AbstractContextManager[Any]:
    """Change the state within the block, if errors are handled at all."""
    return np.errstate(**cast(Any, dict(state))) if state and is_strict() else _UNCHANGED
