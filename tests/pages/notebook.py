"""Runs the cells of a notebook as Jupyter does, but in this process: what each prints, returns and draws."""

import ast
import builtins
import contextlib
import io
import linecache
from typing import Any


def run_cells(cells: list[Any]) -> list[list[Any]]:
    """The outputs of each cell, in the notebook's format, with all cells in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found: list[list[Any]] = []
    count = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            count += 1
            found.append(_outputs("".join(cell["source"]), count, names))
        else:
            found.append([])
    return found


def _outputs(source: str, count: int, names: dict[str, Any]) -> list[Any]:
    file = f"cell_{count}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source)
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if isinstance(last := tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
            exec(builtins.compile(ast.Module(tree.body[:-1], []), file, "exec"), names)
            value = eval(builtins.compile(ast.Expression(last.value), file, "eval"), names)
        else:
            exec(builtins.compile(tree, file, "exec"), names)
    outputs: list[Any] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        outputs.append(_result(value, count))
    return outputs + _figures()


def _result(value: Any, count: int) -> Any:
    data = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data = {"text/html": _lines(value._repr_html_()), **data}
    return {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def _figures() -> list[Any]:
    """The figures that are open, which Jupyter draws below the cell, and then closes."""
    from matplotlib import pyplot, rc_context

    drawn: list[Any] = []
    for number in pyplot.get_fignums():
        figure, buffer = pyplot.figure(number), io.StringIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "notebook"}):
            figure.savefig(
                buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None}
            )
        data = {"image/svg+xml": _lines(buffer.getvalue()), "text/plain": [repr(figure)]}
        drawn.append({"data": data, "metadata": {}, "output_type": "display_data"})
        pyplot.close(figure)
    return drawn


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
