"""GPU programs: compiled, tuned, stored, and compiled ahead of time."""
