"""Named sizes as Python expressions of the shapes of arguments, for generated programs."""

from collections.abc import Mapping, Sequence
from math import gcd

from ..spelling import Names, spelled, spelled_operation
from ..terms import Size, Terms, add, atom, constant_of, scale
from .solving import SizeReader, Step

_FOUND = Size("@", 0, None, 1)
"""The length of the axis that determines a size; no dim can have this name."""


def unpacking(reader: SizeReader, shapes: Sequence[str], called: Names | None = None) -> dict[str, str]:
    """For each named size an expression of the `shapes` and the sizes before it: statements to run in this order.

    `called` are other names for some sizes. Nothing is checked: an axis that does not fit gives an arbitrary number.

    >>> import tracemill as tm
    >>> K, B = tm.Dim("K"), tm.Dim("B", min=1)
    >>> unpacking(SizeReader(["x", "w"], [(B, 2 * K + 1), (K + B,)]), ["x.shape", "w.shape"])
    {'B': 'x.shape[0]', 'K': '(x.shape[1] - 1) // 2'}
    """
    texts: dict[str, str] = {}
    for step in reader.steps:
        at = f"{shapes[step.place[0]]}[{step.place[1]}]" if step.place else ""
        texts[step.size.text] = _solved(step, {**(called or {}), _FOUND.text: at})
    return texts


def unpacked(texts: Mapping[str, str], ranks: Mapping[str, int]) -> list[tuple[str, str]]:
    """The assignments, in order, for `unpacking`'s expressions by variable.

    A shape whose axes all have variables is unpacked at once, which takes half as long as reading each axis. `ranks`
    are the lengths of the shapes.

    >>> unpacked({"B": "x.shape[0]", "N": "x.shape[1]", "K": "y.shape[0] // B"}, {"x.shape": 2, "y.shape": 1})
    [('B, N', 'x.shape'), ('K', 'y.shape[0] // B')]
    """
    variables = {text: variable for variable, text in texts.items()}
    whole: dict[str, tuple[str, str]] = {}
    for shape, rank in ranks.items():
        axes = [f"{shape}[{axis}]" for axis in range(rank)]
        if rank > 1 and all(axis in variables for axis in axes):
            together = ", ".join(variables[axis] for axis in axes), shape
            whole |= dict.fromkeys(axes, together)
    return list(dict.fromkeys(whole.get(text, (variable, text)) for variable, text in texts.items()))


def _solved(step: Step, names: Names) -> str:
    """``multiple_of * (found - rest) // factor``, with common divisors of both removed."""
    found = add(atom(_FOUND), step.rest, -1) if step.place else scale(step.rest, -1)
    common = gcd(step.size.multiple_of, *(count for _, count in step.factor))
    if step.factor[0][1] < 0:
        found, common = scale(found, -1), -common
    found = scale(found, step.size.multiple_of // abs(common))
    factor: Terms = tuple((monomial, count // common) for monomial, count in step.factor)
    if constant_of(factor) == 1:
        return spelled(found, names)
    return spelled_operation("//", (found, factor), names)
