"""A call with named sizes: their values in it, and the assumptions of its program about them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from ...compiler.builder import line_at_work
from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.dim import answering
from ...compiler.shapes.guards import Guards
from ...compiler.shapes.scope import Observed
from ...compiler.tracing.lengths_in_call import LengthsInCall
from ..eager.one_call import is_for_user
from .signature import Signature


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
        self.scope = Observed(hints, declared, line_at_work, is_for_user, ahead, LengthsInCall())

    def answering(self) -> AbstractContextManager[None]:
        """Inside the block, this call decides comparisons of sizes."""
        return answering(self.scope)

    def tracing(self) -> AbstractContextManager[None]:
        """Inside the block, the function is traced. `SizesFixedError` ends that if Python needs the values of all
        sizes."""
        return self.scope.compiling_for(self.called.dims)

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
