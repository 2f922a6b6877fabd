"""Ops that hold graphs or have effects: loops, branches, calls, custom rules, printing."""
