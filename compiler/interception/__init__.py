"""What is replaced in NumPy and in the user's frames while a function is traced.

- `constructors`: ``np.zeros`` and the other functions of NumPy that make arrays out of nothing. They are replaced in
  NumPy's modules while a trace is active, and give traced arrays when the user's code calls them.
- `size_math`: functions of `math`, and ``len``, that are called with a symbolic size.
- `adoption`: a NumPy array that the traced function writes to. The local variables that hold it, or views of its
  memory, are bound to traced arrays.
- `callers` reads what the user's frames are doing: the text of a loop, which variables are read later, what stands in
  brackets. It replaces nothing.
- `runtime.interception.range_loop` runs a Python loop over a symbolic number of steps as one loop of the program.

All of this asks which function is at work in the caller. Converting the user's function before it runs will replace it
as a whole.
"""
