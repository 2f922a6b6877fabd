"""Labels at the door of a compiled function: its program is for arrays, whatever their labels.

Each index of rows becomes `LabelsOfCall`, so that it is known which arguments have the same, and results get the
labels of the call.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import optree

from ..labelled.classes import as_labelled, is_labelled
from ..labelled.frame import Frame
from ..labelled.labels import ASKED, KnownLabels, LabelsOfCall, are_same
from ..labelled.pandas_objects import build_frame, build_series
from ..labelled.series import Series
from ..nesting import named, refuse_deep_nesting
from .leaves import NAMESPACE, naming_bad_columns


class Indices:
    """The indices of rows of a call's arguments."""

    def __init__(self, columns: list[KnownLabels]) -> None:
        self.known: list[Any] = []
        self._columns = columns
        """Those of the DataFrames."""

    def detached(self, x: Any) -> Any:
        """A Series or a DataFrame without its index; anything else unchanged."""
        if not is_labelled(x) or not isinstance(rows := x.form.rows, KnownLabels):
            return x
        columns = None
        if isinstance(x, Series):
            columns = next((labels for labels in self._columns if are_same(labels, rows)), None)
        number = self._number(rows.index)
        like = next(n for n, known in enumerate(self.known) if rows.index.equals(known))
        labels = LabelsOfCall(number, like, columns=columns)
        return type(x)(x.arrays, replace(x.form, rows=labels))

    def _number(self, index: Any) -> int:
        for number, known in enumerate(self.known):
            if index is known or index.identical(known):
                return number
        self.known.append(index)
        return len(self.known) - 1

    def attached(self, x: Any) -> Any:
        """The object of pandas with the labels of the call."""
        if not is_labelled(x) or as_labelled(x) is not x:  # of pandas
            return x
        form = x.form
        changes = {
            name: labels.known(self.known)
            for name in ("rows", "columns")
            if isinstance(labels := getattr(form, name, None), LabelsOfCall)
        }
        form = replace(form, **changes)
        return _build(type(x), form, x.arrays)


def _build(kind: type[Any], form: Any, arrays: Sequence[Any]) -> Any:
    return build_frame(form, arrays) if kind is Frame else build_series(form, arrays)


def detached(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Indices] | None:
    """Arguments without indices, and these; None if no argument has one."""
    call: Any = (args, kwargs)
    try:
        with naming_bad_columns(call):
            leaves, tree = optree.tree_flatten(call, is_leaf=is_labelled, namespace=NAMESPACE)
    except RecursionError:
        refuse_deep_nesting(named(args, kwargs))
        raise
    if not any(map(is_labelled, leaves)):
        return None
    with naming_bad_columns(call):
        leaves = [as_labelled(leaf) if is_labelled(leaf) else leaf for leaf in leaves]
    indices = Indices([leaf.form.columns for leaf in leaves if isinstance(leaf, Frame)])
    leaves = list(map(indices.detached, leaves))
    if not indices.known:
        return None
    given, more = optree.tree_unflatten(tree, leaves)
    return given, more, indices


def for_all_labels(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], indices: Indices
) -> tuple[Any] | None:
    """The result of a compiled function with its labels, for arguments without them; None if it looks at labels."""
    asked: list[str] = []
    asking = ASKED.set(asked)
    try:
        result = function(*args, **kwargs)
    except Exception:
        if asked:
            return None
        raise
    finally:
        ASKED.reset(asking)
    return None if asked else (attached(result, indices),)


def attached(result: Any, indices: Indices) -> Any:
    """A result with its labels."""
    return optree.tree_map(indices.attached, result, is_leaf=is_labelled, namespace=NAMESPACE)
