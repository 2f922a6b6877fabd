"""Which outputs depend on which inputs, and how few directions show it."""
