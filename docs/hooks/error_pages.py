"""A page for each error and warning, named by its code, and their list: from the docstrings in compiler/errors/."""

import inspect
from collections.abc import Mapping
from textwrap import indent

from tracemill.compiler import errors
from tracemill.docs.hooks.docstring_markdown import as_markdown
from tracemill.docs.hooks.links import error_codes

# By the module in compiler/errors/ that holds them.
CHAPTERS = {
    "tracemill_error": "All errors",
    "graphs": "Graphs, and Tracemill itself",
    "arrays": "Arrays and their types",
    "tracing": "Tracing",
    "transforms": "Transforms",
    "compiling": "Compiling and running",
    "recording": "Recording with variables, and checking derivatives",
    "compilers": "Packages and compilers",
    "gpus": "GPUs",
    "artifacts": "Exporting and loading",
    "sizes": "Named sizes",
    "blocks": "Dask arrays",
    "cautions": "Warnings",
}


def error_pages() -> Mapping[str, str]:
    """The pages by their paths in the site."""
    pages = {f"errors/{code}.md": error_page(name) for name, code in error_codes().items()}
    return {"errors/index.md": list_of_errors(), **pages}


def error_page(name: str) -> str:
    """The manual page of one error."""
    error = getattr(errors, name)
    parents = " and ".join(
        f"[`{base.__name__}`][{base.code}]" if hasattr(base, "code") else f"`{base.__name__}`"
        for base in error.__bases__
    )
    before, _, fix = (inspect.getdoc(error) or "").partition("\nFix: ")
    return "\n".join(
        [
            f"# {error.code}: {name} {{ #{error.code} }}\n",
            f"[](){{#tracemill.compiler.errors.{name}}}\n",
            f"A kind of {parents}.\n",
            f"{as_markdown(before)}\n",
            '!!! success "What to do"',
            indent(f"{fix[0].upper()}{fix[1:]}", "    "),
            "",
        ]
    )


def list_of_errors() -> str:
    """All errors with the first sentence of their pages."""
    lines = [
        "# Errors\n",
        "Each error has a code, `error.code`, and a page that says when it happens, shows an example, and says what",
        "to do. Each is also the Python error that you would expect: `except ValueError` catches a `ShapeError`.\n",
    ]
    chapter = ""
    for name, code in error_codes().items():
        error = getattr(errors, name)
        if (module := error.__module__.rpartition(".")[2]) != chapter:
            chapter = module
            lines += [f"\n## {CHAPTERS[chapter]}\n", "| code | error | when |", "|---|---|---|"]
        when = (inspect.getdoc(error) or "").partition("\n")[0]
        lines.append(f"| [{code}]({code}.md) | `{name}` | {when} |")
    return "\n".join(lines) + "\n"
