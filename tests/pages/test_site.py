"""The pages of the documentation's site that are made of the code and of the pages at the root."""

import doctest
import re
from pathlib import Path

import tracemill as tm
from tracemill.compiler import errors
from tracemill.docs.hooks import links
from tracemill.docs.hooks.docstring_markdown import as_markdown
from tracemill.docs.hooks.error_pages import error_pages
from tracemill.docs.hooks.example_pages import example_pages
from tracemill.docs.hooks.reference_pages import groups, reference_pages

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_describes_every_public_name_once() -> None:
    assert sorted(name for group in groups() for name in group.names) == sorted(tm.__all__)


def test_the_reference_describes_every_name_of_a_public_module() -> None:
    text = "\n".join(reference_pages().values())
    for module in (tm.autograd, tm.checkpoint_policies, tm.dask, tm.linalg, tm.nn, tm.numpy, tm.random):
        (name,) = (name for name in tm.__all__ if getattr(tm, name) is module)
        assert not [member for member in module.__all__ if f"#tracemill.{name}.{member}}}" not in text]


def test_every_error_has_a_page_named_by_its_code_and_a_line_in_the_list() -> None:
    pages = error_pages()
    for name, code in links.error_codes().items():
        page = pages[f"errors/{code}.md"]
        assert page.startswith(f"# {code}: {name} ")
        assert '!!! success "What to do"' in page
        assert f"[{code}]({code}.md) | `{name}`" in pages["errors/index.md"]
    assert "E0612" in links.error_codes().values()


def test_every_example_has_a_page_with_its_text_and_a_link_in_the_list() -> None:
    pages = example_pages()
    listed = pages["examples/index.md"]
    for file in [*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*.c")]:
        assert file.read_text(encoding="utf-8") in pages[f"examples/{file.name}.md"]
        assert f"({file.name}.md)" in listed


def test_a_name_in_prose_becomes_a_link_where_it_is_public() -> None:
    assert links.link_names("see `tm.grad`.") == "see [`tm.grad`][tracemill.grad]."
    assert links.link_names("`tm.nn.gelu`") == "[`tm.nn.gelu`][tracemill.nn.gelu]"
    assert links.link_names("`tm.vmap(f, 0)`") == "[`tm.vmap(f, 0)`][tracemill.vmap]"
    assert links.link_names("`NoGpuError`") == f"[`NoGpuError`][{errors.NoGpuError.code}]"
    assert links.link_names("`grad`", bare={"grad"}) == "[`grad`][tracemill.grad]"
    for kept in ("`np.grad`", "`tm.nothing`", "`grad`", "# `tm.grad`", "[`tm.grad`](x.md)", "``tm.grad``"):
        assert links.link_names(kept) == kept


def test_code_blocks_have_no_links() -> None:
    block = "```python\nx  # `tm.grad`\n```\n"
    assert links.link_names(f"{block}`tm.grad`\n{block}") == f"{block}[`tm.grad`][tracemill.grad]\n{block}"


def test_links_to_files_at_the_root_lead_to_their_pages() -> None:
    assert links.link_pages("[a](../../README.md#numbers)", 1) == "[a](../overview.md#numbers)"
    assert links.link_pages("[a](docs/gpu.md) [b](LICENSE)", -1) == "[a](gpu.md) [b](license.txt)"


def test_the_example_of_links_works() -> None:
    assert doctest.testmod(links).failed == 0


def test_examples_in_docstrings_are_fenced() -> None:
    docstring = "Twice::\n\n    x + x\n\n>>> 2 * 2\n4\n\nText."
    assert as_markdown(docstring) == "Twice:\n\n    x + x\n\n```pycon\n>>> 2 * 2\n4\n```\n\nText."


def test_every_page_of_the_docs_is_in_the_navigation() -> None:
    listed = set(
        re.findall(r"- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    )
    listed |= {"index.md"}
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert not pages - listed
