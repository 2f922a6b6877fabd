"""The reference: a page for each row of the table of public functions."""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import tracemill
from tracemill.docs.hooks.docstring_markdown import as_markdown
from tracemill.docs.hooks.links import link_names

FUNCTIONS = Path(tracemill.__file__).parent / "docs" / "functions.md"
_ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)


class Group(NamedTuple):
    """Public names that belong together: a row of the table."""

    title: str
    path: str
    names: tuple[str, ...]


def groups() -> list[Group]:
    """The rows of the table; the address of a page is the first words of its row."""
    table = FUNCTIONS.read_text(encoding="utf-8").partition("## By purpose")[2].partition("\n## ")[0]
    found: list[Group] = []
    seen: set[str] = set()  # a name is described where it stands first
    for title, text in _ROW.findall(table):
        words = re.sub(r"\W+", "-", title.partition(" that ")[0].lower())
        public = (name for name in re.findall(r"`(\w+)`", text) if name in tracemill.__all__)
        names = [name for name in public if name not in seen]
        seen.update(names)
        if names:
            found.append(Group(title[0].upper() + title[1:], f"reference/{words}.md", tuple(names)))
    return found


def reference_pages() -> Mapping[str, str]:
    """The pages by their paths in the site."""
    pages = {group.path: page_of(group) for group in groups()}
    return {"reference/index.md": list_of_names(), **pages}


def page_of(group: Group) -> str:
    """What the names of a group mean, in full."""
    return f"# {group.title}\n\n" + "\n".join(part for name in group.names for part in described(name))


def described(name: str) -> Iterator[str]:
    """A function or class; of a module, what it is and each of its names."""
    found = getattr(tracemill, name)
    if not isinstance(found, ModuleType):
        yield directive(f"tm.{name}", _home(found))
        return
    yield f"## tm.{name} {{ #tracemill.{name} }}\n\n{link_names(as_markdown(inspect.getdoc(found) or ''))}\n"
    if name == "errors":
        yield "They are [listed by their codes](../errors/index.md).\n"
    for member in getattr(found, "__all__", ()):
        value = getattr(found, member)
        if getattr(tracemill, member, None) is value:
            yield f"### tm.{name}.{member} {{#tracemill.{name}.{member}}}\n\nThe same as `tm.{member}`.\n"
        else:
            yield directive(f"tm.{name}.{member}", _home(value, f"{found.__name__}.{member}"), level=3)


def directive(heading: str, home: str, level: int = 2) -> str:
    """The line that mkdocstrings replaces by the docstring, under a name for links."""
    anchor = heading.replace("tm.", "tracemill.", 1)
    lines = [
        f"[](){{#{anchor}}}\n",
        f"::: {home}",
        "    options:",
        f"      heading: {heading}",
        f"      toc_label: {heading}",
        f"      heading_level: {level}",
    ]
    return "\n".join(lines) + "\n"


def _home(found: object, name: str = "") -> str:
    """Where a thing is defined; other things than functions and classes are known by `name`."""
    if isinstance(found, type | FunctionType):
        return f"{found.__module__}.{found.__qualname__}"
    return name


def list_of_names() -> str:
    """All public names with their first sentences."""
    lines = [
        "# Reference\n",
        "What `import tracemill as tm` offers. `help(tm.grad)` shows the same in a terminal.\n",
    ]
    for group in groups():
        lines += [
            f"\n## [{group.title}]({group.path.removeprefix('reference/')})\n",
            "| name | |",
            "|---|---|",
        ]
        lines += [f"| `tm.{name}` | {first_sentence(name)} |" for name in group.names]
    return "\n".join(lines) + "\n"


def first_sentence(name: str) -> str:
    """What the docstring opens with, as a cell of a table."""
    docstring = inspect.getdoc(getattr(tracemill, name)) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")
