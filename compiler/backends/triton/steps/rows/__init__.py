"""Rows whose entries depend on each other: running sums, sorting, scattered writes, recurrences."""
