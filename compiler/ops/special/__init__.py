"""Special functions, with their derivatives and the sources of their formulas."""
