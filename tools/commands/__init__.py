"""The commands of `tracemill`, a file each."""
