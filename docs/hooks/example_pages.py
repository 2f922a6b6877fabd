"""The pages of the examples: a list, and the text of each program, with its picture if it has one."""

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "examples"
PICTURES: Final = ROOT / "docs" / "pictures"
LANGUAGES: Final = {".py": "python", ".c": "c"}
_LINK: Final = re.compile(r"(?<=\]\()([\w-]+\.(?:py|c))(?=\))")


def example_pages() -> dict[str, str]:
    """Text by path in the site, the list first, and the others in its order."""
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    names = dict.fromkeys(_LINK.findall(listed))
    pages = {"examples/index.md": _LINK.sub(r"\1.md", listed)}
    return pages | {f"examples/{name}.md": _page(FOLDER / name) for name in names}


def _page(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) if file.suffix == ".py" else None
    about = f"{docstring}\n\n" if docstring else ""
    if (PICTURES / f"{file.stem}.svg").exists() and file.suffix == ".py":
        about += f"![What {file.name} draws](../pictures/{file.stem}.svg)\n\n"
    return f"# {file.name}\n\n{about}```{LANGUAGES[file.suffix]}\n{text}```\n"
