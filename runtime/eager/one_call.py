"""Sizes while a function is traced for one call: lengths that the program computes have names."""

from contextlib import AbstractContextManager
from functools import lru_cache
from os.path import join
from types import CodeType
from typing import Final

from ...compiler.builder import line_at_work
from ...compiler.callers.user_code import OPTREE, PACKAGE, is_library
from ...compiler.shapes.dim import answering
from ...compiler.shapes.scope import Observed
from ...compiler.tracing.lengths_in_call import LengthsInCall

REMEMBERED: Final = 4096
"""Names of files that are known to be the user's or not."""


def answering_for_one_call() -> AbstractContextManager[None]:
    """Within the block, the sizes that have names are those alone that the program finds out when it runs."""
    return answering(Observed({}, None, line_at_work, is_for_user, lengths=LengthsInCall()))


_USER_CALL: Final = join(PACKAGE, "runtime", "staging", "user_call.py")
"""The frames through which the user's code makes its calls."""


def is_for_user(code: CodeType) -> bool:
    """Whether code belongs neither to Tracemill nor to the ``__hash__`` of a dataclass; lookups of keys in dicts do
    not belong to Tracemill."""
    file = code.co_filename
    return _is_users(file) and not (file == "<string>" and code.co_name == "__hash__")


@lru_cache(REMEMBERED)
def _is_users(file: str) -> bool:
    """Cached, because each comparison and each lookup of a size needs it."""
    return file.startswith((OPTREE, _USER_CALL)) or not is_library(file)
