"""Sizes from the shapes of arguments: which dims a call determines, and generated code that reads and checks them."""
