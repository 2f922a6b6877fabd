"""`as_branches`: a ``match`` statement as ``if`` statements, if its patterns are values, names and ``_``.

Its patterns then compare with ``==``, which may depend on values. Python matches patterns of classes, sequences and
mappings.
"""

import ast
from collections.abc import Sequence


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


def _is_plain(case: ast.match_case) -> bool:
    """Whether a case compares with values or matches anything."""
    match case.pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=inner):
            return case.guard is None and _compares(inner)
        case pattern:
            return _compares(pattern)


def _compares(pattern: "ast.pattern | None") -> bool:
    match pattern:
        case ast.MatchValue() | ast.MatchSingleton():
            return True
        case ast.MatchOr(patterns=patterns):
            return all(map(_compares, patterns))
        case _:
            return False


def _bound_name(pattern: ast.pattern) -> str | None:
    return pattern.name if isinstance(pattern, ast.MatchAs) else None


def _test(pattern: "ast.pattern | None", subject: str) -> ast.expr | None:
    """The test of a pattern; None if it matches anything."""
    match pattern:
        case ast.MatchValue(value=value):
            return ast.Compare(_read(subject), [ast.Eq()], [value])
        case ast.MatchSingleton(value=value):
            return ast.Compare(_read(subject), [ast.Is()], [ast.Constant(value)])
        case ast.MatchOr(patterns=patterns):
            tests = [_test(one, subject) for one in patterns]
            return ast.BoolOp(ast.Or(), [one for one in tests if one is not None])
        case ast.MatchAs(pattern=inner) if inner is not None:
            return _test(inner, subject)
        case _:
            return None


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())
