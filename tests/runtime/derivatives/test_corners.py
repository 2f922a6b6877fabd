"""The derivatives that the documentation promises where a function has none."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

import tracemill as tm

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "derivatives.md"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
ROWS: list[tuple[str, ...]] = ROW.findall(PAGE.read_text(encoding="utf-8"))
NAMES = {"np": np, "tm": tm, "scipy": scipy}


def function_of(text: str) -> Callable[[Any], Any]:
    return lambda x: eval(text, {**NAMES, "x": x})  # our own documentation


def test_the_page_has_the_table() -> None:
    assert len(ROWS) > 20


@pytest.mark.sampled("np.nanstd(x) at [2.0, np.nan, 2.0]-interpreted", slow=8)
@pytest.mark.parametrize("wrap", [lambda f: f, tm.compile], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} at {row[1]}")
def test_each_row_of_the_table_holds_in_every_mode(row: tuple[str, ...], wrap: Callable[..., Any]) -> None:
    f = function_of(row[0])
    at, first, second = (np.asarray(eval(text, NAMES), float) for text in row[1:])
    x = at[()]
    for got in (tm.grad(f), tm.jacfwd(f), tm.jacrev(f)):
        np.testing.assert_allclose(wrap(got)(x), np.broadcast_to(first, at.shape), rtol=1e-15)
    for inner in (tm.jacfwd, tm.jacrev):
        for outer in (tm.jacfwd, tm.jacrev):
            got = wrap(outer(inner(f)))(x)
            np.testing.assert_allclose(got, np.broadcast_to(second, at.shape * 2), rtol=1e-15)
