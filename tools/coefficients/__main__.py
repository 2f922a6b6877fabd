"""``python -m tracemill.tools.coefficients [NAME…]``: print C functions with their coefficients computed anew.

The name ``digits`` stands for the digits of 2/π in the function `tm_far_angle`.
"""

import sys

from .digits import digits_text
from .polynomials import POLYNOMIALS

for name in sys.argv[1:] or [*POLYNOMIALS, "digits"]:
    if name == "digits":
        print(digits_text())
    else:
        print(POLYNOMIALS[name].text(POLYNOMIALS[name].coefficients()))
