"""`PythonLoops`: the loops that Python runs at once, because trials have found nothing in them to trace.

Whether the program needs a loop is known once its body has been traced. Where a function meets a loop a thousand times
with Python's numbers, that takes far longer than to run it. So after each trial that fails, the next ones are left out,
four times as many each time.
"""

from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary

from ....compiler.frontend.sites import Site
from ....compiler.tracing.trace import Trace, require_trace

_GROWTH: Final = 4
_DEEPEST: Final = 3
_PLAIN: Final = frozenset({bool, complex, float, int, str, type(None), range, set, frozenset})
_CODE: Final = (BuiltinFunctionType, ModuleType, type)


class PythonLoops:
    """The loops of an outermost trace whose trials have failed, with how often Python runs each before the next one."""

    _of: ClassVar["WeakKeyDictionary[Trace, PythonLoops]"] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._left: dict[Site, int] = {}
        self._most: dict[Site, int] = {}

    @classmethod
    def of_trace(cls) -> "PythonLoops":
        """Those of the current trace."""
        return cls._of.setdefault(require_trace().outermost(), cls())

    def note_failed(self, site: Site, names: Mapping[str, Any]) -> None:
        """Note a failed trial, if it was on Python's own numbers."""
        if _are_pythons(site, names):
            self._left[site] = self._most[site] = _GROWTH * self._most.get(site, 1)

    def run(self, site: Site, names: Mapping[str, Any]) -> bool:
        """Whether Python runs the loop without another trial. There is one if a variable is an array or traced."""
        left = self._left.get(site, 0)
        if not left or not _are_pythons(site, names):
            return False
        self._left[site] = left - 1
        return True


def _are_pythons(site: Site, names: Mapping[str, Any]) -> bool:
    """Whether the variables that a loop mentions are numbers, texts, code, and containers of these."""
    return all(_is_pythons(x) for name, x in names.items() if name in site.mentioned)


def _is_pythons(x: Any, depth: int = 0) -> bool:
    """The same for a value. Of a container, only the first and the last item are looked at: it may be long, and the
    worst that can happen is that the loop is unrolled."""
    kind = type(x)
    if kind in _PLAIN or isinstance(x, _CODE):
        return True
    if kind is FunctionType:
        return not x.__closure__
    if depth == _DEEPEST:
        return False
    if kind is list or kind is tuple:
        return not x or (_is_pythons(x[0], depth + 1) and _is_pythons(x[-1], depth + 1))
    if kind is dict:
        return not x or _is_pythons(x[next(iter(x))], depth + 1)
    return False
