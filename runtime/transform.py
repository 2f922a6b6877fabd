"""`vmap`, `grad` and their family as functions of Python functions: trace, transform the graph, run or record it."""
