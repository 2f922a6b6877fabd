"""What a `Program` is, and by field the calls to try the programs with: `PROGRAMS` in each module."""
