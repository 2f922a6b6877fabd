"""`Lowered`, the dump, and the logs of each compilation."""
