"""Running a graph at once: computed, recorded in a trace, or on the tape."""
