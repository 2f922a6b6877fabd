"""`compile`: which variant serves a call, and why a function is compiled again."""
