"""Python's ``for i in range(n)``, where `n` is a symbolic size, as one loop of the program if it only computes.

Python calls ``range`` with the size, which has to be an int then: that is where the loop is run as a whole, and Python
gets an int for which the range is empty; or Python asks an array for its rows, and gets none. The loop's text is read
by rules for what may stand there (`reader`), so that nothing of it is run that is not for all turns. A loop that does
more runs turn by turn, for one size.
"""
