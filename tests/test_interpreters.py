"""Tracemill lives in Python's main interpreter alone, as NumPy does."""

import subprocess
import sys

import pytest

PROGRAM = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
CODE = '''
try:
    import tracemill
except ImportError as error:
    print(error)
'''
run = getattr(interpreters, "exec", interpreters.run_string)
run(interpreters.create(), CODE)
import tracemill
print(tracemill.grad.__name__)
"""


@pytest.mark.slow
def test_a_sub_interpreter_gets_an_error_that_says_why() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    first, second = ran.stdout.splitlines()
    assert first.startswith(
        "tracemill cannot be imported in a sub-interpreter, because NumPy does not support"
    )
    assert second == "grad"
