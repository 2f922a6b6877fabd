"""What exported files say when a check fails: the class of the exception, its message, and the line."""

import math
import operator
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from ...compiler.backends.python.standalone.raised_errors import (
    MessageValue,
    RaisedError,
    Shown,
    raised_error,
)
from ...compiler.free_sizes import names_bound_in, sizes_in_param
from ...compiler.ir import ArrayType, Graph, called
from ...compiler.message_values import class_and_message
from ...compiler.users_errors import forms_in
from ...passes.lowering.collect_checks import Site, check_sites, has_checks
from ...passes.lowering.drop_message_values import drop_message_values
from ...passes.lowering.inline_rules import inline_rules


class FileError(NamedTuple):
    """An exception of the user's program."""

    kind: str
    message: str
    place: str
    """``model.py:5``."""

    def __str__(self) -> str:
        text = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{text} ({self.place})" if self.place else text


def with_plain_errors(graph: Graph) -> tuple[Graph, tuple[FileError, ...]]:
    """The graph without values in the texts of exceptions, and the exceptions in the order of their records."""
    if not has_checks(graph):
        return graph, ()
    graph = drop_message_values(graph)
    errors: list[FileError] = []
    for site in check_sites(inline_rules(graph)):
        where = site.location
        place = "" if where is None else str(where).partition("  ")[0]
        if site.error:
            errors.append(FileError(*class_and_message(site.error), place))
        else:
            text = f"an index is out of bounds for axis {site.axis} with size {site.length_text}"
            errors.append(FileError("IndexError", text, place))
    return graph, tuple(errors)


def _index_error(record: int, site: Site, parts: Sequence[int], line: str, computed: Set[str]) -> RaisedError:
    """The exception for an index, with the length of the axis unless the program computes it without a record."""
    text = f"index {{0}} is out of bounds for axis {site.axis}"
    if parts:
        text += " with size {1}"
    elif computed.isdisjoint(str(one) for size in sizes_in_param(site.length) for one in size.sizes):
        text += f" with size {site.length_text}"
    return RaisedError(
        record, "IndexError", text, line, tuple(Shown(k, "int", (), ":", "", "") for k in (record, *parts))
    )


def raised_errors(graph: Graph) -> tuple[RaisedError, ...]:
    """The exceptions that a graph may raise, whose texts show the values among their records."""
    if not has_checks(graph):
        return ()
    graph = inline_rules(graph)
    sites = check_sites(graph)
    types = _types_of_values(graph)
    found: list[RaisedError] = []
    for record, site in enumerate(sites):
        if site.part:
            continue
        line = "" if site.location is None else str(site.location).partition("  ")[0]
        parts = [k for k, one in enumerate(sites) if one.part and replace(one, part=0) == site]
        if not site.error:
            found.append(_index_error(record, site, parts, line, names_bound_in(graph)))
            continue
        values: list[MessageValue] = []
        forms = forms_in(site.error)
        count = 0
        for number, type_ in enumerate(types[site]):
            kind = forms[number].kind if number < len(forms) else None
            shape = tuple(map(operator.index, type_.shape))
            is_pythons = kind in (float, int, bool)
            values.append(MessageValue(parts[count], type_.dtype, shape, kind if is_pythons else None))
            count += math.prod(shape)
        found.append(raised_error(record, site.error, line, values))
    return tuple(found)


def _types_of_values(graph: Graph) -> dict[Site, list[ArrayType]]:
    """For each exception, the types of the values in its text, for one example of a batch."""
    found: dict[Site, list[ArrayType]] = {}
    for call in graph.calls:
        if call.op == "raise_if":
            condition, *values = call.inputs
            shapes = [value.shape[condition.ndim :] for value in values]
            found[Site.of(call)] = [
                ArrayType(value.dtype, shape) for value, shape in zip(values, shapes, strict=True)
            ]
        for inner in called((call,)):
            found |= _types_of_values(inner)
    return found
