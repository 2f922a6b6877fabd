"""The command line, dumps, reports and benchmarks; nothing in the library imports it."""
