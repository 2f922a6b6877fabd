"""`Lowered`, the dump, and what is logged of each compilation."""
