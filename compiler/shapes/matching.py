"""Python that reads the sizes of dims off shapes and tells whether a call fits, as `SizeReader.read` does."""

from collections.abc import Mapping, Sequence

from .guards import limit_texts
from .solving import SizeReader
from .spelling import spelled, spelled_comparison
from .unpacking import unpacking


def matching(reader: SizeReader, shapes: Sequence[str], names: Mapping[str, str], fail: str) -> list[str]:
    """Lines that bind each size to its name, or `fail` if something does not fit.

    `shapes` are variables with tuples of the declared lengths.

    >>> import tracemill as tm
    >>> reader = SizeReader(["x"], [(tm.Dim("B", min=2), 784)])
    >>> print("\\n".join(matching(reader, ["shape"], {"B": "b"}, "return None")))
    b = shape[0]
    if not (2 <= b and shape[1] == 784): return None
    """
    texts = unpacking(reader, shapes, names)
    lines = [f"{names[size]} = {text}" for size, text in texts.items()]
    axes = {place: f"{shapes[place[0]]}[{place[1]}]" for place, _ in reader.axes}
    conditions: list[str] = []
    for step in reader.steps:
        name = names[step.size.text]
        if not step.size.min and texts[step.size.text] not in axes.values():
            conditions.append(f"{name} >= 0")
        conditions += limit_texts(step.size, name)
    conditions += [spelled_comparison(one.terms, one.relation, names) for one in reader.assumptions.relations]
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
