"""Which outputs depend on which inputs, and how few directions are needed to compute a sparse derivative."""
