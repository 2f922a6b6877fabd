"""`with_unused_marked`: a text in which unused variables begin with an underscore, as linters require."""

import ast
from collections.abc import Iterator


def with_unused_marked(text: str) -> str:
    """The same statements.

    >>> print(with_unused_marked("def f(x):\\n    values, vectors = g(x)\\n    return values"))
    def f(x):
        values, _vectors = g(x)
        return values
    """
    lines = text.split("\n")
    found = {(name.lineno, name.col_offset) for name in _unused(ast.parse(text))}
    for line, column in sorted(found, reverse=True):
        encoded = lines[line - 1].encode()  # columns count bytes
        lines[line - 1] = (encoded[:column] + b"_" + encoded[column:]).decode()
    return "\n".join(lines)


def _unused(tree: ast.Module) -> Iterator[ast.Name]:
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            used = {name.id for name in names if not isinstance(name.ctx, ast.Store)}
            used |= {x for node in ast.walk(function) if isinstance(node, ast.Global) for x in node.names}
            unused = (name for name in names if name.id not in used and not name.id.startswith("_"))
            yield from unused
