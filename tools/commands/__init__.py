"""The commands of `tracemill`, one file each."""
