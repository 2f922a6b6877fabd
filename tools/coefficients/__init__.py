"""The coefficients of the polynomials in the C functions, computed anew: ``python -m tracemill.tools.coefficients``."""
