"""What mkdocstrings shows of a docstring: Markdown, with links."""

from typing import Any

import griffe

from tracemill.docs.hooks.docstring_markdown import as_markdown
from tracemill.docs.hooks.links import link_names


class Docstrings(griffe.Extension):  # type: ignore[misc]
    """Turns each docstring into Markdown when it is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = link_names(as_markdown(obj.docstring.value))
