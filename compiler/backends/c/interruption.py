"""How Ctrl-C reaches C loops, between whose steps no Python runs: they check regularly whether to stop."""

from typing import Final

from ...symbolic_size import typical
from .sizes import size_text

ASKING: Final = 1_000
"""A loop counts its time after this many estimated nanoseconds of steps."""

CALL: Final = "tm_stops("
"""Contained in a text whose loops check."""

DECLARATIONS: Final = """\
// Loops check regularly whether to stop.
typedef struct tm_running {
    long spent;  // estimated nanoseconds since the clock was last read
    long asked;  // the clock's milliseconds when signals were last checked
    bool is_stopped;
    bool (*stops)(struct tm_running *);
    void *state;  // of Python's thread, which does not hold the interpreter's lock
} tm_running;

static _Thread_local tm_running *tm_now;  // this thread's; null if loops cannot be interrupted

static inline bool tm_stops(long work)
{
    tm_running *now = tm_now;
    return now && (now->spent += work) > 100000 && now->stops(now);
}
"""
"""Comes before functions whose loops check, in the text of a program."""

PYTHON: Final = """\
#include <time.h>

// Python's signals are handled here, every 50 milliseconds: Ctrl-C, or any exception of a handler, stops all loops.
static long tm_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static bool tm_ask(tm_running *now) {
    if (now->is_stopped) return true;
    const long time = tm_clock();
    now->spent = 0;
    if (!now->asked) now->asked = time;
    if (time - now->asked < 50) return false;
    tm_now = 0;  // a handler's own calls have their own state
    PyEval_RestoreThread(now->state);
    now->is_stopped = PyErr_CheckSignals() != 0;
    now->state = PyEval_SaveThread();
    tm_now = now;
    now->asked = tm_clock();
    if (now->is_stopped) now->spent = 100000;
    return now->is_stopped;
}

// Run a function with loops that check. Returns whether they were stopped, with the exception set.
static int tm_run(const tm_function *f, void **data, long threads) {
    if (!f->releasing) {
        f->run(data, threads);
        return 0;
    }
    tm_running running = {.stops = tm_ask, .state = PyEval_SaveThread()}, *before = tm_now;
    tm_now = &running;
    f->run(data, threads);
    tm_now = before;
    PyEval_RestoreThread(running.state);
    return running.is_stopped;
}
"""
"""The same for a text whose loops check, like `interface.RUN` for others."""


def steps_between(work: int) -> int:
    """The number of steps with these nanoseconds after which a loop checks: a power of two."""
    return 1 << max(0, (-(-ASKING // max(typical(work), 1)) - 1).bit_length())


def stop_condition(work: int) -> str:
    """Whether to leave a loop, after this many nanoseconds of steps."""
    return f"{CALL}{size_text(work)})"
