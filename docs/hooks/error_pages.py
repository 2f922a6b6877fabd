"""A page for each error and warning, named by its code, and their list: from the docstrings of compiler/errors.py."""

import inspect
from collections.abc import Mapping
from textwrap import indent

from tracemill.compiler import errors
from tracemill.docs.hooks.docstring_markdown import as_markdown
from tracemill.docs.hooks.links import error_codes

# By the first digit of the code, as compiler/errors.py has them.
CHAPTERS = {
    "E00": "Tracemill itself, and its text",
    "E01": "Arrays and their types",
    "E02": "Tracing",
    "E03": "Transforms",
    "E04": "Compiling and running",
    "E06": "Recording and checking; packages, compilers and GPUs",
    "E07": "Exports",
    "E08": "Symbolic sizes",
    "W00": "Warnings",
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
        "Each has a code, which `error.code` gives, and a page that says when it comes, shows an example, and says",
        "what to do. Each is also the Python error that you would expect: `except ValueError` catches a",
        "`ShapeError`.\n",
    ]
    chapter = ""
    for name, code in error_codes().items():
        if code[:3] != chapter:
            chapter = code[:3]
            lines += [f"\n## {CHAPTERS[chapter]}\n", "| code | error | when |", "|---|---|---|"]
        when = (inspect.getdoc(getattr(errors, name)) or "").partition("\n")[0]
        lines.append(f"| [{code}]({code}.md) | `{name}` | {when} |")
    return "\n".join(lines) + "\n"
