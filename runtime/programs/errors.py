"""What exported files say when a check fails: the class of the exception, its message, and the line."""

from typing import NamedTuple

from ...compiler.ir import Graph
from ...compiler.message_values import class_and_message
from ...passes.lowering.collect_checks import check_sites, has_checks
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
            function = f"{site.function}: " if site.function else ""
            text = f"{function}an index is out of bounds for axis {site.axis} with size {site.length_text}"
            errors.append(FileError("IndexError", text, place))
    return graph, tuple(errors)
