"""What mkdocstrings shows of a docstring: Markdown, with links."""

from typing import Any

import griffe

import tracemill
from tracemill.docs.hooks.docstring_markdown import as_markdown
from tracemill.docs.hooks.links import link_names

# Where `grad` means that of tm.autograd, and so on.
_AUTOGRAD = {
    "tracemill.runtime.autograd",
    *(getattr(tracemill.autograd, name).__module__ for name in tracemill.autograd.__all__),
}


class Docstrings(griffe.Extension):  # type: ignore[misc]
    """Turns each docstring into Markdown when it is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is None:
            return
        taken = {obj.name, *(parameter.name for parameter in getattr(obj, "parameters", ()))}
        if obj.module.path in _AUTOGRAD:
            taken |= set(tracemill.autograd.__all__)
        obj.docstring.value = link_names(as_markdown(obj.docstring.value), set(tracemill.__all__) - taken)
