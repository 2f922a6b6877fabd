"""Programs for GPUs: built, tuned, stored, and compiled ahead of time."""
