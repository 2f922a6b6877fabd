"""The objects that a block can reach and change, and copies of their contents, for comparing and restoring them."""

import dis
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import HOOKS, is_users
from ...compiler.frontend.closure_cells import CELL
from ...compiler.nesting import shown
from ...compiler.tracing.outside.adoption import traced_replacement
from ...compiler.tracing.outside.users_classes import is_users_class
from ...compiler.tracing.trace import LARGEST_CONTENT
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from .one_of import entries_of, is_one_of
from .slots import CONTAINERS, GeneratorState, attributes, content_of

_DEEPEST: Final = 24
_DEEPEST_IN_LIBRARIES: Final = 4
"""Objects of Python and of other libraries are followed less far: below their attributes, they keep state of their
own."""
_MOST: Final = 10_000

_LIBRARIES: Final = frozenset({"tracemill", "numpy", "scipy"})
"""The objects of these libraries keep internal state that does not concern the user."""


class GlobalVariable:
    """A global variable that a function sets."""

    def __init__(self, module: dict[str, Any], name: str) -> None:
        self.module, self.name = module, name


def globals_set(code: CodeType, module: dict[str, Any]) -> list[GlobalVariable]:
    """The global variables that code sets."""
    return [GlobalVariable(module, name) for name in _globals_set(code)]


def identity(x: Any) -> Any:
    """The same for two objects only if they stand for the same thing."""
    return (id(x.module), x.name) if isinstance(x, GlobalVariable) else id(x)


@lru_cache(4096)
def _globals_set(code: CodeType) -> tuple[str, ...]:
    names = {
        step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
    }
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            names.update(_globals_set(inner))
    return tuple(sorted(names))


_NAMESPACES: Final = (type, ModuleType, FunctionType, GlobalVariable)
"""What holds values under names that a branch or a loop cannot set like variables."""


# ---- finding objects -----------------------------------------------------------------------------------


def reached(names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The objects that can be changed, with the paths that lead to them."""
    seen: set[int] = set()
    level: list[tuple[str, Any]] = [
        (name.removeprefix(CELL), x)
        for name, x in names.items()
        if not name.startswith(HOOKS) or name.startswith(CELL)
    ]
    for depth in range(_DEEPEST):
        following: list[tuple[str, Any]] = []
        for path, x in level:
            if is_one_of(x):
                following += [(path, one) for one in entries_of(x)]
                continue
            if id(x) in seen or not _can_change(x, depth):
                continue
            if len(seen) > _MOST:
                return
            seen.add(id(x))
            if not isinstance(x, (tuple, partial)):
                yield path, x
            following += _parts(path, x)
        level = following


def _can_change(x: Any, depth: int) -> bool:
    if is_traced(x) or isinstance(x, MethodType):
        return False
    if isinstance(x, (*CONTAINERS, tuple, np.ndarray, GeneratorState, CellType, GlobalVariable, partial)):
        return True
    if isinstance(x, FunctionType):
        return is_users(x.__code__.co_filename)
    if isinstance(x, ModuleType):
        return is_users(getattr(x, "__file__", None) or "<frozen>") and not _is_of_library(x.__name__)
    if isinstance(x, type):
        return is_users_class(x) and not _is_of_library(x.__module__)
    if _is_of_library(type(x).__module__):
        return False
    if depth >= _DEEPEST_IN_LIBRARIES and not is_users_class(type(x)):
        return False
    return isinstance(getattr(x, "__dict__", None), dict) or hasattr(type(x), "__slots__")


def _is_of_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES | {"builtins"}


def _parts(path: str, x: Any) -> Iterable[tuple[str, Any]]:
    """What an object holds, with the paths."""
    if isinstance(x, dict):
        return [(f"{path}[{shown(key, 20)}]", one) for key, one in x.items()]
    if isinstance(x, (list, tuple, deque)):
        return [(f"{path}[{place}]", one) for place, one in enumerate(x)]
    if isinstance(x, (set, np.ndarray)):
        return ()
    if isinstance(x, CellType):
        return [(path, one) for one in content_of(x).values()]
    if isinstance(x, _NAMESPACES):
        return _parts_of_namespace(path, x)
    if isinstance(x, partial):
        held = {"func": x.func, "args": x.args, "keywords": x.keywords}
        return [(f"{path}.{name}", one) for name, one in held.items()]
    return [*((f"{path}.{name}", one) for name, one in attributes(x).items()), (type(x).__name__, type(x))]


def _parts_of_namespace(path: str, x: Any) -> Iterable[tuple[str, Any]]:
    """The same for a namespace. The functions in it are watched when they are called."""
    held = _own_names(x)
    if isinstance(x, GlobalVariable):
        return held.items()
    if isinstance(x, FunctionType):
        held |= {"__defaults__": x.__defaults__, "__kwdefaults__": x.__kwdefaults__}
    else:
        held = {name: one for name, one in held.items() if not isinstance(one, FunctionType)}
    bases = x.__bases__ if isinstance(x, type) else ()
    return [*((f"{path}.{name}", one) for name, one in held.items()), *((one.__name__, one) for one in bases)]


# ---- copies of their contents --------------------------------------------------------------------------


def _own_names(x: Any) -> dict[str, Any]:
    """The values that a namespace holds, by name, without what Python keeps in it."""
    if isinstance(x, GlobalVariable):
        return {x.name: x.module[x.name]} if x.name in x.module else {}
    return {
        name: one
        for name, one in vars(x).items()
        if not (name.startswith("__") and name.endswith("__")) and not isinstance(one, ModuleType)
    }


def state_of(x: Any) -> Any:
    """A copy of the contents of an object; for a large array, of its first and last entries."""
    if isinstance(x, np.ndarray):
        return x.copy() if x.nbytes <= LARGEST_CONTENT else (x.flat[:64].copy(), x.flat[-64:].copy())
    if isinstance(x, _NAMESPACES):
        return MappingProxyType(_own_names(x))
    return _copy(x) if isinstance(x, CONTAINERS) else attributes(x)


def _copy(x: Any) -> Any:
    """A copy of a container as one of Python's own types."""
    kind = next(kind for kind in CONTAINERS if isinstance(x, kind))
    return kind(x)


def is_state(x: Any, state: Any) -> bool:
    """Whether an object still has the contents that were copied."""
    if isinstance(x, np.ndarray):
        if isinstance(state, tuple):
            return _is_equal(x.flat[:64], state[0]) and _is_equal(x.flat[-64:], state[1])
        return _is_equal(x, state)
    if isinstance(x, set):
        return bool(x == state)
    if isinstance(x, _NAMESPACES):
        return next(_changed_names(x, state), None) is None
    now = x if isinstance(x, CONTAINERS) else attributes(x)
    if isinstance(now, dict):
        return list(now) == list(state) and all(now[key] is state[key] for key in now)
    return len(now) == len(state) and all(one is other for one, other in zip(now, state, strict=True))


def _changed_names(x: Any, state: Mapping[str, Any]) -> Iterator[str]:
    """The names that were set or deleted. A NumPy array may have become traced, as one that is written to does."""
    now = _own_names(x)
    for name in dict.fromkeys((*state, *now)):
        if (
            name not in now
            or name not in state
            or (now[name] is not state[name] and not _is_adopted(state[name], now[name]))
        ):
            yield name


def _is_adopted(before: Any, now: Any) -> bool:
    return is_numpy_array(before) and is_traced(now) and traced_replacement(before)._storage is now._storage


def _is_equal(x: Any, y: Any) -> bool:
    return bool(x.shape == y.shape and x.tobytes() == y.tobytes())


def restore(x: Any, state: Any) -> None:
    """Give an object the contents again that were copied."""
    if isinstance(x, np.ndarray):
        if not isinstance(state, tuple):
            x[...] = state
    elif isinstance(x, (list, deque)):
        x.clear()
        x.extend(state)
    elif isinstance(x, (dict, set)):
        x.clear()
        x.update(state)
    elif isinstance(x, _NAMESPACES):
        for name in list(_changed_names(x, state)):
            _set_name(x, name, state)
    else:
        for name in attributes(x).keys() - state.keys():
            object.__delattr__(x, name)
        for name, value in state.items():
            object.__setattr__(x, name, value)


def _set_name(x: Any, name: str, state: Mapping[str, Any]) -> None:
    """Set a name of a namespace to what it was, or delete it if it is new."""
    if isinstance(x, type):
        if name in state:
            type.__setattr__(x, name, state[name])
        else:
            type.__delattr__(x, name)
        return
    names = x.module if isinstance(x, GlobalVariable) else vars(x)
    if name in state:
        names[name] = state[name]
    else:
        del names[name]


def described(path: str, x: Any, state: Any) -> str:
    """What of an object has changed, in messages."""
    if isinstance(x, GlobalVariable):
        return f"`{x.name}`, a global variable"
    if isinstance(x, (type, ModuleType, FunctionType)):
        kind = "class" if isinstance(x, type) else "module" if isinstance(x, ModuleType) else "function"
        name = path if isinstance(x, FunctionType) else x.__name__
        return f"`{name}.{next(_changed_names(x, state))}`, an attribute of a {kind}"
    if is_numpy_array(x):
        return f"`{path}`, a NumPy array from outside the function"
    kind = type(x).__name__ if isinstance(x, CONTAINERS) else f"{type(x).__name__} with attributes"
    return f"`{path}`, a {kind}"
