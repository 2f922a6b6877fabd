"""Uncompiled transforms: each operation is computed when Python reaches it."""
