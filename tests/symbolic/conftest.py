"""Tests of named sizes compile thousands of programs, each once: none is written to disk."""

from support.no_disk_cache import no_disk_cache

__all__ = ["no_disk_cache"]
