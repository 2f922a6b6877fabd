"""Generated Python that reads the sizes of dims from shapes and checks a call, as `SizeReader.read` does."""

from collections.abc import Mapping, Sequence
from math import inf

from ..assumptions import Assumptions
from ..bounds import Bound
from ..dim import of_size
from ..spelling import spelled, spelled_comparison
from ..terms import sizes_in
from .solving import SizeReader
from .unpacking import unpacked, unpacking


def matching(reader: SizeReader, shapes: Sequence[str], names: Mapping[str, str], fail: str) -> list[str]:
    """Lines that bind each size to its name, or run `fail` if something does not fit.

    `shapes` are variables with tuples of the declared lengths.

    >>> import tracemill as tm
    >>> reader = SizeReader(["x"], [(tm.Dim("B", min=2), 784)])
    >>> print("\\n".join(matching(reader, ["shape"], {"B": "b"}, "return None")))
    b = shape[0]
    if not (2 <= b and shape[1] == 784): return None
    """
    texts = unpacking(reader, shapes, names)
    ranks = {name: len(shape) for name, shape in zip(shapes, reader.shapes, strict=True)}
    bound = {names[size]: text for size, text in texts.items()}
    lines = [f"{variables} = {text}" for variables, text in unpacked(bound, ranks)]
    axes = {place: f"{shapes[place[0]]}[{place[1]}]" for place, _ in reader.axes}
    conditions: list[str] = []
    relations = reader.assumptions.relations
    limits = Assumptions((one for one in relations if len({*sizes_in(one.terms)}) == 1), hold_for_a_call=True)
    for step in reader.steps:
        name = names[step.size.text]
        low, high = limits.bounds(of_size(step.size))
        if low > 0 or high < inf or texts[step.size.text] not in axes.values():
            conditions.append(_between(low, name, high))
        if step.size.multiple_of > 1:
            conditions.append(f"{name} % {step.size.multiple_of} == 0")
    conditions += [
        spelled_comparison(one.terms, one.relation, names)
        for one in relations
        if not limits.follows_from_bounds(one)
    ]
    conditions += [
        f"{axes[place]} == {spelled(terms, names)}"
        for place, terms in reader.axes
        if axes[place] not in texts.values()
    ]
    if conditions:
        lines.append(f"if not ({' and '.join(dict.fromkeys(conditions))}): {fail}")
    if any("//" in line or "%" in line for line in lines):
        return ["try:", *(f"    {line}" for line in lines), f"except ZeroDivisionError: {fail}"]
    return lines


def _between(low: Bound, name: str, high: Bound) -> str:
    if low == high:
        return f"{name} == {low}"
    return f"{low} <= {name}" + (f" <= {high}" if high < inf else "")
