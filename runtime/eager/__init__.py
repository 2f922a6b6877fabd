"""Running a graph now: computed, recorded in a trace, or on the tape."""
