"""A graph as a program: its passes, its printed text, and the module that is loaded."""
