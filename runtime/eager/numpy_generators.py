"""NumPy's generators that a function reaches: draws while tracing would be the same in each run."""

import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from ...compiler.arguments.leaves import argument_names, users_name
from ...compiler.callers.function_names import describe
from ...compiler.callers.user_code import location_at
from ...compiler.errors import RandomStateError, TracemillError
from ...compiler.frontend.conversion import conversion_of
from ...compiler.frontend.program import Argument, Static
from ...compiler.tracing.outside.unseen_prints import refusing_unseen_prints, unseen_prints
from ...compiler.tracing.values_in_call import is_undone
from .generator_states import restore, state_of
from .impure_calls import may_be_impure, refusing_impure_calls
from .reached_objects import is_filled, names_of, reached_objects

_refused: ContextVar[frozenset[str]] = ContextVar("refused", default=frozenset())
"""What traced functions are refused: "draws", and "clocks"."""


@contextmanager
def refusing_draws(
    function: Callable[..., Any],
    tree: Any,
    entering: Sequence[Argument | Static],
    *,
    clocks: bool = True,
    is_block: bool = False,
) -> Generator[None]:
    """Raises `RandomStateError` if the function has drawn from a NumPy generator that it reaches, or from Python's.

    It may be among the arguments, `tree` filled with `entering`, or an attribute of a method's object, or named by
    the function or one that it calls. With `clocks`, raises `ClockError` if it has read the time.

    A function that `is_block` runs statements of a function that is being traced. What that one is refused, it checks
    itself: searching again in each of its branches would take longer than tracing.
    """
    checked = _refused.get() if is_block else frozenset()
    refused = _refused.get() | {"draws", *(["clocks"] if clocks else [])}
    if refused == checked:
        yield
        return
    others, is_watched, printing = _of_reached(
        [function, *(x.value for x in entering if isinstance(x, Static))]
    )
    outer = _refused.set(refused)
    try:
        with (
            nullcontext() if "draws" in checked else _comparing_states(function, tree, entering, others),
            refusing_impure_calls(function, clocks=clocks) if is_watched else nullcontext(),
            refusing_unseen_prints(printing),
        ):
            yield
    finally:
        _refused.reset(outer)


def _of_reached(roots: Sequence[Any]) -> tuple[dict[int, Any], bool, frozenset[CodeType]]:
    """Of what code among these objects reaches: by their ids, those from which NumPy draws; whether it may read a
    clock or draw without NumPy; and the code that may print without hooks. All other code is traced at full speed."""
    reached = list(reached_objects(roots))
    states = {id(one): one for one in reached if _keeps_state(one)}
    return states, may_be_impure(reached), unseen_prints(reached)


@contextmanager
def _comparing_states(
    function: Callable[..., Any],
    tree: Any,
    entering: Sequence[Argument | Static],
    others: Mapping[int, Any],
) -> Generator[None]:
    """Raises `RandomStateError` if the state of a generator that the function reaches has changed, of one among
    `others`, or of one that it names."""
    is_loaded = (
        "numpy.random" in sys.modules
    )  # otherwise there is no generator, and this is not the time to load them
    reached = [*_generators(function, set()), *_given(function, tree, entering)] if is_loaded else []
    named = {id(found) for _, found in reached}
    reached += [("", one) for key, one in others.items() if key not in named]
    before = [(name, found, state_of(found)) for name, found in reached]
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    if not is_loaded and "numpy.random" in sys.modules and np.random.get_state()[2] != _FRESH:  # type: ignore[index]
        before.append(("np.random", np.random.mtrand._rand, b""))
    changed = [(name, found, state) for name, found, state in before if state_of(found) != state]
    is_again = failure is not None and is_undone(failure)
    if failure is None or is_again or isinstance(failure, TracemillError):
        restored = [bool(state) and restore(found, state) for _, found, state in changed]
        if changed and (failure is None or (is_again and not all(restored))):  # the function would draw twice
            raise _frozen(function, changed[0][0])
    if failure is not None:
        raise failure


def _frozen(function: Callable[..., Any], name: str) -> RandomStateError:
    """The error for a function that has drawn from a generator."""
    code = getattr(function, "__code__", None)
    return RandomStateError(
        f"{describe(function)} drew from {_described(name)}, while being traced: the number would be frozen into the "
        "graph, the same each time that it runs. Draw from a generator of tracemill.random.default_rng, or outside, "
        "and pass the result as an argument",
        None if code is None else location_at(code.co_filename, code.co_firstlineno),
    )


_FRESH: Final = 623
"""The index in its numbers at which NumPy's own generator starts before the first draw."""


def _described(name: str) -> str:
    return f"{name}, a generator of NumPy's" if name else "a generator of NumPy's that it reaches"


def _keeps_state(value: Any) -> bool:
    """Whether NumPy draws numbers from this object."""
    is_loaded = "numpy.random" in sys.modules
    return is_loaded and (_is_generator(value) or isinstance(value, np.random.BitGenerator))


def _given(
    function: Callable[..., Any], tree: Any, entering: Sequence[Argument | Static]
) -> Iterator[tuple[str, Any]]:
    """The generators among the arguments, and in attributes of arguments."""
    settings = [(number, leaf.value) for number, leaf in enumerate(entering) if isinstance(leaf, Static)]
    names = argument_names(tree) if settings else []
    for number, value in settings:
        yield from _generators_in(users_name(function, names[number]), value)


def _generators_in(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value if it is a generator, or the generator of a method (``draw = rng.normal``), otherwise those among its
    attributes."""
    owner = value.__self__ if isinstance(value, MethodType) else None
    if _is_generator(value):
        yield name, value
    elif _is_generator(owner):
        yield name, owner
    elif hasattr(value, "__dict__") and not isinstance(value, ModuleType):
        yield from ((f"{name}.{key}", one) for key, one in vars(value).items() if _is_generator(one))


def _is_generator(value: Any) -> bool:
    return isinstance(value, (np.random.Generator, np.random.RandomState))


def _generators(function: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """The generators in the closure of a function and among the globals that it names, and those of its functions."""
    while isinstance(function, partial):
        function = function.func
    yield from _generators_in("self", getattr(function, "__self__", None))
    function = getattr(function, "__func__", function)
    if id(function) in seen:
        return
    seen.add(id(function))
    if hasattr(function, "__wrapped__"):
        yield from _generators(function.__wrapped__, seen)
    if not isinstance(function, FunctionType):
        return
    code, defaults = function.__code__, function.__defaults__ or ()
    if any("random" in name for name in code.co_names) and isinstance(conversion_of(function), str):
        yield "np.random", np.random.mtrand._rand  # calls in converted code are refused at the call
    named = [
        (name, function.__globals__[name]) for name in sorted(names_of(code)) if name in function.__globals__
    ]
    named += zip(code.co_varnames[code.co_argcount - len(defaults) :], defaults, strict=False)
    named += (function.__kwdefaults__ or {}).items()
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    named += [(name, cell.cell_contents) for name, cell in cells if is_filled(cell)]
    for name, value in named:
        if isinstance(value, FunctionType):
            yield from _generators(value, seen)
        else:
            yield from _generators_in(name, value)
