"""The interpreter refuses what a GPU does not notice: accesses beyond arrays, and programs that are not independent."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.triton_interpreter import Memory, interpreting, module

BEYOND = "reads or writes beyond its arrays"
ANOTHER = "a program of f reads what another writes"
ITSELF = "f reads what it has written, perhaps by another thread"
OTHERWISE = "f writes one thing and another to one place"
UPDATED = "f reads what it updates atomically"
OVERWRITTEN = "f writes to what it updates atomically"


def launched(body: str, programs: int = 2) -> Any:
    """What 16 zeros are after programs have run, which may read 16 ones."""
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    lines = "".join(f"    {line}\n" for line in ("p = tl.program_id(0)", "i = tl.arange(0, 16)", body))
    with interpreting():
        function = module(f"@triton.jit\ndef f(x_ptr, out_ptr):\n{lines}")["f"]
        function[(programs,)](Memory(x), Memory(out))
    return out


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("tl.store(out_ptr + p, tl.load(x_ptr + 15 + p))", BEYOND),
        ("tl.store(out_ptr + i - p, 1.0)", BEYOND),
        ("tl.store(out_ptr + p, tl.load(out_ptr + 1 - p))", ANOTHER),
        ("tl.store(out_ptr + 8 * p + i, p + 0.0, mask=i < 9)", BEYOND),
        ("tl.store(out_ptr + 7 * p + i, p + 0.0, mask=i < 8)", OTHERWISE),
        ("tl.store(out_ptr + i // 2, i)", OTHERWISE),
        ("tl.atomic_add(out_ptr + i, tl.load(out_ptr + i))", UPDATED),
        ("tl.atomic_add(out_ptr, 1.0); tl.store(out_ptr, 1.0)", OVERWRITTEN),
    ],
)
def test_what_depends_on_chance_is_refused(body: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        launched(body)


def test_a_program_may_not_read_what_its_threads_have_written() -> None:
    with pytest.raises(AssertionError, match=ITSELF):
        launched("tl.store(out_ptr + i, i); tl.store(x_ptr + i, tl.load(out_ptr + 15 - i))", programs=1)


@pytest.mark.parametrize(
    "body",
    [
        "tl.store(out_ptr + 8 * p + i, tl.load(out_ptr + 8 * p + i, mask=i < 8) + 1, mask=i < 8)",
        "tl.store(out_ptr + i, tl.load(x_ptr + i))",
        "tl.atomic_add(out_ptr + i, 0.5)",
    ],
)
def test_what_does_not_is_not(body: str) -> None:
    np.testing.assert_array_equal(launched(body), 1)


def test_what_is_not_loaded_is_garbage() -> None:
    assert np.isnan(launched("tl.store(out_ptr + i, tl.sum(tl.load(x_ptr + i, mask=i < 8)))")).all()
    given = launched("tl.store(out_ptr + i, tl.sum(tl.load(x_ptr + i, mask=i < 8, other=0)))")
    np.testing.assert_array_equal(given, 8)
