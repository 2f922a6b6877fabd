"""Classes and modules of the user: which these are, and their members."""

import sys
from collections.abc import Iterator, Mapping
from types import FunctionType, MemberDescriptorType
from typing import Any, Final

from ...callers.user_code import is_defined_by_user, is_users
from .place import ABSENT

OURS: Final = __name__.partition(".")[0]


def is_users_class(kind: type) -> bool:
    """Whether a class is the user's, rather than Python's or a library's."""
    module = vars(kind).get("__module__", "builtins")
    if (
        module in ("builtins", "functools", "typing")
        or not isinstance(module, str)
        or module.startswith(OURS)
    ):
        return False
    if module in sys.modules:
        return is_defined_by_user(kind)
    functions = (one for one in vars(kind).values() if isinstance(one, FunctionType))
    return all(is_users(one.__code__.co_filename) for one in functions)


def without_pythons(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names of a module or a class, without those that Python sets."""
    return {name: one for name, one in names.items() if not name.startswith("__")}


NOT_OF_OPERATORS: Final = frozenset(
    """
    __init__ __new__ __post_init__ __del__ __init_subclass__ __set_name__ __class_getitem__ __prepare__ __reduce__
    __reduce_ex__ __getstate__ __setstate__ __getnewargs__ __getnewargs_ex__ __copy__ __deepcopy__ __dir__ __sizeof__
    """.split()
)
"""Special methods that no operator, built-in function or attribute calls, or which are called like functions."""


OPERATORS: Final = frozenset(
    f"__{name}__"
    for name in """
    add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod imod pow
    rpow ipow matmul rmatmul imatmul divmod rdivmod lshift rlshift ilshift rshift rrshift irshift and rand iand or ror
    ior xor rxor ixor lt le gt ge eq ne neg pos invert abs round trunc floor ceil bool int float complex index hash str
    repr format bytes len length_hint iter next reversed contains getitem setitem delitem missing call enter exit
    getattr getattribute setattr delattr get set delete instancecheck subclasscheck array array_ufunc array_function
    array_priority
    """.split()
)
"""The special methods that an operator, a statement or a function asks for."""


def is_operator(name: str) -> bool:
    """Whether a special method has this name that Python calls without its name being in the code."""
    return name.startswith("__") and name.endswith("__") and name not in NOT_OF_OPERATORS


def operators_of(kind: type) -> dict[str, Any]:
    """The special methods that the user has written."""
    return {
        name: one
        for name, one in vars(kind).items()
        if is_operator(name) and isinstance(one, FunctionType) and is_users(one.__code__.co_filename)
    }


def slot_members(kind: type) -> Iterator[MemberDescriptorType]:
    """The slots of a class and its bases. Two of them may have the same name."""
    for base in kind.__mro__:
        if "__slots__" in vars(base):
            yield from (
                one
                for one in vars(base).values()
                if isinstance(one, MemberDescriptorType) and one.__objclass__ is base
            )


def slots_of(x: Any) -> dict[str, Any]:
    """The attributes of an object in its ``__slots__``. Those that are not set have the value `ABSENT`."""
    found: dict[str, Any] = {}
    kinds = type(x).__mro__
    for member in slot_members(type(x)):
        name = member.__name__
        first = next((vars(kind)[name] for kind in kinds if name in vars(kind)), None)
        if first is member:  # and not a property, which a subclass may have in its place
            try:
                found[name] = member.__get__(x)
            except AttributeError:
                found[name] = ABSENT
    return found
