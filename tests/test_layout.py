"""The folders keep their promises: layers, no import cycles, and a wheel that holds the library alone."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("compiler", "passes", "runtime", "tools")  # a layer imports itself and those before it

# A folder may import itself and those before it. With a slash at its end, an entry is the folder's `__init__.py`, if
# that gathers the folder and those below it.
FOLDERS = """
    compiler/errors
    compiler
    compiler/callers
    compiler/ops
    compiler/ops/linalg
    compiler/shapes
    compiler/ops/elementwise
    compiler/shapes/arguments
    compiler/shapes/
    compiler/text
    compiler/memory_layout
    compiler/tracing
    compiler/tracing/outside
    compiler/tracing/exceptions
    compiler/labelled
    compiler/arguments
    compiler/backends/triton
    compiler/ops/arrays
    compiler/ops/control
    compiler/ops/special/scipy_derivatives
    compiler/ops/special
    compiler/analysis
    compiler/frontend/outside
    compiler/frontend/objects
    compiler/frontend
    compiler/numpy_surface/ufuncs
    compiler/ops/nn
    compiler/backends
    compiler/backends/python
    compiler/backends/python/standalone
    compiler/loops
    compiler/nn
    compiler/numpy_surface/arrays
    compiler/ops/
    compiler/backends/c
    compiler/backends/triton/kernels
    compiler/nn/
    compiler/numpy_surface
    compiler/numpy_surface/linalg
    compiler/numpy_surface/statistics
    compiler/backends/c/threads
    compiler/backends/c/kernels
    compiler/backends/c/steps
    compiler/backends/triton/steps
    compiler/backends/triton/steps/products
    compiler/numpy_surface/analysis
    compiler/numpy_surface/indexing
    compiler/numpy_surface/scipy_surface
    compiler/backends/c/steps/
    compiler/backends/triton/steps/attention
    compiler/backends/triton/steps/rows
    compiler/numpy_surface/
    compiler/backends/c/nests
    compiler/backends/c/module
    compiler/backends/triton/steps/
    compiler/
    compiler/backends/c/standalone
    compiler/backends/numpy
    compiler/backends/triton/planning
    compiler/backends/triton/standalone
    passes
    passes/sparsity
    passes/lowering
    passes/padding
    passes/rerolling
    passes/rewrite_rules
    passes/simplification
    passes/rewrite_rules/
    passes/fusion
    passes/blocking
    passes/transforms
    passes/optimizations
    runtime/files
    runtime
    runtime/cache
    runtime/machine
    runtime/gpu
    runtime/eager
    runtime/gpu_choices
    runtime/batching
    runtime/programs
    runtime/evaluation
    runtime/control_flow
    runtime/derivatives
    runtime/derivatives/jacobians
    runtime/gpu_programs
    runtime/autograd
    runtime/builder
    runtime/branching
    runtime/staging/loops
    runtime/staging/mathematics
    runtime/staging
    runtime/staging/statements
    runtime/
    runtime/rules
    runtime/autograd/
    runtime/random
    runtime/variants
    runtime/bundle
    runtime/lowering
    runtime/random/
    runtime/report
    runtime/inspection
    runtime/compilation
    runtime/artifact
    runtime/dask
    tools/terminal
    tools
    tools/demo
    tools/arguments
    tools/coefficients
    tools/bench
    tools/comparison
    tools/bench/eager
    tools/bench/loops
    tools/bench/suite
    tools/gpu_check
    tools/commands
""".split()
MOST_MODULES = 20
"""In a folder, `__init__.py` included: who looks for a file can read them all."""

# Imports that a function may contain: all others are at the top of their module.
OPTIONAL = {
    "autograd",
    "cuda",
    "cupy",
    "cupyx",
    "dask",
    "distributed",
    "jax",
    "matplotlib",
    "numba",
    "scipy",
    "torch",
    "triton",
}  # may not be installed
SLOW = {"click", "filelock", "ml_dtypes", "platformdirs", "rich", "sympy"}  # would slow `import tracemill`
SELDOM = {  # a first call with code on disk would take twice as long with these
    "importlib.metadata",
    "tracemill.compiler.arguments.detaching",
    "tracemill.compiler.backends.numpy.writer",
    "tracemill.compiler.backends.python.empty_module",
    "tracemill.compiler.backends.python.printer",
    "tracemill.compiler.labelled.pandas_objects",
    "tracemill.compiler.ops.special.scipy_derivatives",
    "tracemill.compiler.ops.special.scipy_derivatives.terms",
    "tracemill.compiler.text.fx_nodes",
    "tracemill.compiler.text.html",
    "tracemill.passes.lowering.fix_sizes",
    "tracemill.runtime.machine.result_memory",
    "tracemill.passes.lowering.limit_steps",
    "tracemill.passes.rerolling.rolling",
    "tracemill.passes.simplification.masking",
    "tracemill.runtime.artifact.saving",
    "tracemill.runtime.compilation.ints_as_sizes",
    "tracemill.runtime.compilation.pickling",
    "tracemill.runtime.compilation.symbolic_fallback",
    "tracemill.runtime.inspection.dump",
    "tracemill.runtime.inspection.lowered",
    "tracemill.runtime.inspection.observed_compilation",
    "tracemill.runtime.programs.optimize",
    "tracemill.runtime.programs.print_program",
    "tracemill.runtime.random.generator",
    "tracemill.runtime.staging.draws",
    "tracemill.runtime.staging.long_comprehensions",
    "tracemill.runtime.staging.loops.recording",
    "tracemill.runtime.staging.mathematics.numpy_assertions",
    "tracemill.runtime.staging.mathematics.scipy_functions",
    "tracemill.runtime.staging.mathematics.sparse_products",
    "tracemill.runtime.staging.mathematics.statistics",
    "tracemill.runtime.staging.texts",
    "tracemill.runtime.staging.vectorized",
}
FOR_FAILURES = {"tracemill.tools.terminal.complaints"}  # help comes without all that a command imports
FOR_SIZES = ("compiler.shapes", "compiler.backends.c.size_")  # needed only for named sizes
FOR_GPUS = ("compiler.backends.triton", "passes.fusion.gpu", "runtime.gpu")  # needed only there

# Names that say nothing of what a file holds, so that anything ends up in it.
NAMELESS = re.compile(r"_?(base|common|core|helpers?|misc|utils?|new_.*|.*_impl|(.*_)?v\d+)")

C_FUNCTIONS = ROOT / "compiler" / "backends" / "c" / "functions"
C_MEMORY = ROOT / "runtime" / "machine"
C_THREADS = ROOT / "compiler" / "backends" / "c" / "threads"
TRITON_FUNCTIONS = ROOT / "compiler" / "backends" / "triton" / "kernels" / "functions"
DIGITS_LICENCE = "tools/data/DIGITS-LICENSE.txt"
REPORT = ("runtime/report/page.css", "runtime/report/page.js")

TOP = ast.Module | ast.ClassDef | ast.If | ast.Try | ast.With  # their bodies run when a module is imported


def library_files() -> list[Path]:
    """The root's own modules and those of the layers."""
    entry_points = [file for name in ("__init__.py", "__main__.py") if (file := ROOT / name).exists()]
    return entry_points + sorted(file for layer in LAYERS for file in (ROOT / layer).rglob("*.py"))


def shown(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def module_name(file: Path) -> str:
    """The name a file is imported by: ./compiler/ir.py is tracemill.compiler.ir."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(("tracemill", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def layer_of(module: str) -> str:
    """'passes' for tracemill.passes.optimizations.fuse, '' for the root."""
    return module.removeprefix("tracemill").removeprefix(".").partition(".")[0]


FILES = {module_name(file): file for file in library_files()}


class Imports:
    """The import statements of a module."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree

    @cached_property
    def all(self) -> list[ast.Import | ast.ImportFrom]:
        return list(all_imports(self._tree))

    @cached_property
    def at_import_time(self) -> list[ast.Import | ast.ImportFrom]:
        return list(imports_at_import_time(self._tree))

    @cached_property
    def inside_functions(self) -> list[ast.Import | ast.ImportFrom]:
        return list(imports_inside_functions(self._tree))


@cache
def imports() -> dict[str, Imports]:
    """Those of each module."""
    return {module: Imports(ast.parse(file.read_text(encoding="utf-8"))) for module, file in FILES.items()}


def place(module: str, node: ast.Import | ast.ImportFrom) -> str:
    return f"{shown(FILES[module])}:{node.lineno}: {ast.unparse(node)}"


def imported_modules(node: ast.Import | ast.ImportFrom, module: str) -> Iterator[str]:
    """Absolute names of what a statement in `module` imports: modules, or packages that hold the names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    source = node.module or ""
    if node.level:
        package = module.split(".") if FILES[module].name == "__init__.py" else module.split(".")[:-1]
        anchor = package[: len(package) - node.level + 1]
        source = ".".join([*anchor, source] if source else anchor)
    for alias in node.names:
        submodule = f"{source}.{alias.name}"
        yield submodule if submodule in FILES else source


def is_for_type_checkers(node: ast.AST) -> bool:
    """Whether a node is `if TYPE_CHECKING:` or `if typing.TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def imports_at_import_time(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that run when the module itself is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif is_for_type_checkers(child) and isinstance(child, ast.If):
            for statement in child.orelse:
                yield from imports_at_import_time(ast.Module([statement], []))
        elif isinstance(child, TOP | ast.ExceptHandler):
            yield from imports_at_import_time(child)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those that a statement or a module holds, at any depth; expressions hold none."""
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        for child in getattr(node, field, ()):
            yield child
            yield from statements(child)


def all_imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    return (child for child in statements(node) if isinstance(child, ast.Import | ast.ImportFrom))


def imports_inside_functions(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    for function in statements(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from all_imports(function)


def first_cycle(graph: dict[str, set[str]]) -> list[str]:
    """A path that ends where it begins, or an empty list."""
    finished: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in finished:
            return []
        for target in sorted(graph.get(module, ())):
            if cycle := visit(target, [*path, module]):
                return cycle
        finished.add(module)
        return []

    return next((cycle for module in sorted(graph) if (cycle := visit(module, []))), [])


@pytest.mark.slow
def test_a_layer_imports_only_itself_and_those_before_it() -> None:
    wrong: list[str] = []
    for module, found in imports().items():
        if layer_of(module) not in LAYERS:
            continue
        allowed = LAYERS[: LAYERS.index(layer_of(module)) + 1]
        wrong += [
            f"{place(module, node)}  # {target} is above {layer_of(module)}/"
            for node in found.all
            for target in imported_modules(node, module)
            if target.split(".")[0] == "tracemill" and layer_of(target) not in allowed
        ]
    assert not wrong, "\n".join(wrong)


def folder_of(module: str) -> str:
    """The entry of FOLDERS for a module."""
    path = module.removeprefix("tracemill.").replace(".", "/")
    if FILES[module].name != "__init__.py":
        return path.rpartition("/")[0]
    return f"{path}/" if f"{path}/" in FOLDERS else path


def test_a_folder_imports_only_itself_and_those_before_it() -> None:
    place_of = {folder: place for place, folder in enumerate(FOLDERS)}
    ours = {module: folder_of(module) for module in FILES if layer_of(module) in LAYERS}
    assert not {folder for folder in ours.values() if folder not in place_of}
    wrong = [
        f"{place(module, node)}  # {ours[target]} comes after {ours[module]}"
        for module in ours
        for node in imports()[module].all
        for target in imported_modules(node, module)
        if target in ours and place_of[ours[target]] > place_of[ours[module]]
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_writer_is_imported_from_the_numpy_backend() -> None:
    room = "tracemill.compiler.backends.numpy"
    asked = {
        (module, target)
        for module, found in imports().items()
        for node in found.all
        for target in imported_modules(node, module)
        if target.startswith(room) and not module.startswith(room)
    }
    assert {target for _, target in asked} == {f"{room}.writer"}, sorted(asked)


def test_no_folder_holds_more_files_than_can_be_seen_at_once() -> None:
    files = [*FILES.values(), *(ROOT / "tests").rglob("*.py")]
    counts = Counter(file.parent for file in files if ".root" not in file.parts)
    assert not {shown(folder): count for folder, count in counts.items() if count > MOST_MODULES}


def test_the_root_imports_no_tools() -> None:
    nodes = imports()["tracemill"].all
    targets = {target for node in nodes for target in imported_modules(node, "tracemill")}
    assert not {target for target in targets if layer_of(target) == "tools"}


def test_no_modules_import_each_other_in_a_circle_not_even_in_functions_or_for_type_checkers() -> None:
    graph = {
        module: {target for node in found.all for target in imported_modules(node, module) if target in FILES}
        for module, found in imports().items()
        if module != "tracemill"  # the public names, which are imported when they are asked for
    }
    assert not (cycle := first_cycle(graph)), " -> ".join(cycle)


def test_a_circle_of_imports_is_found() -> None:
    assert first_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert first_cycle({"a": {"a"}}) == ["a", "a"]
    assert first_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_functions_import_only_what_is_optional_or_slow() -> None:
    wrong = [
        place(module, node)
        for module, found in imports().items()
        for node in found.inside_functions
        for target in imported_modules(node, module)
        if target.split(".")[0] not in OPTIONAL | SLOW
        and target not in SELDOM | FOR_FAILURES
        and not target.removeprefix("tracemill.").startswith((*FOR_GPUS, *FOR_SIZES))
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_optional_is_imported_only_inside_functions() -> None:
    wrong = [
        place(module, node)
        for module, found in imports().items()
        for node in found.at_import_time
        for target in imported_modules(node, module)
        if target.split(".")[0] in OPTIONAL
    ]
    assert not wrong, "\n".join(wrong)


def test_imports_of_the_library_are_relative_below_the_root() -> None:
    wrong = [
        place(module, node)
        for module, found in imports().items()
        if layer_of(module) in LAYERS
        for node in found.all
        if isinstance(node, ast.Import) or not node.level
        for target in imported_modules(node, module)
        if target.split(".")[0] == "tracemill"
    ]
    assert not wrong, "\n".join(wrong)


def test_the_packages_in_pyproject_are_the_folders_with_code() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = settings["tool"]["setuptools"]["packages"]
    folders = {file.parent for file in FILES.values()}
    assert set(listed) == {module_name(folder / "__init__.py") for folder in folders}
    assert len(listed) == len(set(listed))
    assert not [shown(folder) for folder in folders if not (folder / "__init__.py").exists()]


def test_no_file_or_folder_has_a_name_that_says_nothing() -> None:
    files = [*FILES.values(), *(ROOT / "tests").rglob("*.py")]
    paths = {path for file in files for path in (file, file.parent)} - {ROOT}
    assert not [shown(path) for path in sorted(paths) if NAMELESS.fullmatch(path.stem)]


def test_the_link_for_type_checkers_leads_to_the_root() -> None:
    link = ROOT / "tests" / ".root" / "tracemill"
    assert link.is_symlink()
    assert link.readlink() == Path("../..")
    assert link.resolve() == ROOT


@pytest.mark.slow
def test_the_wheel_holds_the_library_and_nothing_else(tmp_path: Path) -> None:
    left_out = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist", "venv")
    tree = shutil.copytree(ROOT, tmp_path / "tree", ignore=left_out)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "..", "."]
    build = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stdout + build.stderr

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = {name for name in names if ".dist-info/" in name}
    modules = {f"tracemill/{shown(file)}" for file in FILES.values()}
    data = {f"tracemill/{name}" for name in ("py.typed", "tools/data/digits.npz", DIGITS_LICENCE, *REPORT)}
    assert {name.split("/")[0] for name in names - metadata} == {"tracemill"}
    data |= {f"tracemill/{shown(file)}" for file in C_FUNCTIONS.glob("*.h")}
    data |= {f"tracemill/{shown(file)}" for file in (*C_THREADS.glob("*.c"), *C_MEMORY.glob("*.c"))}
    data |= {f"tracemill/{shown(file)}" for file in TRITON_FUNCTIONS.glob("*.triton")}
    assert names - metadata == modules | data
    licences = {name.split("/licenses/")[1] for name in metadata if "/licenses/" in name}
    assert licences == {"LICENSE", DIGITS_LICENCE}
