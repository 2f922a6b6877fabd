"""NumPy's constructors while a trace is active: ``np.zeros(4)`` inside a traced function is a traced array."""

import builtins
import math
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from itertools import islice
from linecache import getline
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numpy as np

from ..callers.user_code import is_library, user_location
from ..errors import RandomStateError
from ..locks import reentrant_lock
from ..tracing.registry import FUNCTIONS, enter
from ..tracing.trace import current_trace
from ..tracing.traced_array import TracedArray, contains_size, contains_traced, located
from .size_math import functions_of_sizes

F = TypeVar("F", bound=Callable[..., Any])

CONSTRUCTORS: dict[str, Callable[..., Any]] = {}
"""Name of a constructor in NumPy (``zeros``, ``fft.fftfreq``) -> what it does in a traced function."""

INDEXABLES: dict[str, Any] = {}
"""Name of an object in NumPy that is indexed, such as ``r_`` -> what stands for it in a traced function."""

_RANDOM = "numpy.random"

_FILLED_BY_CALLERS = frozenset(
    {"arange", "array", "asarray", "empty", "empty_like", "full", "full_like", "ones", "zeros", "zeros_like"}
)
"""Constructors that compiled code calls (``rng.normal(size=n)``) and whose memory it then writes to, whatever it got:
also where sizes have names it gets NumPy's arrays."""
_RANDOM_SAFE = {"default_rng", "Generator", "RandomState", "SeedSequence", "BitGenerator", "PCG64", "Philox"}


def intercepts(name: str) -> Callable[[F], F]:
    """Register the decorated function as what ``np.name`` does in a traced function."""

    def register(function: F) -> F:
        enter(CONSTRUCTORS, name, function)
        return function

    return register


def replaces(name: str, indexable: Any) -> None:
    """Let ``np.name[…]`` mean ``indexable[…]`` in a traced function."""
    enter(INDEXABLES, name, indexable)


def place_in_numpy(name: str) -> tuple[Any, str]:
    """The module and the attribute of it that a name in NumPy means: ``numpy.fft`` and ``fftfreq``."""
    module, _, attribute = name.rpartition(".")
    return (getattr(np, module) if module else np), attribute


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a function of NumPy's does in the user's code that is traced."""

    name: str
    """In NumPy: ``zeros``, ``linalg.norm``."""
    meaning: Callable[..., Any]
    makes_arrays: bool
    """Whether its result is traced also if nothing that it gets is."""


class _Installation:
    """What is replaced in NumPy while any thread traces. The replacements are made once."""

    def __init__(self) -> None:
        self.lock = reentrant_lock()
        self.active: set[object] = set()
        """The traces that go on."""
        self.symbolic: set[object] = set()
        """Those of them that have symbolic sizes."""
        self.is_made = False
        self.replaced: list[tuple[Any, str, Any, Any]] | None = None
        """Module, name, NumPy's own, ours."""
        self.meanings: dict[int, Meaning | None] = {}
        """What ours stand for, by their ids: they are kept."""
        self.refuses_draws = False

    def enter(self, trace: object, *, is_symbolic: bool) -> None:
        with self.lock:
            self.active.add(trace)  # first: a trace in a signal handler then leaves the replacements in place
            if is_symbolic:
                self.symbolic.add(trace)
                for module, name, _, ours in _FOR_SIZES:
                    setattr(module, name, ours)
            if self.replaced is None:
                found = list(_replacements())
                meanings = {id(ours): _meaning(module, name, own) for module, name, own, ours in found}
                if self.replaced is None:  # else a signal handler has traced meanwhile
                    self.meanings = meanings
                    self.replaced = found
            if not self.is_made:
                for module, name, _, ours in self.replaced:
                    setattr(module, name, ours)
                self.is_made = True
        if self.refuses_draws:
            return
        if (random := vars(np).get("random")) is not None:
            self.refuse_draws(random)
        elif not any(isinstance(finder, _RandomFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _RandomFinder())

    def refuse_draws(self, random: ModuleType) -> None:
        """Replace the functions of ``numpy.random``, now that it is loaded."""
        with self.lock:
            found = list(_draws(random))
            if self.refuses_draws:
                return
            self.refuses_draws = True
            self.replaced = [*(self.replaced or ()), *found]
            if self.active:
                for module, name, _, ours in found:
                    setattr(module, name, ours)

    def leave(self, trace: object) -> None:
        with self.lock:
            if trace in self.symbolic:
                self.symbolic.discard(trace)
                if not self.symbolic:
                    for module, name, original, _ in _FOR_SIZES:
                        setattr(module, name, original)
            self.active.discard(trace)
            if not self.active:
                self.is_made = False
                for module, name, original, _ in self.replaced or ():
                    setattr(module, name, original)


class _RandomFinder(MetaPathFinder):
    """Has ``numpy.random`` replaced when it is loaded: that takes NumPy long, and most functions do not need it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _RANDOM:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _RandomLoader(spec.loader)
        return spec


class _RandomLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        _installation.refuse_draws(module)


_installation = _Installation()
_len = builtins.len


def _length(x: Any, /) -> Any:
    """``len(x)``, which Python makes an int: of a traced array a symbolic size if it has one."""
    return x.__len__() if isinstance(x, TracedArray) else _len(x)


def is_length(function: Any) -> bool:
    """Whether it is Python's ``len``, or what stands for it."""
    return function is _len or function is _length


def in_users_code(function: Any) -> Meaning | None:
    """What a function that stands in NumPy while tracing does there; None of any other."""
    return _installation.meanings.get(id(function))


_FOR_SIZES: list[tuple[Any, str, Any, Any]] = [
    (builtins, "len", _len, _length),
    *((math, *function) for function in functions_of_sizes()),
]
"""What is replaced in Python while any trace has symbolic sizes, as in `_Installation.replaced`."""


@contextmanager
def intercepted(*, is_symbolic: bool = False) -> Generator[None]:
    """Let NumPy's constructors see traces. Threads that are not tracing get NumPy's own behaviour throughout.

    In traces with symbolic sizes ``len(x)`` is one, too, and ``math.sqrt(len(x))`` a number of the program.
    """
    trace = object()
    try:
        _installation.enter(trace, is_symbolic=is_symbolic)
        yield
    finally:
        _installation.leave(trace)


def _replacements() -> Iterator[tuple[Any, str, Any, Any]]:
    """Module, name, what NumPy has there, and what stands there while a trace is active."""
    for name, traced in CONSTRUCTORS.items():
        module, short = place_in_numpy(name)
        original = getattr(module, short)
        yield module, short, original, _dispatching(short, original, traced)
    for name, indexable in INDEXABLES.items():
        original = getattr(np, name)
        yield np, name, original, _DispatchingIndexable(original, indexable)
    for function in FUNCTIONS:
        name, module = function.__name__, sys.modules[function.__module__]
        if (module is not np or name not in CONSTRUCTORS) and getattr(module, name, None) is function:
            yield module, name, function, _looking_everywhere(function)


def _meaning(module: Any, name: str, original: Any) -> Meaning | None:
    path = f"{module.__name__}.{name}".removeprefix("numpy.")
    if path in CONSTRUCTORS:
        return Meaning(path, CONSTRUCTORS[path], makes_arrays=True)
    return Meaning(path, FUNCTIONS[original], makes_arrays=False) if original in FUNCTIONS else None


def _draws(random: ModuleType) -> Iterator[tuple[Any, str, Any, Any]]:
    """As `_replacements`, of the functions that draw from NumPy's own generator."""
    for name in random.__all__:
        original = getattr(random, name)
        if name not in _RANDOM_SAFE and callable(original) and not isinstance(original, type):
            yield random, name, original, _refusing(original, name)


def _dispatching(name: str, original: Any, traced: Callable[..., Any]) -> Any:
    @wraps(original)
    def constructor(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is not None and (
            _holds_traced(args, kwargs)
            or _meant_by_caller(name)
            or (name not in _FILLED_BY_CALLERS and _gives_sizes(args, kwargs))
        ):
            return located(traced, *args, **kwargs)
        return original(*args, **kwargs)

    return constructor


class _DispatchingIndexable:
    """Stands for an object of NumPy that is indexed rather than called."""

    def __init__(self, original: Any, traced: Any) -> None:
        self._original = original
        self._traced = traced

    def __getitem__(self, key: Any) -> Any:
        inside = current_trace() is not None and not is_library(sys._getframe(1).f_code.co_filename)
        return located((self._traced if inside else self._original).__getitem__, key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _holds_traced(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(map(contains_traced, (*args, *kwargs.values())))


def _gives_sizes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the user's own code hands symbolic sizes to the function that is two frames up."""
    if not any(map(contains_size, (*args, *kwargs.values()))):
        return False
    return not is_library(sys._getframe(2).f_code.co_filename)


def _looking_everywhere(original: Any) -> Any:
    """``np.max([x, y])``, ``np.fill_diagonal(w, x)``: NumPy's protocol looks at some arguments, not into lists."""

    @wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is not None and (_holds_traced(args, kwargs) or _gives_sizes(args, kwargs)):
            return located(FUNCTIONS[original], *args, **kwargs)
        return original(*args, **kwargs)

    return function


def _meant_by_caller(name: str) -> bool:
    """Whether the user's own code calls ``np.name`` here.

    NumPy, SciPy and Tracemill mean NumPy's constructors, and so does compiled code (``rng.normal``), which has no
    frame of its own: there the calling line does not name the constructor.
    """
    frame = sys._getframe(2)
    code = frame.f_code
    return not is_library(code.co_filename) and _calls(code, frame.f_lasti, name)


@lru_cache(maxsize=4096)
def _calls(code: CodeType, instruction: int, name: str) -> bool:
    """Whether the call at this instruction is spelled ``….name(…)`` in the source."""
    line, end_line, column, _ = next(islice(code.co_positions(), instruction // 2, None))
    if line is None or end_line is None or column is None or not getline(code.co_filename, line):
        return name in code.co_names
    text = "".join(getline(code.co_filename, n) for n in range(line, end_line + 1)).encode()[column:]
    return text.partition(b"(")[0].split(b".")[-1].strip() == name.encode()


def _refusing(original: Any, name: str) -> Any:
    @wraps(original)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None or not _meant_by_caller(name):
            return original(*args, **kwargs)
        raise RandomStateError(
            f"np.random.{name} was called while tracing: its number would be frozen into the graph. "
            "Draw from a generator of tracemill.random.default_rng, or outside, and pass the result as an argument",
            user_location(),
        )

    return draw
