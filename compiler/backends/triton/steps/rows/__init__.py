"""Rows whose entries depend on each other: cumulative sums, sorting, scattered writes, recurrences."""
