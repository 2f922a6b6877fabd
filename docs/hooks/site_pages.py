"""The pages of the site that are not in docs/: those at the root, the reference, errors, examples, notebooks."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from tracemill.docs.hooks.error_pages import error_pages
from tracemill.docs.hooks.example_pages import example_pages
from tracemill.docs.hooks.links import FROM_THE_ROOT, link_names, link_pages
from tracemill.docs.hooks.notebook_pages import notebook_files
from tracemill.docs.hooks.reference_pages import reference_pages


def on_config(config: Any) -> Any:
    """Put the made pages where the navigation has the page that lists them."""
    for section in config.nav:
        (children,) = section.values()
        for pages in (example_pages(), reference_pages(), error_pages()):
            if next(iter(pages)) in children:
                children[:] = pages
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages before links are looked at."""
    root = Path(config.config_file_path).parent
    texts = {path: (root / name).read_text(encoding="utf-8") for name, path in FROM_THE_ROOT.items()}
    made = example_pages() | notebook_files() | dict(reference_pages()) | dict(error_pages())
    for path, text in (texts | made).items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link names, and lead links to files at the root to their pages."""
    path = page.file.src_uri
    depth = -1 if path in FROM_THE_ROOT.values() else path.count("/")
    return link_pages(link_names(markdown), depth)
