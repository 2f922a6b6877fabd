"""What the programs must give, by other means: a function of each program's name, in a module for each field.

It takes the outcome of a call and the arguments of that call as they were before.
"""
