"""The exported function: the user's parameters and docstring, checks by name, containers in and out."""

import builtins
import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import optree

from ....dtypes import DType
from ....errors import ExportError
from ....frontend.program import Argument, ArrayOutput, Program, Static, order_of_keys
from ....identifiers import identifier
from ....nesting import shown
from ....shapes.scope import relations
from ....shapes.terms import sizes_in
from ....symbolic_size import SymbolicSize
from ..literals import dtype_text, value_text
from ..module import RESERVED, shape_text
from ..named_sizes import names_of_sizes
from ..text import Names, bare_tuple, tuple_text, wrapped
from .parameters import Exported, Given, head_items
from .raised_errors import RaisedError
from .size_checks import size_checks


def _numpy_dtype(dtype: DType) -> tuple[str, str]:
    """``np`` and ``float32``."""
    package, _, name = dtype_text(dtype).partition(".")
    return package, name


@dataclass(frozen=True, slots=True)
class Library:
    """The library whose arrays the function takes."""

    dtype: Callable[[DType], tuple[str, str]]
    """The name of a dtype, after the library's name in the file."""
    asarray: str | None
    """Converts results to arrays that are numbers otherwise; None if they are arrays."""


NUMPY: Final = Library(_numpy_dtype, "asarray")


@dataclass(slots=True)
class ExportedFunction:
    """Writes ``def model(params, x, *, scale=2.0):``, which checks its arguments and calls a function of arrays.

    The user's names of parameters do not change; a global with the same name is used under another.
    """

    program: Program
    parameters: Sequence[Exported]
    globals: Names
    """The names of the module."""
    own: Sequence[str]
    """Those of its own functions, which no variable may hide."""
    library: Library = NUMPY
    errors: Sequence[RaisedError] = ()
    """The exceptions that the last output says are to be raised."""
    lines: list[str] = field(default_factory=list[str])
    inputs: list[str] = field(init=False)
    """The variables of the inputs of the graph."""
    paths: list[str] = field(init=False)
    """Their expressions in terms of the user's parameters."""
    place: int = 0
    """The input for the next argument."""
    checks: dict[str, str] = field(default_factory=dict[str, str])
    """The names of the functions that it calls, by their names in `CHECKS`."""
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    """Other names of globals that the user's parameters hide."""
    tuples: dict[type[Any], str] = field(default_factory=dict["type[Any]", str])
    """The names of the namedtuples in results."""
    imports: set[str] = field(default_factory=set[str])
    dtypes: set[DType] = field(default_factory=set[DType])
    """The dtypes that it names."""
    names: Names = field(default_factory=Names)
    """Of the function's variables."""

    def __post_init__(self) -> None:
        self.inputs = [""] * len(self.program.arguments)
        self.paths = [""] * len(self.program.arguments)

    def text(self, name: str, arrays: str, doc: str | None, flag: str | None) -> list[str]:
        """The function; `arrays` is the one that it calls, which needs ``load()`` while the global `flag` is None."""
        hidden = [parameter.name for parameter in self.parameters]
        self.names = Names([*RESERVED, *self.own, *hidden])
        for parameter in self.parameters:
            self._enter(parameter)
        self._check_sizes()
        self._check_writes()
        out = self.names.claim("out")
        result = self._result(out)
        call = wrapped(f"{out} = {self._global(arrays)}(", self.inputs, ")")
        first = [f"    if {self._global(flag)} is None:", f"        {self._global('load')}()"] if flag else []
        call += self._raising(out)
        writes = [f"    {self.inputs[place]}[...] = {out}[{k}]" for place, k in self.program.mutated]
        head = wrapped(f"def {name}(", head_items(self.parameters), "):", indent=0)
        return [*head, *docstring(doc), *self.lines, *first, *call, *writes, *result]

    def _raising(self, out: str) -> list[str]:
        """The statement that raises what the checks of the program found."""
        if not self.errors:
            return []
        self.checks.setdefault("raised", "raised")
        self.checks.setdefault("shown", "shown")
        items = []
        for error in self.errors:
            values = [
                tuple_text([quoted(part) if isinstance(part, str) else part for part in value])
                for value in error.values
            ]
            said = [quoted(_said(error.kind, error.message)), quoted(error.line)]
            items.append(tuple_text([error.record, self._error_class(error.kind), *said, *values]))
        return wrapped(f"{self._global('raised')}(", [f"{out}[-1]", *items], ")")

    def _error_class(self, kind: str) -> str:
        """The expression for a class of exceptions: a RuntimeError stands for one that the file does not know."""
        if _is_linalg_error(kind):
            return f"{self._global('np')}.linalg.LinAlgError"
        return self._global(kind if _is_known(kind) else "RuntimeError")

    @property
    def alias_statements(self) -> list[str]:
        """Statements of the module that give a global its other name."""
        return [f"{alias} = {name}" for name, alias in self.aliases.items()]

    @property
    def tuple_statements(self) -> list[str]:
        """Statements of the module that define namedtuples."""
        return [
            line
            for kind, name in self.tuples.items()
            for line in wrapped(
                f"{name} = collections.namedtuple(", [quoted(kind.__name__), list_text(kind)], ")", indent=0
            )
        ]

    def _global(self, name: str) -> str:
        """The function's expression for a name of the module or of Python."""
        if name not in {parameter.name for parameter in self.parameters}:
            return name
        if name not in self.aliases:
            self.aliases[name] = self.globals.claim(f"{name}_")
        return self.aliases[name]

    def _value(self, value: Any) -> str | None:
        """A setting as an expression in the function."""
        text = value_text(value)
        return text if text is None or type(value) is str else text.replace("np.", f"{self._global('np')}.")

    # ---- arguments

    def _check(self, name: str, *arguments: str, target: str = "") -> None:
        """Call one of the checking functions."""
        self.checks.setdefault(name, name)
        head = f"{target} = {self._global(name)}(" if target else f"{self._global(name)}("
        self.lines += wrapped(head, arguments, ")")

    def _enter(self, parameter: Exported) -> None:
        name, given = parameter.name, parameter.given
        match given:
            case None:
                self._check("setting", quoted(name), name, self._value(parameter.fixed) or "")
            case Given():
                self._visit(given, name)
            case tuple():
                self._check("sequence", quoted(name), name, self._global("tuple"), str(len(given)))
                for place, part in enumerate(given):
                    self._visit(part, f"{name}[{place}]")
            case _:
                self._visit_dict(name, given)

    def _visit(self, given: Given, path: str) -> None:
        self.place = given.first
        self._visit_tree(given.tree, iter(given.leaves), path)

    def _visit_dict(self, path: str, given: Mapping[Any, Given]) -> None:
        self._check_keys(path, list(given))
        for key, part in given.items():
            self._visit(part, f"{path}[{value_text(key)}]")

    def _check_keys(self, path: str, keys: Sequence[Any]) -> None:
        texts = [value_text(key) for key in keys]
        known = [text for text in texts if text is not None]
        if len(known) < len(keys):
            raise ExportError(f"{path} has a key that Python has no literal for: {shown(keys, 80)}")
        self._check(
            "mapping", quoted(path), path, f"{{{', '.join(known)}}}" if known else f"{self._global('set')}()"
        )

    def _visit_tree(self, tree: Any, leaves: Iterator[Argument | Static], path: str) -> None:
        if tree.is_leaf():
            self._visit_leaf(next(leaves), path)
            return
        children = tree.children()
        if tree.type is None or tree.type is type(None):
            self._check("setting", quoted(path), path, "None")
            return
        if issubclass(tree.type, dict):
            keys = tree.entries()
            self._check_keys(path, keys)
            for key, child in zip(keys, children, strict=True):
                self._visit_tree(child, leaves, f"{path}[{value_text(key)}]")
            return
        if not issubclass(tree.type, (list, tuple)):
            raise ExportError(
                f"{path} is a {tree.type.__name__}, a class that the file cannot know: pass dicts, lists or tuples"
            )
        kind = "list" if issubclass(tree.type, list) else "tuple"
        self._check("sequence", quoted(path), path, self._global(kind), str(len(children)))
        for place, child in enumerate(children):
            self._visit_tree(child, leaves, f"{path}[{place}]")

    def _visit_leaf(self, leaf: Argument | Static, path: str) -> None:
        if isinstance(leaf, Static):
            text = self._value(leaf.value)
            if text is None:
                raise ExportError(
                    f"{path} is the setting {shown(leaf.value)}, which Python has no literal for: use functools.partial"
                )
            self._check("setting", quoted(path), path, text)
            return
        place, self.place = self.place, self.place + 1
        is_parameter = path.isidentifier()
        target = path if is_parameter else self.names.claim(identifier(self.program.graph.input_names[place]))
        self.inputs[place], self.paths[place] = target, path
        dtype = self._dtype(leaf)
        if leaf.weak is not None:
            kind = self._global(leaf.weak.__name__)
            self._check("number", quoted(path), path, kind, dtype, target=target)
        elif leaf.is_scalar:
            self._check("scalar", quoted(path), path, dtype, target=target)
        elif any(isinstance(size, SymbolicSize) for size in leaf.type.shape):
            shape = tuple_text(["None" if isinstance(n, SymbolicSize) else str(n) for n in leaf.type.shape])
            self._check("sized", quoted(path), path, dtype, shape, target=target)
        else:
            self._check("array", quoted(path), path, dtype, shape_text(leaf.type.shape), target=target)

    def _dtype(self, leaf: Argument) -> str:
        self.dtypes.add(leaf.type.dtype)
        package, name = self.library.dtype(leaf.type.dtype)
        return f"{self._global(package)}.{name}"

    def _check_sizes(self) -> None:
        """Named sizes are read from the arguments, for the declarations about them."""
        types = [argument.type for argument in self.program.arguments]
        found = names_of_sizes(n for type in types for n in type.shape if isinstance(n, SymbolicSize))
        if not found:
            return
        known = relations()
        found += sorted({size.text for one in known for size in sizes_in(one.terms)}.difference(found))
        names = {name: self.names.claim(name) for name in found}
        shapes = [type.shape for type in types]
        lines = size_checks(self.paths, self.inputs, shapes, known, names)
        if any(line.startswith("fact(") for line in lines):
            self.checks.setdefault("fact", "fact")
        fact = self._global("fact")
        self.lines += [
            f"    {fact}{line.removeprefix('fact')}" if line.startswith("fact(") else f"    {line}"
            for line in lines
        ]

    def _check_writes(self) -> None:
        """A program does not handle arguments that share memory."""
        arguments = self.program.arguments
        for place, _ in self.program.mutated:
            name = self.inputs[place]
            others = [
                f"({quoted(self.paths[i])}, {other})"
                for i, other in enumerate(self.inputs)
                if i != place and not arguments[i].is_scalar
            ]
            self._check("written", quoted(self.paths[place]), name, tuple_text(others))
        for place in sorted(self.program.in_c_order):
            self._check("in_c_order", quoted(self.paths[place]), self.inputs[place])

    # ---- results

    def _result(self, out: str) -> list[str]:
        leaves = iter(self.program.out_leaves)
        return self._returned(self.program.out_tree, leaves, out)

    def _returned(self, tree: Any, leaves: Iterator[ArrayOutput | Static], out: str) -> list[str]:
        head, items, tail = self._parts(tree, leaves, out)
        if head == "(" and len(items) > 1:
            return bare_tuple("return ", items)
        return wrapped(f"return {head}", items, tail)

    def _parts(
        self, tree: Any, leaves: Iterator[ArrayOutput | Static], out: str
    ) -> tuple[str, list[str], str]:
        """An expression for this structure, in three parts; the second may be on separate lines."""
        if tree.is_leaf():
            return self._leaf(next(leaves), out), [], ""
        if tree.type is None or tree.type is type(None):
            return "None", [], ""
        inner = [self._parts(child, leaves, out) for child in tree.children()]
        items = [f"{head}{', '.join(parts)}{tail}" for head, parts, tail in inner]
        if tree.type is tuple:
            return "(", [f"{items[0]},"] if len(items) == 1 else items, ")"
        if tree.type is list:
            return "[", items, "]"
        if optree.is_namedtuple_class(tree.type):
            return f"{self._namedtuple(tree.type)}(", items, ")"
        if tree.type in (dict, OrderedDict):
            keys = [value_text(key) for key in tree.entries()]
            if None not in keys:
                pairs = [f"{keys[place]}: {items[place]}" for place in order_of_keys(tree)]
                if tree.type is dict:
                    return "{", pairs, "}"
                self.imports.add("collections")
                return f"{self._global('collections')}.OrderedDict({{", pairs, "})"
        raise ExportError(
            f"the result holds a {tree.type.__name__}, a class that the file cannot know: return dicts, lists, tuples"
            " or namedtuples"
        )

    def _leaf(self, leaf: ArrayOutput | Static, out: str) -> str:
        if isinstance(leaf, ArrayOutput):
            if leaf.weak is not None:
                return f"{out}[{leaf.index}].item()"
            is_array = self.program.graph.outputs[leaf.index].ndim or leaf.is_scalar
            asarray = self.library.asarray if not is_array else None
            return (
                f"{self._global('np')}.{asarray}({out}[{leaf.index}])" if asarray else f"{out}[{leaf.index}]"
            )
        text = self._value(leaf.value)
        if text is None:
            raise ExportError(
                f"the result holds {shown(leaf.value)}, which Python has no literal for: return arrays, numbers, texts"
            )
        return text

    def _namedtuple(self, kind: type[Any]) -> str:
        if kind not in self.tuples:
            self.imports.add("collections")
            self.tuples[kind] = self.globals.claim(identifier(kind.__name__))
        return self._global(self.tuples[kind])


def _is_linalg_error(kind: str) -> bool:
    return kind == "numpy.linalg.LinAlgError"


def _is_known(kind: str) -> bool:
    """Whether Python itself has this class of exceptions."""
    found = getattr(builtins, kind, None)
    return isinstance(found, type) and issubclass(found, Exception)


def _said(kind: str, message: str) -> str:
    """The message, with the class if the file does not know it."""
    return message if _is_known(kind) or _is_linalg_error(kind) else f"{kind}: {message}"


def list_text(kind: Any) -> str:
    """The fields of a namedtuple as a list of strings."""
    return f"[{', '.join(map(quoted, kind._fields))}]"


def quoted(text: str) -> str:
    """A path as a string."""
    found = value_text(text)
    assert found is not None
    return found


_ENDING: Final = re.compile(r'"{3,}|"+\Z')
"""Quotes that would end a docstring."""


def docstring(doc: str | None) -> list[str]:
    """The lines of a docstring."""
    if not doc or not doc.strip():
        return []
    text = "\n".join(line.rstrip() for line in inspect.cleandoc(doc).splitlines())
    if not all(char.isprintable() or char == "\n" for char in text):
        return [f"    {text!r}"]
    text = _ENDING.sub(lambda quotes: '\\"' * len(quotes[0]), text.replace("\\", "\\\\"))
    first, *rest = text.split("\n")
    lines = [f"    {line}" if line else "" for line in rest]
    if not lines:
        return [f'    """{first}"""']
    return [f'    """{first}', *lines, '    """']
