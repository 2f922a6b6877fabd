"""The polynomials in the C functions are those that the script computes, and as exact as the functions need."""

import pytest

from tracemill.compiler.backends.c.definitions import definition
from tracemill.tools.coefficients.digits import digits_text
from tracemill.tools.coefficients.minimax import minimax
from tracemill.tools.coefficients.polynomials import POLYNOMIALS


@pytest.mark.sampled("tm_exp_tail_f32", "tm_sin_tail_f64", slow=4)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_the_polynomials_in_the_c_functions_are_the_best_and_their_errors_a_part_of_the_last_place(
    name: str,
) -> None:
    polynomial = POLYNOMIALS[name]
    coefficients = polynomial.coefficients()
    assert polynomial.text(coefficients) in definition(name)
    most = 0.36 if "cbrt" not in name else 0.004 * 2**polynomial.bits  # the start of an iteration
    assert polynomial.error(coefficients, points=200) < most


def test_the_digits_of_2_over_pi_in_the_c_function_are_those_of_the_script() -> None:
    assert digits_text() in definition("tm_far_angle")


def test_the_best_line_through_a_square_has_equal_errors() -> None:
    """x² − x + 1/8 is a Chebyshev polynomial."""
    assert [float(c) for c in minimax(lambda x: x * x, lambda x: 1, (0, 1), 2, 53)] == pytest.approx(
        [-0.125, 1.0], abs=1e-5
    )
