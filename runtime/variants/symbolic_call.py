"""A call with named sizes: their values in it, and the assumptions of its program about them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from os.path import join
from types import CodeType
from typing import Any, Final

from ...compiler.builder import current_builder
from ...compiler.callers.user_code import OPTREE, PACKAGE, is_library
from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.dim import answering
from ...compiler.shapes.guards import Guards
from ...compiler.shapes.scope import Observed
from ...compiler.tracing.lengths_at_hand import LengthsAtHand
from .signature import Signature

REMEMBERED: Final = 4096
"""Names of files that are known to be the user's or not."""


class SymbolicCall:
    """Answers for the sizes of one call while its program is compiled, and records the answers.

    `called` has dims for sizes, and the declarations about them as its guards. `hints` are the sizes of the call, and
    `ahead` those for which the program may have been compiled ahead of time.
    """

    def __init__(
        self, called: Signature, hints: Mapping[str, int], ahead: Mapping[str, int] | None = None
    ) -> None:
        self.called = called
        declared = Assumptions(guard.comparison for guard in called.guards.guards)
        self.scope = Observed(hints, declared, line_at_work, is_for_user, ahead, LengthsAtHand())

    def answering(self) -> AbstractContextManager[None]:
        """Inside the block, this call decides comparisons of sizes."""
        return answering(self.scope)

    @property
    def guards(self) -> Guards:
        """The program's assumptions about sizes, declared or not, in addition to their own limits."""
        return Guards((*self.called.guards.guards, *self.scope.guards.guards)).simplified()

    @property
    def signature(self) -> Signature:
        """All calls that the program serves."""
        return replace(self.called, guards=self.guards)

    @property
    def is_fixed(self) -> bool:
        """Whether the guards leave each size only one value."""
        return all(map(self.scope.fixes, self.called.dims))


def answering_for_one_call() -> AbstractContextManager[None]:
    """Within the block, the sizes that have names are those alone that the program finds out when it runs."""
    return answering(Observed({}, None, line_at_work, is_for_user, lengths=LengthsAtHand()))


_ON_BEHALF: Final = join(PACKAGE, "runtime", "staging", "on_behalf.py")
"""The frames through which the user's code makes its calls."""


def is_for_user(code: CodeType) -> bool:
    """Whether code belongs neither to Tracemill nor to the ``__hash__`` of a dataclass; lookups of keys in dicts do
    not belong to Tracemill."""
    file = code.co_filename
    return _is_users(file) and not (file == "<string>" and code.co_name == "__hash__")


@lru_cache(REMEMBERED)
def _is_users(file: str) -> bool:
    """Cached, because each comparison and each lookup of a size needs it."""
    return file.startswith((OPTREE, _ON_BEHALF)) or not is_library(file)


def line_at_work() -> Any:
    """The current line of the user's program, if it is known."""
    builder = current_builder()
    return None if builder is None else builder.where()
