"""Loops of random statements, many of them about names of one array, give and write what they do in NumPy."""

import random
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm

SIZES = (4, 7, 2, 13, 1)
NAMES = "s, q, k, y, z, a, b, c, d"
BEFORE = """\
def held(array):
    def get():
        return array
    return get

def put(array, i):
    array[i] = i
    return array

def program(x):
    n, s, q, k, y, z = len(x), 0.0, np.float64(1), 1, None, None
    a, b, c, d, get = np.zeros(3), np.zeros_like(x), x, x[1:], held(x * 2)
"""
RANGES = (
    "range(n)",
    "range(n)",
    "range(1, n)",
    "range(n - 1)",
    "range(n - 1, -1, -1)",
    "range(0, n, 2)",
    "x",
    "d",
)
PLAIN = (
    "x[i],x[i - 1],x[-1 - i],b[i],c[i // 2],a[0],a.sum(),d[0],get()[i],x[i + 1],i,i * 0.5,n,s,q,k,1.5".split(
        ","
    )
)
COMPUTED = ["np.sin({0})", "{0} * {1}", "{0} - {1}", "np.where({0} > 0, i, 0.5)"]
SIMPLE = """\
s = s + {0}
q = q * 0.5 + {0}
b[i] = {0}
x[i] += {0}
a[i % 3] -= {0}
c[i - 1] = {0}
a += {0}
""".splitlines()
STATEMENTS = """\
d[0] = {0}
a = a + {0}
a = a * 0.5
b = x
b = c * 0.5
a, q = a * 0.5, q + {0}
y = {0}
z = y
y = x * 2 if y is None else y * 0.5
y = get() if y is None else y * 0.5
k = k + 1
k = i
put(b, i)
z = put(c, 0)
z = a
a = a * 0.5; z = a[1:] if z is None else z
t = x[i:i + 1]; t[...] = {0}
x = x * 0.5
y = c[::-1]
if n > 3: {1}
if y is None: {1}
for j in range(2): {1}
for j in range(n): {1}
""".splitlines()
AFTER = ("a[0] = 9", "b[0] = 9", "y = y * 2", "z[...] = 3", "s = s * i", "x[-1] = 5", "pass")


def text_of(seed: int) -> str:
    draw = random.Random(seed)

    def value(depth: int = 1) -> str:
        if depth == 0:
            return draw.choice(PLAIN)
        return draw.choice(PLAIN + COMPUTED).format(value(0), value(0))

    def statement() -> str:
        simple = draw.choice(SIMPLE).format(value())
        return draw.choice(SIMPLE + STATEMENTS).format(value(), simple)

    def loop() -> str:
        lines = [statement() for _ in range(draw.randint(1, 4))]
        return "\n".join([f"    for i in {draw.choice(RANGES)}:", *(f"        {line}" for line in lines)])

    loops = "\n".join(loop() for _ in range(draw.choice((1, 1, 2))))
    return f"{BEFORE}{loops}\n    {draw.choice(AFTER)}\n    return {NAMES}, get()\n"


def outcome(function: Any, size: int) -> list[Any] | Exception:
    """The results and what became of the argument, or the error."""
    x = np.random.default_rng(size).normal(size=size)
    try:
        with np.errstate(all="ignore"):
            return [x, *function(x)]
    except Exception as error:
        return error


def agree(seed: int, folder: Path, backend: str) -> bool:
    """Check the program of a seed; returns False if NumPy refuses it for most sizes."""
    file, module = folder / f"loops_{seed}.py", {"np": np}
    file.write_text(text_of(seed))
    exec(compile(file.read_text(), str(file), "exec"), module)
    function: Any = module["program"]
    expected = [outcome(function, size) for size in SIZES]
    if sum(isinstance(one, Exception) for one in expected) > 2:
        return False
    compiled = tm.compile(function, backend=backend, dynamic=True, on_recompile="ignore")
    for size, wanted in zip(SIZES, expected, strict=True):
        found = outcome(compiled, size)
        if isinstance(wanted, Exception):
            assert isinstance(found, type(wanted)), f"{size} {found!r} {wanted!r}\n{file.read_text()}"
            continue
        assert not isinstance(found, Exception), f"{size} {found!r}\n{file.read_text()}"
        for ours, theirs in zip(found, wanted, strict=True):
            assert type(ours) is type(theirs), f"{size} {ours!r} {theirs!r}\n{file.read_text()}"
            if theirs is not None:
                np.testing.assert_allclose(
                    ours, theirs, rtol=1e-8, atol=1e-9, err_msg=f"{size}\n{file.read_text()}"
                )

    return True


def check(first: int, programs: int, folder: Path, backend: str) -> None:
    """Check as many programs that NumPy runs, beginning with the one of a seed."""
    seeds = count(first)
    while programs:
        programs -= agree(next(seeds), folder, backend)


def test_random_loops_do_what_they_do_in_numpy(tmp_path: Path) -> None:
    check(0, 5, tmp_path, "numpy")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_many_random_loops_do_what_they_do_in_numpy(backend: str, tmp_path: Path, more: int) -> None:
    check(8, (10 if backend == "numpy" else 2) * more, tmp_path, backend)
