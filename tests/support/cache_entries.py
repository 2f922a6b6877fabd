"""Entries of a disk cache, as tests store them."""

import os
from pathlib import Path

import pytest

from tracemill.runtime.cache.disk_cache import DiskCache, cache_key

KEY = cache_key(ir="# tracemill ir 1\ndef f() -> f32[]:", backend="numpy")
MEMBERS = {"program.py": b"def f(x):\n    return x + 1\n", "graph.txt": "αβγ\n".encode()}
ABOUT = {"function": "f", "backend": "numpy"}
ON_POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions or links")


def key_of(number: int) -> str:
    return cache_key(ir=str(number), backend="numpy", versions={})


def stored(cache: DiskCache, key: str = KEY) -> Path:
    folder = cache.store(key, MEMBERS, ABOUT)
    assert folder is not None
    return folder
