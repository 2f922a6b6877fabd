"""`scan`, loops, branches and maps as functions of Python functions."""
