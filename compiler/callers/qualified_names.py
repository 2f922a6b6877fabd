"""`with_qualified_name`: new code under the name of the old one, which messages, `__qualname__` and `repr` show."""

from types import CodeType
from typing import Any, Final

from .user_code import HOOKS

_INSIDE: Final = f"{HOOKS}_inside"
"""The last constant of code that a converted function contains."""


def with_qualified_name(code: CodeType, name: str) -> CodeType:
    """The code of a function with another qualified name, which the functions and classes inside begin with, too."""
    return _renamed(code, code.co_qualname, name)


def is_inside_converted(code: CodeType) -> bool:
    """Whether code belongs to a function or a class that a converted function defines."""
    return code.co_consts[-1:] == (_INSIDE,)


def _renamed(code: CodeType, before: str, after: str) -> CodeType:
    old = code.co_qualname
    name = after + old.removeprefix(before)

    def constant(one: Any) -> Any:
        if isinstance(one, CodeType):
            inner = _renamed(one, before, after)
            return inner.replace(co_consts=(*inner.co_consts, _INSIDE))
        return name if type(one) is str and one == old else one  # the body of a class sets ``__qualname__``

    return code.replace(co_qualname=name, co_consts=tuple(map(constant, code.co_consts)))
