"""A call whose sizes have names: what they are in it, and what its program assumes of them."""

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
from .signature import Signature

REMEMBERED: Final = 4096
"""Names of files, of which it is known whether they are the user's."""


class SymbolicCall:
    """Answers for the sizes of one call while its program is made, and keeps what was answered.

    `called` has dims for sizes, and what is declared of them as its guards; `hints` are the sizes of the call, and
    `ahead` those for which the program may have been made ahead of time.
    """

    def __init__(
        self, called: Signature, hints: Mapping[str, int], ahead: Mapping[str, int] | None = None
    ) -> None:
        self.called = called
        declared = Assumptions(guard.comparison for guard in called.guards.guards)
        self.scope = Observed(hints, declared, line_at_work, is_for_user, ahead)

    def answering(self) -> AbstractContextManager[None]:
        """Within the block, this call says what comparisons of sizes are."""
        return answering(self.scope)

    @property
    def guards(self) -> Guards:
        """What the program assumes of sizes, declared or not, besides their own limits."""
        return Guards((*self.called.guards.guards, *self.scope.guards.guards)).simplified()

    @property
    def signature(self) -> Signature:
        """All calls that the program serves."""
        return replace(self.called, guards=self.guards)

    @property
    def is_fixed(self) -> bool:
        """Whether the guards leave each size one value."""
        return all(map(self.scope.fixes, self.called.dims))


_ON_BEHALF: Final = join(PACKAGE, "runtime", "staging", "on_behalf.py")
"""Through which the user's code makes its calls."""


def is_for_user(code: CodeType) -> bool:
    """Whether code is neither ours nor the ``__hash__`` of a dataclass; what finds keys in dicts is not ours."""
    file = code.co_filename
    return _is_users(file) and not (file == "<string>" and code.co_name == "__hash__")


@lru_cache(REMEMBERED)
def _is_users(file: str) -> bool:
    """Remembered, as it is asked for each comparison, and wherever a size is looked up."""
    return file.startswith((OPTREE, _ON_BEHALF)) or not is_library(file)


def line_at_work() -> Any:
    """The line of the user's program from which what is being made comes, if one is known."""
    builder = current_builder()
    return None if builder is None else builder.where()
