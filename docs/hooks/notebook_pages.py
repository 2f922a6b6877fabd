"""The pages of the notebooks in docs/: their text, code, and what they print, return and draw."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parents[1]


def notebook_files() -> dict[str, str]:
    """Text by path in the site: a page for each notebook, and its pictures."""
    files: dict[str, str] = {}
    for notebook in sorted(FOLDER.rglob("*.ipynb")):
        path = notebook.relative_to(FOLDER).with_suffix("").as_posix()
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        pictures = {f"{path}-{number}.svg": picture for number, picture in enumerate(_pictures(cells), 1)}
        files |= pictures
        files[f"{path}.md"] = page_of(cells, notebook.name, [Path(picture).name for picture in pictures])
    return files


def page_of(cells: list[Any], file: str, pictures: list[str]) -> str:
    """The notebook as Markdown. Pictures are files beside the page, in the order in which they are drawn."""
    first, *others = cells
    names = iter(pictures)
    parts = ["".join(first["source"]), f'<a href="../{file}" download>Download this page as a notebook.</a>']
    for cell in others:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output, names) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _shown(output: Any, pictures: Iterator[str]) -> str:
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return f"![{''.join(data['text/plain']).strip('<>')}]({next(pictures)})"
    if "text/html" in data:
        return "".join(data["text/html"])
    text = "".join(data["text/plain"] if data else output["text"])
    return f"```text\n{text.rstrip()}\n```"


def _pictures(cells: list[Any]) -> Iterator[str]:
    for cell in cells:
        for output in cell.get("outputs", ()):
            if "image/svg+xml" in output.get("data", {}):
                yield "".join(output["data"]["image/svg+xml"])
