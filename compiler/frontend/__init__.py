"""From a call of the user's Python function to a program."""
