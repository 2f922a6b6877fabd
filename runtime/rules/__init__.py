"""Custom rules, callbacks and `debug_print`: the user's Python inside a program."""
