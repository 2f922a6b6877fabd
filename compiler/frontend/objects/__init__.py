"""Objects of the user's classes: those among the arguments, and those that a function makes and returns."""
