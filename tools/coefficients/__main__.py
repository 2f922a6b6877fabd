"""``python -m tracemill.tools.coefficients [NAME…]``: print C functions with their coefficients computed anew."""

import sys

from .polynomials import POLYNOMIALS

for name in sys.argv[1:] or POLYNOMIALS:
    print(POLYNOMIALS[name].text())
