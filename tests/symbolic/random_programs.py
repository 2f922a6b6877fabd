"""Random programs of NumPy on arrays of any size, as text, and strategies that draw them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from support.source import with_source

Shape = tuple[str, ...]
"""A size is an expression of B and N."""

LARGEST = 4096
"""No array of a program has more elements, for the sizes that it is drawn for."""

PREAMBLE = """\
def shifted(a):
    b = a.copy()
    b[1:] += a[:-1]
    b[:, 0] = 0.5
    return b

def longer(a):
    if a.shape[0] > 4:
        return a + 1.0
    return a - 1.0

def softmax(a):
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""


@dataclass(frozen=True)
class Step:
    """A continuous expression of arrays {a} and {b}, so that rounding counts little, and the shape of its result."""

    text: str
    shape: str
    """Of sizes {p} and {q} of a, and {r} of b: ``p, 2*q``."""
    second: str = ""
    """The shape of b, or nothing if there is none."""


ON_MATRICES = (
    Step("np.tanh({a})", "p, q"),
    Step("np.exp(-{a} ** 2)", "p, q"),
    Step("softmax({a})", "p, q"),
    Step("{a} - np.max({a}, axis=0)", "p, q"),
    Step("np.where({a} > 0, {a}, 0.5 * {a})", "p, q"),
    Step("np.clip({a}, -0.7, 0.9)", "p, q"),
    Step("{a} / {a}.shape[0]", "p, q"),
    Step("{a} * {a}.size / ({a}.size + 1)", "p, q"),
    Step("{a} + np.arange({a}.shape[1]) / {a}.shape[1]", "p, q"),
    Step("np.linspace(0, 1, {a}.shape[0])[:, None] + {a}", "p, q"),
    Step("{a} * np.eye({a}.shape[0], {a}.shape[1])", "p, q"),
    Step("np.tril({a})", "p, q"),
    Step("np.roll({a}, 1, axis=0)", "p, q"),
    Step("np.sort({a}, axis=1)", "p, q"),
    Step("{a}[:, ::-1]", "p, q"),
    Step("np.cumsum({a}, axis=1) / {a}.shape[1]", "p, q"),
    Step("({a} - {a}.mean(axis=1, keepdims=True)) / np.sqrt({a}.var(axis=1, keepdims=True) + 1.0)", "p, q"),
    Step("shifted({a})", "p, q"),
    Step("longer({a})", "p, q"),
    Step("np.take({a}, np.arange({a}.shape[0])[::-1], axis=0)", "p, q"),
    Step("np.full({a}.shape, 0.25) + {a}", "p, q"),
    Step("{a}.T", "q, p"),
    Step("{a}.reshape({a}.shape[1], {a}.shape[0])", "q, p"),
    Step("{a}.reshape(-1)", "p*q"),
    Step("{a}[1:]", "p - 1, q"),
    Step("{a}[:-1, 1:]", "p - 1, q - 1"),
    Step("{a}[::2]", "(p + 1)//2, q"),
    Step("{a}[:{a}.shape[0] // 2 + 1]", "p//2 + 1, q"),
    Step("{a}[{a}.shape[0] // 2:]", "p - p//2, q"),
    Step("np.diff({a}, axis=1)", "p, q - 1"),
    Step("{a}[0]", "q"),
    Step("{a}[:, -1]", "p"),
    Step("np.mean({a}, axis=0)", "q"),
    Step("np.sum({a}, axis=1)", "p"),
    Step("np.max({a}, axis=1)", "p"),
    Step("np.var({a}, axis=0)", "q"),
    Step("np.linalg.norm({a}, axis=1)", "p"),
    Step("{a} @ {a}.T / {a}.shape[1]", "p, p"),
    Step("np.abs({a}[:, None, :] - {a}[None, :, :]).mean(axis=2)", "p, p"),
    Step("np.pad({a}, ((1, 0), (0, 2)))", "p + 1, q + 2"),
    Step("np.concatenate([{a}, {a}[:1]])", "p + 1, q"),
    Step("np.tile({a}, (2, 1))", "2*p, q"),
    Step("np.repeat({a}, 2, axis=1)", "p, 2*q"),
    Step("np.hstack([{a}, np.zeros(({a}.shape[0], 2))])", "p, q + 2"),
    Step("{a} + {b}", "p, q", "p, q"),
    Step("{a} * {b}", "p, q", "p, q"),
    Step("{a} - {b}", "p, q", "q"),
    Step("{a} * {b}[:, None]", "p, q", "p"),
    Step("{a} @ {b} / {a}.shape[1]", "p", "q"),
    Step("{a} @ {b} / {a}.shape[1]", "p, r", "q, r"),
    Step("np.einsum('ij,ij->i', {a}, {b})", "p", "p, q"),
    Step("np.concatenate([{a}, {b}])", "p + r, q", "r, q"),
    Step("np.stack([{a}, {b}], axis=1).reshape({a}.shape[0], -1)", "p, 2*q", "p, q"),
)
ON_VECTORS = (
    Step("np.sin({a})", "p"),
    Step("np.sort({a})", "p"),
    Step("{a}[::-1]", "p"),
    Step("{a} - {a}.mean()", "p"),
    Step("np.cumsum({a}) / len({a})", "p"),
    Step("{a}[1:] - {a}[:-1]", "p - 1"),
    Step("np.outer({a}, {a})", "p, p"),
    Step("{a}[:, None] * np.ones(3)", "p, 3"),
    Step("np.concatenate([{a}, {b}])", "p + r", "r"),
    Step("{a} * {b}", "p", "p"),
    Step("np.where(np.arange(len({a})) < len({a}) // 2, {a}, 0.0)", "p"),
    Step("np.diag({a})", "p, p"),
)


@dataclass
class Drawn:
    """A program that is being drawn: its lines, and the shapes of what they make."""

    shapes: dict[str, Shape]
    lines: list[str] = field(default_factory=list[str])

    def add(self, text: str, shape: Shape) -> None:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.shapes[name] = shape


@dataclass(frozen=True)
class Program:
    """The text of a function of x: f64[B, N], v: f64[N], s: f64[B], and the sizes it is for."""

    body: str
    sizes: tuple[tuple[int, int], ...]

    @property
    def text(self) -> str:
        return f"{PREAMBLE}\n\ndef program(x, v, s):\n    {self.body}\n"

    @property
    def function(self) -> Callable[..., Any]:
        names: dict[str, Any] = {"np": np}
        exec(compile(self.text, with_source(self.text), "exec"), names)
        return names["program"]  # type: ignore[no-any-return]

    def arguments(self, sizes: tuple[int, int]) -> tuple[Any, ...]:
        rows, columns = sizes
        rng = np.random.default_rng(rows * 1000 + columns)
        return rng.uniform(-1, 1, (rows, columns)), rng.uniform(-1, 1, columns), rng.uniform(-1, 1, rows)


SIZES = st.tuples(st.integers(2, 9), st.integers(2, 9))


@st.composite
def programs(draw: Any, steps: int = 6) -> Program:
    """Programs of up to this many lines, for four pairs of sizes."""
    sizes = tuple(draw(st.lists(SIZES, min_size=4, max_size=4, unique=True)))
    drawn = Drawn({"x": ("B", "N"), "v": ("N",), "s": ("B",)})
    for _ in range(draw(st.integers(1, steps))):
        name = draw(st.sampled_from(sorted(drawn.shapes)))
        shape = drawn.shapes[name]
        step = draw(st.sampled_from({1: ON_VECTORS, 2: ON_MATRICES}[len(shape)]))
        known = dict(zip("pq", shape, strict=False))
        second = ""
        if step.second:
            fitting = [
                other for other in sorted(drawn.shapes) if _fits(step.second, drawn.shapes[other], known)
            ]
            if not fitting:
                continue
            second = draw(st.sampled_from(fitting))
            known.update(_unknown(step.second, drawn.shapes[second], known))
        result = _put_in(step.shape, known)
        if all(_is_allowed(result, pair) for pair in sizes):
            drawn.add(step.text.format(a=name, b=second), result)
    results = [name for name in drawn.shapes if name.startswith("t")][-2:] or ["x"]
    body = "\n    ".join([*drawn.lines, f"return {', '.join(results)}"])
    return Program(body, sizes)


def _parts(shape: str) -> list[str]:
    return shape.split(", ")


def _fits(wanted: str, shape: Shape, known: Mapping[str, str]) -> bool:
    parts = _parts(wanted)
    return len(parts) == len(shape) and all(
        known.get(part, size) == size for part, size in zip(parts, shape, strict=True)
    )


def _unknown(wanted: str, shape: Shape, known: Mapping[str, str]) -> dict[str, str]:
    pairs = zip(_parts(wanted), shape, strict=True)
    return {part: size for part, size in pairs if part not in known}


def _put_in(shape: str, known: Mapping[str, str]) -> Shape:
    """The sizes for letters, in brackets if they are not names."""
    named = {letter: size if size.isalnum() else f"({size})" for letter, size in known.items()}
    return tuple("".join(named.get(char, char) for char in part) for part in _parts(shape))


def _is_allowed(shape: Shape, sizes: tuple[int, int]) -> bool:
    """Whether no size is below 2 and the array is small, for these sizes."""
    values = [eval(size, {"B": sizes[0], "N": sizes[1]}) for size in shape]
    return min(values) >= 2 and int(np.prod(values)) <= LARGEST
