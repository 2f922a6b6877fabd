"""The texts of the pool: for its own library, for programs that are passed its address, and for exported ones."""

from functools import cache
from pathlib import Path
from typing import Final

ABI: Final = 1
"""Changes with what programs rely on: the parameters of `tm_share` and of the function for a chunk."""

CALL: Final = "tm_share("
"""Contained in a text whose loops threads may share."""

EXPORTED: Final = "tracemill_share"
"""The function of the pool's library whose address programs are passed."""

_EXPORT: Final = f"""
__attribute__((visibility("default"))) void {EXPORTED}(tm_work *work, void *with, long count, long threads)
{{
    tm_share(work, with, count, threads);
}}
"""

DECLARATIONS: Final = """\
typedef void tm_work(void *with, long chunk);

static void tm_do_alone(tm_work *work, void *with, long count, long threads)
{
    (void)threads;
    for (long chunk = 0; chunk < count; chunk++)
        work(with, chunk);
}

// Computes all chunks of a loop. Python passes the function of Tracemill's pool of threads.
static void (*tm_share)(tm_work *work, void *with, long count, long threads) = tm_do_alone;
"""
"""Comes before functions that call it, in the text of a program for Python."""


@cache
def pool_text() -> str:
    """The pool as C, which defines `tm_share`. It must come before other headers, or `_GNU_SOURCE` must."""
    return _text_of("pool.c")


def pool_without_python() -> str:
    """The pool, and the function that says how many threads there are unless the program sets their number."""
    return pool_text() + _text_of("usual_threads.c")


def library_text() -> str:
    """The library of the pool."""
    return pool_text() + _EXPORT


def _text_of(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
