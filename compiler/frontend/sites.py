"""The parts of a function that are run separately if a condition or a bound is traced."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from types import CellType, CodeType, FunctionType
from typing import Any

from ..callers.user_code import HOOKS
from .names import FactsByNode
from .source import Scope
from .syntax import walk


class Unit:
    """A function that is being converted, with its inner functions: its sites, and names for new variables."""

    def __init__(
        self, original: CodeType, write: "Callable[[Unit, Block], CodeType]", *, has_operators: bool = False
    ) -> None:
        self.original, self._write = original, write
        self.has_operators = has_operators
        """Whether operators and attributes have hooks, too."""
        self.file = original.co_filename
        self.sites: list[Site] = []
        self.private = _class_of(original.co_qualname)
        """The class that contains it, for the mangling of private names; empty if there is none."""
        self._temporaries = 0

    def site(self, site: "Site") -> ast.expr:
        """The number of a new site, as an argument of a hook."""
        self.sites.append(site)
        return ast.Constant(len(self.sites) - 1)

    def temporary(self) -> str:
        """A name for a new variable."""
        self._temporaries += 1
        return f"{HOOKS}_{self._temporaries}"

    def code_of(self, block: "Block") -> CodeType:
        """A function that runs a block on a dict of variables."""
        return self._write(self, block)


def _messages(node: ast.AST) -> Iterator[ast.AST]:
    """What is raised in a statement: its text is made once the program knows the values."""
    for n in ast.walk(node):
        if isinstance(n, ast.Raise):
            yield n
        elif isinstance(n, ast.Assert) and n.msg is not None:
            yield n.msg


def _class_of(name: str) -> str:
    """The class that contains a function, from its qualified name.

    >>> _class_of("made.<locals>.Tree.depth.<locals>.inner"), _class_of("made.<locals>.inner")
    ('Tree', '')
    """
    *around, _ = name.split(".")
    while around and around[-1] == "<locals>":
        del around[-2:]
    return around[-1] if around else ""


class Region(Enum):
    """How a block ends, and what a `return` in it means."""

    FUNCTION = auto()
    """The function itself, which Python runs."""
    REST = auto()
    """From a statement of the function to its end: returns an outcome."""
    ITERATION = auto()
    """One iteration of a loop, or the rest of one: returns an outcome."""
    BRANCH = auto()
    """A branch without jumps: returns an outcome."""
    VALUE = auto()
    """An expression: returns its value."""


@dataclass(frozen=True, eq=False)
class Block:
    """Statements of a function that can be run separately, with given values of its variables."""

    unit: Unit
    scope: Scope
    statements: Sequence[ast.stmt]
    region: Region
    kept: frozenset[str] = frozenset()
    """The variables that the block binds and that later code, or the next iteration, may read."""

    @cached_property
    def code(self) -> CodeType:
        """A function of a dict of variables."""
        return self.unit.code_of(self)

    def run(self, hooks: Any, module: dict[str, Any], names: Mapping[str, Any]) -> Any:
        """Run the statements. `module` holds the globals, and `names` the set variables."""
        closure = (CellType(hooks),) if self.code.co_freevars else ()
        return FunctionType(self.code, module, closure=closure)(names)


@dataclass(frozen=True, eq=False)
class Site:
    """A statement that may have to be traced as a branch or a loop."""

    node: ast.stmt
    names: tuple[str, ...]
    """The variables that it binds and that may be read afterwards or in the next iteration."""
    blocks: tuple[Block, ...]
    """For an ``if``, the block for a false test and the block for a true one. For a ``for``, its body. For a ``while``,
    its test and its body."""
    rest: Block | None = None
    """The statements after a loop that may return."""
    after: frozenset[str] = frozenset()
    """The variables that may be read afterwards."""
    refusal: str = ""
    """Why it cannot be traced."""

    @property
    def unset(self) -> frozenset[str]:
        """The variables of its function that may be unset when they are read."""
        return self.blocks[0].scope.unset

    @property
    def file(self) -> str:
        return self.blocks[0].unit.file

    @property
    def line(self) -> int:
        return self.node.lineno

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """All names in the statement and in its blocks."""
        parts = [*self.blocks, *([self.rest] if self.rest else [])]
        return self._facts.of([self.node, *(one for part in parts for one in part.statements)]).mentioned

    @property
    def _facts(self) -> FactsByNode:
        return self.blocks[0].scope.facts

    @cached_property
    def weight(self) -> int:
        """How much an iteration adds to the program if the loop is unrolled; loops and branches add more."""
        choices = sum(isinstance(n, ast.If | ast.IfExp) for n in walk(self.node)[1:])
        return 1 + 8 * self.inner_loops + 4 * choices

    @cached_property
    def inner_loops(self) -> int:
        """How many loops the statement contains."""
        return sum(isinstance(n, ast.For | ast.While) for n in walk(self.node)[1:])

    @cached_property
    def asks_python(self) -> bool:
        """Whether a loop needs Python's own numbers: it shows them, asks for their type, or makes a dict."""
        asked = {"type", "isinstance", "next", "iter", "hash", "id"}
        texts = {"str", "repr", "format"}
        messages = {n for part in _messages(self.node) for n in ast.walk(part)}
        return bool(asked & self.mentioned) or any(
            (isinstance(n, ast.JoinedStr) and n not in messages)
            or (isinstance(n, ast.Name) and n.id in texts and n not in messages)
            or isinstance(n, ast.Dict)
            or (
                isinstance(n, ast.Name | ast.Attribute)
                and (n.id if isinstance(n, ast.Name) else n.attr).startswith("__")
            )
            for n in walk(self.node)
        )

    @cached_property
    def is_left_by_return_alone(self) -> bool:
        """Whether it is a ``while True`` without `break`."""
        match self.node:
            case ast.While(test=ast.Constant(value=value), body=body):
                return bool(value) and not self._facts.of(body).breaks
            case _:
                return False

    @cached_property
    def has_jump(self) -> bool:
        """Whether a jump in the body of a loop may leave the loop or an iteration."""
        return isinstance(self.node, ast.For | ast.While) and self._facts.of(self.node.body).jumps
