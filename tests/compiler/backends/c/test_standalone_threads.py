"""Exported C on threads: it has the same pool, gives the same bits for any number, and runs clean."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from c.exported_c import WARNINGS, program_of, written_to
from c.sanitizing import SANITIZERS
from tracemill.compiler.backends.c.threads.pool_text import CALL, pool_text
from tracemill.runtime.artifact.c_export import as_c

pytestmark = pytest.mark.usefixtures("c_compiler")
SHAPE = (300, 500)


def scores(x: Any) -> Any:
    """Rows, and sums of all of them."""
    p = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.cumsum(p / np.sum(p, axis=1, keepdims=True), axis=1), np.sum(np.sin(p))


MAIN = """\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "scores.h"

static double x[SCORES_X_SIZE];

/* The sum of the bits of all results of one call. */
static void *call(void *sum)
{
    double *rows = malloc(sizeof x), total;
    void *workspace = malloc(SCORES_WORKSPACE_SIZE + 1);
    if (scores(x, rows, &total, workspace) != SCORES_OK)
        abort();
    uint64_t bits = *(uint64_t *)&total;
    for (long i = 0; i < SCORES_X_SIZE; i++)
        bits = 31 * bits + ((uint64_t *)rows)[i];
    *(uint64_t *)sum = bits;
    free(rows), free(workspace);
    return 0;
}

int main(void)
{
    uint64_t first, sums[4];
    pthread_t callers[4];
    for (long i = 0; i < SCORES_X_SIZE; i++)
        x[i] = (double)(i * 7919 % 1009) / 100;
    call(&first);
    for (int threads = 0; threads <= 8; threads++) {
        scores_set_num_threads(threads);
        for (int i = 0; i < 4; i++)
            pthread_create(&callers[i], 0, call, &sums[i]);
        for (int i = 0; i < 4; i++)
            pthread_join(callers[i], 0);
        for (int i = 0; i < 4; i++)
            if (sums[i] != first)
                return 1;
    }
    printf("%016llx\\n", (unsigned long long)first);
    return 0;
}
"""


@pytest.fixture(scope="module")
def files() -> Mapping[str, str]:
    return as_c(program_of(scores, np.zeros(SHAPE)))


def said(folder: Path, files: Mapping[str, str], compiler: str, *flags: str, threads: str = "3") -> str:
    """What the program prints, built by one command."""
    written_to({**files, "main.c": MAIN}, folder)
    command = [compiler, *WARNINGS, "-Wno-strict-aliasing", *flags, "main.c", "scores.c", "-o", "main"]
    subprocess.run([*command, "-lm", "-lpthread"], cwd=folder, check=True)
    done = subprocess.run(
        ["./main"],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_contains_the_pool_only_if_threads_share_work(files: Mapping[str, str]) -> None:
    assert pool_text() in files["scores.c"]
    small = as_c(program_of(scores, np.zeros((3, 5))))
    assert CALL not in small["scores.c"]
    for header in (files["scores.h"], small["scores.h"]):
        assert "void scores_set_num_threads(int count);" in header


def test_bits_depend_on_neither_the_number_of_threads_nor_of_callers(
    files: Mapping[str, str], c_compiler: str, tmp_path: Path
) -> None:
    flags = ["-O2", "-fno-strict-aliasing"]
    results = {said(tmp_path, files, c_compiler, *flags, threads=count) for count in ("1", "3", "none")}
    assert len(results) == 1


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_it_runs_clean(files: Mapping[str, str], c_compiler: str, tmp_path: Path, sanitizer: str) -> None:
    flags = ["-O1", "-g", "-fno-strict-aliasing", *SANITIZERS[sanitizer].split()]
    assert said(tmp_path, files, c_compiler, *flags)


UNLOADING = """\
import ctypes, _ctypes, os, sys
def threads(): return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0
before = threads()
for _ in range(3):
    library = ctypes.CDLL(sys.argv[1])
    library.scores_set_num_threads(4)
    x, rows, total = (ctypes.c_double * int(sys.argv[2]))(), (ctypes.c_double * int(sys.argv[2]))(), ctypes.c_double()
    library.scores_workspace_size.restype = ctypes.c_size_t
    workspace = ctypes.create_string_buffer(library.scores_workspace_size() + 1)
    assert library.scores(x, rows, ctypes.byref(total), workspace) == 0
    assert sys.platform != "linux" or threads() == before + 3
    _ctypes.dlclose(library._handle)
    assert threads() == before
    del library
print("done")
"""


def test_its_library_can_be_unloaded(files: Mapping[str, str], c_compiler: str, tmp_path: Path) -> None:
    """Its threads end before their code is gone."""
    written_to(files, tmp_path)
    flags = ["-O1", "-std=c11", "-fPIC", "-shared", "-fno-strict-aliasing"]
    command = [c_compiler, *flags, "scores.c", "-o", "scores.so", "-lm", "-lpthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = [sys.executable, "-c", UNLOADING, str(tmp_path / "scores.so"), str(SHAPE[0] * SHAPE[1])]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
