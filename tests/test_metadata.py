"""What stands in several places says the same: the version, what the package needs, its extras, and the Pythons."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
LIBRARY = [
    file
    for folder in ("compiler", "passes", "runtime", "tools")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if "pip install" in file.read_text(encoding="utf-8")
]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
_EXTRA = re.compile(r"(?:tracemill|\.)\[([\w,]+)\]")
_HINT = re.compile(r"pip install (?:-e |--upgrade )?[\"'`]*([\w.-]+)(?:\[([\w,]+)\])?")


def texts(file: Path) -> list[str]:
    """The strings of a module, with … for what is formatted."""
    return [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        if isinstance(node, ast.JoinedStr)
        else str(node.value)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]


def hints(file: Path) -> list[tuple[str, str]]:
    """What a module tells users to install: a package, and its extras."""
    return [(match[1], match[2] or "") for text in texts(file) for match in _HINT.finditer(text)]


@pytest.mark.parametrize("file", LIBRARY, ids=lambda file: file.name)
def test_a_hint_names_an_extra_or_package_that_exists(file: Path) -> None:
    known = {re.split(r"[^\w-]", item)[0].replace("-", "_") for items in EXTRAS.values() for item in items}
    for package, extras in hints(file):
        if package == "tracemill":
            assert set(filter(None, extras.split(","))) <= {*EXTRAS}
        else:
            assert package in {*known, "ml_dtypes"}, f"{file.name} advises to install {package}"


def test_hints_are_found() -> None:
    found = [hint for file in LIBRARY for hint in hints(file)]
    assert {("tracemill", "gpu"), ("tracemill", "cc"), ("tracemill", "dask"), ("tracemill", "bench")} <= {
        *found
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_only_extras_that_exist(page: Path) -> None:
    for match in _EXTRA.finditer(page.read_text(encoding="utf-8")):
        if "pip" in page.read_text(encoding="utf-8")[max(0, match.start() - 30) : match.start()]:
            assert set(match[1].split(",")) <= {*EXTRAS}


def test_the_version_is_the_same_everywhere() -> None:
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'set version = "{version}"' in (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f"Version {version} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_recipe_for_conda_needs_what_the_package_needs() -> None:
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    listed = re.findall(r"- (\S+) (\S+)", run)
    wanted = [
        tuple(re.split(r"(?=>=)", item.replace("ml-dtypes", "ml_dtypes"))) for item in PROJECT["dependencies"]
    ]
    assert listed == [("python", PROJECT["requires-python"]), *wanted]


def test_the_fast_tests_run_on_every_python_that_is_promised() -> None:
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"python: \[(.*)\]", workflow)
    promised = [item.rpartition(" ")[2] for item in PROJECT["classifiers"] if "Python :: 3." in item]
    assert [item.strip('" ') for item in listed.split(",")] == [*promised, f"{promised[-1]}t"]
    (systems,) = re.findall(r"os: \[(.*)\]", workflow)
    assert [name.partition("-")[0] for name in systems.split(", ")] == ["ubuntu", "macos", "windows"]


def test_the_sdist_has_the_pages_at_the_root() -> None:
    listed = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    for name in ("CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "SECURITY.md"):
        assert name in listed
        assert (ROOT / name).exists()
