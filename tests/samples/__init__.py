"""Samples of calls of every op, by family, and of its misuse: what the tests of rules and backends run."""
