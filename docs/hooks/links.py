"""Links of the site: names in prose lead to what describes them, pages at the root to where they are there."""

import re
from collections.abc import Collection

import tracemill
from tracemill.compiler import errors

# What lies above docs/, by its place in the site, whose own first page is docs/index.md.
FROM_THE_ROOT = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "examples/README.md": "examples/index.md",
    "LICENSE": "license.txt",
    "tools/data/DIGITS-LICENSE.txt": "digits-license.txt",
}

_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"(?<=\]\()([\w./-]+)(?=[)#])")
_CODE = re.compile(r"(?<![\[`])`([\w.]+)(?:\([^`]*\))?`(?!\])")  # a name, or a call of it


def error_codes() -> dict[str, str]:
    """The code of each error and warning, by its name, in the order of the codes."""
    codes = {name: getattr(errors, name).code for name in errors.__all__}
    return dict(sorted(codes.items(), key=lambda item: item[1]))


def target(name: str) -> str | None:
    """The heading that describes what prose calls `name`, or None."""
    code = error_codes().get(name.removeprefix("tm.").removeprefix("errors."))
    if code is not None:
        return code
    first, *rest = name.removeprefix("tm.").split(".")
    if first not in tracemill.__all__ or not (rest or name.startswith("tm.")):
        return None
    holder = getattr(tracemill, first)
    if not rest:
        return f"tracemill.{first}"
    is_listed = len(rest) == 1 and rest[0] in getattr(holder, "__all__", ())
    return f"tracemill.{first}.{rest[0]}" if is_listed else None


def link_names(page: str, bare: Collection[str] = ()) -> str:
    """`page` with links; code blocks and headings stay as they are. Public names in `bare` need no ``tm.``."""

    def linked(match: re.Match[str]) -> str:
        found = f"tracemill.{match[1]}" if match[1] in bare else target(match[1])
        return match[0] if found is None else f"[{match[0]}][{found}]"

    parts: list[str] = []
    at = 0
    for fence in [*_FENCE.finditer(page), None]:
        prose = page[at : fence.start() if fence else len(page)]
        parts += [
            line if line.startswith("#") else _CODE.sub(linked, line)
            for line in prose.splitlines(keepends=True)
        ]
        if fence:
            parts.append(fence[0])
            at = fence.end()
    return "".join(parts)


def link_pages(page: str, depth: int) -> str:
    """`page` with links to pages of the site. It lies this many folders below docs/; -1 is the root."""
    return _TARGET.sub(lambda target: in_the_site(target[1], depth), page)


def in_the_site(target: str, depth: int) -> str:
    """Where a link leads there.

    >>> in_the_site("../../README.md", 1), in_the_site("docs/gpu.md", -1), in_the_site("quickstart.ipynb", 0)
    ('../overview.md', 'gpu.md', 'quickstart.md')
    >>> in_the_site("../examples/heat.py", 0)
    'examples/heat.py.md'
    """
    if target.endswith(".ipynb"):
        target = f"{target.removesuffix('.ipynb')}.md"
    to_root = "../" * (depth + 1)
    from_root = target.removeprefix(to_root)
    if target.startswith(to_root) and (from_root in FROM_THE_ROOT or from_root.startswith("examples/")):
        return "../" * max(depth, 0) + FROM_THE_ROOT.get(from_root, f"{from_root}.md")
    return target.removeprefix("docs/") if depth == -1 else target
