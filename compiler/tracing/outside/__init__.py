"""Arrays that a traced function does not make itself: what it can reach, what it writes to, and memory of others."""
