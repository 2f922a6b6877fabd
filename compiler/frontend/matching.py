"""`as_branches`: a ``match`` statement as ``if`` statements, if its patterns are values, classes, names and ``_``.

Its patterns then compare with ``==``, which may depend on values, and ask for classes with `isinstance`, which knows
the class that a traced number has in Python. Python matches sequences, mappings and attributes.
"""

import ast
from collections.abc import Sequence
from copy import deepcopy
from typing import Final

_NUMBERS: Final = frozenset({"bool", "complex", "float", "int"})
_OF_NUMPY: Final = frozenset(
    """
    bool bool_ complex64 complex128 complexfloating double float16 float32 float64 floating generic half inexact int8
    int16 int32 int64 int_ integer intp number signedinteger single uint uint8 uint16 uint32 uint64 uintp
    unsignedinteger
    """.split()
)
"""The names of NumPy's classes of numbers."""
_MATCHING_THEMSELVES: Final = frozenset({"bool", "float", "int", "list", "set", "str", "tuple"})
"""Python's classes whose one positional pattern is for the object itself."""


def number_classes(node: ast.Match) -> tuple[list[ast.expr], list[ast.expr]]:
    """Python's and NumPy's classes of numbers in patterns. Python does not see that a traced number is of them."""
    kinds = [n.cls for case in node.cases for n in ast.walk(case.pattern) if isinstance(n, ast.MatchClass)]
    named = {kind.id: kind for kind in kinds if isinstance(kind, ast.Name) and kind.id in _NUMBERS}
    of_numpy = {
        kind.attr: kind for kind in kinds if isinstance(kind, ast.Attribute) and kind.attr in _OF_NUMPY
    }
    return [*named.values()], [*of_numpy.values()]


def with_classes_of_hooks(pattern: ast.pattern, hooks: str) -> ast.pattern:
    """A copy of a pattern that asks for the classes of numbers that `hooks` has for Python's."""
    copied = deepcopy(pattern)
    for node in ast.walk(copied):
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id in _NUMBERS:
            found = ast.Attribute(ast.Name(hooks, ast.Load()), f"{node.cls.id}_pattern", ast.Load())
            node.cls = ast.fix_missing_locations(ast.copy_location(found, node.cls))
    return copied


def as_branches(node: ast.Match, subject: str) -> "list[ast.stmt] | None":
    """The statements that replace a ``match`` whose subject is in a variable; None if Python must match."""
    if not all(map(_is_plain, node.cases)):
        return None
    return [ast.Assign([ast.Name(subject, ast.Store())], node.subject), *_branches(node.cases, subject)]


def _branches(cases: Sequence[ast.match_case], subject: str) -> list[ast.stmt]:
    if not cases:
        return []
    case, rest = cases[0], _branches(cases[1:], subject)
    test, name = _test(case.pattern, subject), _bound_name(case.pattern)
    if test is not None and name is not None and case.guard is not None:
        return _class_with_guard(case, [test, case.guard], rest, f"{subject}_{len(cases)}", subject)
    bind: list[ast.stmt] = []
    if name is not None:
        bind = [ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], _read(subject)), case.pattern)]
    if test is None and case.guard is None:
        return [*bind, *case.body]
    if test is None:
        assert case.guard is not None
        return [*bind, ast.copy_location(ast.If(case.guard, case.body, rest), case.pattern)]
    asked = test if case.guard is None else ast.BoolOp(ast.And(), [test, case.guard])
    return [ast.copy_location(ast.If(asked, [*bind, *case.body], rest), case.pattern)]


def _class_with_guard(
    case: ast.match_case, tests: "list[ast.expr]", rest: list[ast.stmt], matches: str, subject: str
) -> list[ast.stmt]:
    """The statements for a class with a name and a guard, which sees the name and is asked only if the class matches.

    The name stays bound if the guard is false, as in Python.
    """
    name = _bound_name(case.pattern)
    assert name is not None
    test, guard = tests
    bind = ast.Assign([ast.Name(name, ast.Store())], _read(subject))
    found: list[ast.stmt] = [
        ast.Assign([ast.Name(matches, ast.Store())], test),
        ast.If(_read(matches), [bind], []),
        ast.If(ast.BoolOp(ast.And(), [_read(matches), guard]), case.body, rest),
    ]
    return [ast.copy_location(one, case.pattern) for one in found]


def _is_plain(case: ast.match_case) -> bool:
    """Whether a case compares with values or matches anything."""
    match case.pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=inner):
            return case.guard is None and _compares(inner) and _bound_name(inner) is None
        case pattern:
            return _compares(pattern)


def _compares(pattern: "ast.pattern | None") -> bool:
    match pattern:
        case ast.MatchValue() | ast.MatchSingleton():
            return True
        case ast.MatchOr(patterns=patterns):
            return all(map(_compares, patterns))
        case ast.MatchClass(cls=kind, patterns=[ast.MatchAs(pattern=None)], kwd_patterns=[]):
            return isinstance(kind, ast.Name) and kind.id in _MATCHING_THEMSELVES
        case ast.MatchClass(patterns=[], kwd_patterns=[]):
            return True
        case _:
            return False


def _bound_name(pattern: "ast.pattern | None") -> str | None:
    """The variable that a pattern sets; all alternatives set the same."""
    match pattern:
        case ast.MatchClass(patterns=[inner]) | ast.MatchOr(patterns=[inner, *_]):
            return _bound_name(inner)
        case ast.MatchAs(name=name):
            return name
        case _:
            return None


def _test(pattern: "ast.pattern | None", subject: str) -> ast.expr | None:
    """The test of a pattern; None if it matches anything."""
    match pattern:
        case ast.MatchValue(value=value):
            return ast.Compare(_read(subject), [ast.Eq()], [value])
        case ast.MatchSingleton(value=value):
            return ast.Compare(_read(subject), [ast.Is()], [ast.Constant(value)])
        case ast.MatchClass(cls=kind):
            return ast.Call(_read("isinstance"), [_read(subject), kind], [])
        case ast.MatchOr(patterns=patterns):
            tests = [_test(one, subject) for one in patterns]
            return ast.BoolOp(ast.Or(), [one for one in tests if one is not None])
        case ast.MatchAs(pattern=inner) if inner is not None:
            return _test(inner, subject)
        case _:
            return None


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())
