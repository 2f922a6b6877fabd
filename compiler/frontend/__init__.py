"""From a call of a user's Python function to a program."""
