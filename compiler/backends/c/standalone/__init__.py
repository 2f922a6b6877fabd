"""Export as C: a program as a C file, a header and a Makefile that need neither Python nor Tracemill."""
