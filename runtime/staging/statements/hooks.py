"""`Hooks`: what converted code calls instead of operators and statements that tracing must handle.

Without a trace, each hook does what Python does.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....compiler.callers.user_code import location_at
from ....compiler.errors import (
    ConcretizationError,
    TracemillError,
)
from ....compiler.frontend.conversion import Conversion
from ....compiler.frontend.sites import Site
from ....compiler.tracing.exceptions.handlers import fall_back, follow_if_handled, handling
from ....compiler.tracing.exceptions.own_errors import pass_on
from ....compiler.tracing.trace import current_trace
from ...branching.asked_lengths import is_staged, length_test
from ...branching.outcomes import BROKEN, FELL, RETURNED, UNSET, Outcome
from ...branching.stand_ins import update_stand_ins
from ...eager.line_writers import writer_name
from ..built_in_functions import shown
from ..callee import callee
from ..comprehensions import is_kept
from ..expressions import and_, choose, compare, comparison_hooks, folded, not_, or_
from ..loops.iterations import plainly
from ..loops.open_generators import pairs
from ..loops.truth_in_call import truth_in_call
from ..numpy_functions import numpy_meaning
from ..operators import (
    attribute,
    delete_attribute,
    delete_item,
    iterated,
    operator_hooks,
    percent,
    set_attribute,
    truth,
    unary,
)
from ..tables import get_item, set_item, with_adopted
from .for_hooks import ForHooks
from .managers import managed
from .patterns import BOOL_PATTERN, COMPLEX_PATTERN, FLOAT_PATTERN, INT_PATTERN, matched
from .statement_hooks import state
from .while_hooks import WhileHooks


class Hooks(WhileHooks, ForHooks):
    """The hooks of a function and of the functions defined in it."""

    UNSET = UNSET
    slice = slice
    callee = staticmethod(callee)
    is_kept = staticmethod(is_kept)
    item = staticmethod(get_item)
    shown = staticmethod(shown)
    store = staticmethod(set_item)
    delete_item, delete_attribute = staticmethod(delete_item), staticmethod(delete_attribute)
    settled = staticmethod(update_stand_ins)
    iterations = staticmethod(lambda iterated: with_adopted(plainly(iterated)))
    iterator = staticmethod(lambda iterated: iter(with_adopted(plainly(iterated))))
    is_staged = staticmethod(is_staged)
    percent = staticmethod(percent)
    unary = staticmethod(unary)
    truth = staticmethod(truth)
    attribute = staticmethod(attribute)
    set_attribute = staticmethod(set_attribute)
    iterated = staticmethod(iterated)
    and_ = staticmethod(and_)
    or_ = staticmethod(or_)
    not_ = staticmethod(not_)
    choose = staticmethod(choose)
    compare = staticmethod(compare)
    fold = staticmethod(folded)

    pairs = staticmethod(pairs)

    @staticmethod
    def raised(make: Callable[[], Any]) -> Any:
        """``raise make()``"""
        from ..texts import raised

        return raised(make)

    handling = handling
    """``with handling(lambda: classes):`` is the body of a `try` whose handlers are for exceptions of these classes."""
    fall_back = staticmethod(fall_back)
    """The beginning of such a body that a generator leaves and resumes."""
    managed = staticmethod(managed)
    matched = staticmethod(matched)
    bool_pattern, complex_pattern = BOOL_PATTERN, COMPLEX_PATTERN
    float_pattern, int_pattern = FLOAT_PATTERN, INT_PATTERN

    @staticmethod
    def handles(classes: Callable[[], Any]) -> None:
        """The beginning of a handler, ``except classes``. It does not see errors that only tracing raises."""
        error = sys.exception()
        assert error is not None
        pass_on(error, classes)

    @staticmethod
    def caught(error: BaseException) -> BaseException:
        """The exception for a handler that looks at it, ``except … as error``."""
        if current_trace() is None:
            return error
        from ..texts import caught

        return caught(error)

    @staticmethod
    def stacked_list(make: Callable[[Any], Any], items: Any, function: Any = list) -> Any:
        """``[entry for target in items]``, or that as a generator for `function`."""
        from ..long_comprehensions import stacked_list

        return stacked_list(make, items, function)

    @staticmethod
    def printed(function: Any, given: Callable[[], Any]) -> Any:
        """``print(…)``, and calls as statements that may be of a logger or of `warnings.warn`."""
        if current_trace() is None or not writer_name(function):
            args, options = given()
            return callee(function)(*args, **options)
        from ..texts import written

        return written(function, given)

    @staticmethod
    def fell(names: Mapping[str, Any]) -> Outcome:
        return Outcome(FELL, UNSET, names)

    @staticmethod
    def broken(names: Mapping[str, Any]) -> Outcome:
        return Outcome(BROKEN, UNSET, names)

    @staticmethod
    def returned(value: Any, names: Mapping[str, Any]) -> Outcome:
        return Outcome(RETURNED, value, names)

    def refuse_jump(self, line: int) -> None:
        """Refuse a jump under a traced condition out of a block that Python runs."""
        raise ConcretizationError(
            "a `return`, `break` or `continue` under a condition on values leads out of a `with`, `try` or `match` "
            "block, which Python runs. Set a variable there, and test it after the block",
            location_at(self._unit.file, line),
        )

    def branch(self, number: int, test: Any, names: Mapping[str, Any]) -> Any:
        """An ``if`` without jumps: the values of its variables afterwards."""
        site = self._unit.sites[number]
        return state(site, self._chosen(site, test, names))

    def leave(self, number: int, test: Any, names: Mapping[str, Any]) -> Outcome:
        """An ``if`` with the statements after it, up to the end of the function or of the iteration."""
        self._jumps += 1
        found = self._chosen(self._unit.sites[number], test, names)
        return Outcome(found.kind, found.value, {**names, **found.names})

    def _chosen(self, site: Site, test: Any, names: Mapping[str, Any]) -> Outcome:
        self._check(site, "if")
        where, test = self._where(site, "if"), length_test(test)
        orelse, body = (self._runner(block, names) for block in site.blocks)
        try:
            return self._choice(site, where, np.reshape(test, ()), orelse, body, site.names, names)
        except (TracemillError, RecursionError) as failure:
            return body() if truth_in_call(test, failure, "an `if`") else orelse()
        except Exception as failure:
            follow_if_handled(where, failure, site.names)
            raise


for _name, _hook in (operator_hooks() | comparison_hooks()).items():  # operate_add, update_add, compare_lt, …
    setattr(Hooks, _name, staticmethod(_hook))
Conversion.hooks, Conversion.callee = Hooks, staticmethod(callee)
Conversion.numpy_meaning = staticmethod(numpy_meaning)
