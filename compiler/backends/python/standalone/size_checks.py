"""Statements of an exported function that read its named sizes from the arguments, and check the declarations."""

import re
from collections.abc import Iterator, Mapping, Sequence

from ....ir import Shape
from ....shapes.arguments.solving import SizeReader
from ....shapes.arguments.unpacking import unpacked, unpacking
from ....shapes.dim import Comparison
from ....shapes.guards import limit_texts
from ....shapes.spelling import spelled, spelled_comparison
from ....shapes.terms import sizes_in
from ..literals import value_text
from ..named_sizes import spaced

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def size_checks(
    paths: Sequence[str],
    arrays: Sequence[str],
    shapes: Sequence[Shape],
    relations: Sequence[Comparison],
    names: Mapping[str, str],
) -> list[str]:
    """``B = x.shape[0]``, and ``fact("1 <= B", 1 <= B, B=B)`` for all known facts.

    `paths` are the user's expressions for the arguments, `arrays` the variables that hold them, and `names` the
    variables of sizes.
    """
    reader = SizeReader(paths, shapes, relations)
    lengths = [f"{array}.shape" for array in arrays]
    bound = unpacking(reader, lengths, names)
    shown, checked = (_facts(reader, lengths, bound, called) for called in ({}, names))
    by_variable = {names[size]: text for size, text in bound.items()}
    ranks = {length: len(shape) for length, shape in zip(lengths, shapes, strict=True)}
    return [
        *(f"{variables} = {spaced(text)}" for variables, text in unpacked(by_variable, ranks)),
        *dict.fromkeys(_check(*texts, bound, names) for texts in zip(shown, checked, strict=True)),
    ]


def _facts(
    reader: SizeReader, lengths: Sequence[str], bound: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    """Conditions of Python, limits first."""
    axes = {f"{lengths[argument]}[{axis}]": terms for (argument, axis), terms in reader.axes}
    for step in reader.steps:
        name = names.get(step.size.text, step.size.text)
        yield from limit_texts(step.size, name)
        if not step.size.min and bound[step.size.text] not in axes:
            yield f"{name} >= 0"
    for one in reader.assumptions.relations:
        yield spelled_comparison(one.terms, one.relation, names)
    for length, terms in axes.items():
        if any(True for _ in sizes_in(terms)) and bound.get(spelled(terms)) != length:
            yield f"{length} == {spelled(terms, names)}"


def _check(shown: str, checked: str, bound: Mapping[str, str], names: Mapping[str, str]) -> str:
    words = set(_WORD.findall(checked))
    known = [f"{size}={names[size]}" for size in bound if names[size] in words]
    return f"fact({', '.join([str(value_text(shown)), spaced(checked), *known])})"
