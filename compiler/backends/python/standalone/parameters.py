"""The parameters of an exported function: the user's own, with their defaults, and the value of each at export."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any, TypeAlias

from ....errors import ExportError
from ....frontend.program import Argument, Static
from ..literals import value_text


@dataclass(frozen=True, slots=True)
class Given:
    """The value of a parameter when the function was traced: a container, or one leaf."""

    tree: Any
    leaves: tuple[Argument | Static, ...]
    first: int
    """The number of its first array among the inputs of the graph: parameters may have another order."""

    @property
    def count(self) -> int:
        """How many inputs of the graph it holds."""
        return sum(isinstance(leaf, Argument) for leaf in self.leaves)

    @property
    def setting(self) -> Static | None:
        """The value, if it is only a setting."""
        (leaf, *rest) = self.leaves or (None,)
        return leaf if isinstance(leaf, Static) and not rest and self.tree.is_leaf() else None


Arguments: TypeAlias = Given | tuple[Given, ...] | Mapping[str, Given]
"""The value of one parameter; ``*args`` is a tuple, ``**kwargs`` a dict."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A parameter of the exported function."""

    name: str
    kind: Any
    default: str | None
    """An expression; None if it has none."""
    given: Arguments | None
    """None for one that was left to its default, which is a setting of the program."""
    fixed: Any = None
    """That default."""

    @property
    def text(self) -> str:
        """Its text in the function's head."""
        stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(self.kind, "")
        return f"{stars}{self.name}" + (f"={self.default}" if self.default is not None else "")


def exported_parameters(
    tree: Any, leaves: Sequence[Argument | Static], signature: Signature | None
) -> list[Exported]:
    """The user's parameters that an exported function still has.

    Settings stay, so that calls look the same, if Python can write them: the function only accepts the exported
    value. Others are removed, and later parameters are keyword-only.
    """
    positional, named = _given(tree, leaves)
    signature = signature or _without_names(len(positional), named)
    try:
        bound = signature.bind(*positional, **named).arguments
    except TypeError as error:
        raise ExportError(f"the arguments do not fit the parameters {signature}: {error}") from None
    found: list[Exported] = []
    is_gone = False
    for parameter in signature.parameters.values():
        exported = _exported(parameter, bound.get(parameter.name))
        if exported is None:
            is_gone |= parameter.kind in _BY_PLACE
            continue
        if is_gone and parameter.kind in _BY_PLACE:
            exported = replace(exported, kind=Parameter.KEYWORD_ONLY)
        found.append(exported)
    return _in_order(found)


_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def _given(tree: Any, leaves: Sequence[Argument | Static]) -> tuple[list[Given], dict[str, Given]]:
    args, kwargs = tree.children()
    rest = iter(leaves)

    def parts(children: Sequence[Any], first: int = 0) -> Iterator[Given]:
        for child in children:
            given = Given(child, tuple(next(rest) for _ in range(child.num_leaves)), first)
            yield given
            first += given.count

    positional = list(parts(args.children()))
    behind = parts(kwargs.children(), sum(given.count for given in positional))
    return positional, dict(zip(kwargs.entries(), behind, strict=True))


def _without_names(count: int, named: Mapping[str, Given]) -> Signature:
    """For functions that are written in C and have no signature."""
    names = ["x"] if count == 1 else [f"x{place + 1}" for place in range(count)]
    while not named.keys().isdisjoint(names):
        names = [f"{name}_" for name in names]
    return Signature(
        [
            *(Parameter(name, Parameter.POSITIONAL_ONLY) for name in names),
            *(Parameter(name, Parameter.KEYWORD_ONLY) for name in named),
        ]
    )


def _exported(parameter: Parameter, given: Any) -> Exported | None:
    """None for a parameter that is removed."""
    name, kind = parameter.name, parameter.kind
    default = None if parameter.default is inspect.Parameter.empty else value_text(parameter.default)
    if kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        return Exported(name, kind, None, given) if given else None
    if given is None:
        return Exported(name, kind, default, None, parameter.default) if default is not None else None
    if given.setting is not None:
        text = value_text(given.setting.value)
        if text is None:
            return None
        has_default = parameter.default is not inspect.Parameter.empty or kind is Parameter.KEYWORD_ONLY
        return Exported(name, kind, text if has_default else None, given)
    return Exported(name, kind, default if _fits(parameter.default, given) else None, given)


def _fits(default: Any, given: Given) -> bool:
    """Whether a default has the type for which the program is made."""
    if not given.leaves:
        return default is None
    (leaf, *rest) = given.leaves
    if not isinstance(leaf, Argument) or rest or not given.tree.is_leaf():
        return False
    return leaf.weak is not None and type(default) is leaf.weak


def _in_order(found: Sequence[Exported]) -> list[Exported]:
    """In Python's order: positional, ``*args``, keyword-only, ``**kwargs``; no default before a parameter without
    one."""
    ordered = sorted(found, key=lambda x: x.kind)
    needs_value = False
    for place in reversed(range(len(ordered))):
        parameter = ordered[place]
        if parameter.kind in _BY_PLACE:
            needs_value |= parameter.default is None
            if needs_value:
                ordered[place] = replace(parameter, default=None)
    return ordered


def head_items(parameters: Sequence[Exported]) -> list[str]:
    """The text between the parentheses of ``def f(…):``."""
    items: list[str] = []
    kinds = [parameter.kind for parameter in parameters]
    for place, parameter in enumerate(parameters):
        before = kinds[place - 1] if place else None
        if before is Parameter.POSITIONAL_ONLY and parameter.kind is not Parameter.POSITIONAL_ONLY:
            items.append("/")
        if parameter.kind is Parameter.KEYWORD_ONLY and before not in (
            Parameter.KEYWORD_ONLY,
            Parameter.VAR_POSITIONAL,
        ):
            items.append("*")
        items.append(parameter.text)
    if kinds and kinds[-1] is Parameter.POSITIONAL_ONLY:
        items.append("/")
    return items
