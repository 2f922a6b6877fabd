"""How C calls NumPy's BLAS: through the addresses of its functions, which Python gives when it loads the library."""

from typing import Final

DECLARATIONS: Final = """\
// The products of matrices of NumPy's BLAS: where Python has found them.
typedef struct {
    void *of_floats, *of_doubles;
    int is_wide;  // its integers have 64 bits
} tm_products;

static const tm_products *tm_blas;  // null where there are none

#define TM_PRODUCT(name, type, field) \\
    static void name(bool turned, bool other_turned, int64_t rows, int64_t columns, int64_t length, \\
                     const type *x, int64_t x_row, const type *y, int64_t y_row, type *out) \\
    { \\
        enum { ROWS = 101, AS_IT_IS = 111, TURNED = 112 }; \\
        typedef void (*wide)(int, int, int, int64_t, int64_t, int64_t, type, const type *, int64_t, \\
                             const type *, int64_t, type, type *, int64_t); \\
        typedef void (*usual)(int, int, int, int, int, int, type, const type *, int, \\
                              const type *, int, type, type *, int); \\
        const int left = turned ? TURNED : AS_IT_IS, right = other_turned ? TURNED : AS_IT_IS; \\
        if (tm_blas->is_wide) \\
            ((wide)tm_blas->field)(ROWS, left, right, rows, columns, length, 1, \\
                                  x, x_row, y, y_row, 0, out, columns); \\
        else \\
            ((usual)tm_blas->field)(ROWS, left, right, rows, columns, length, 1, \\
                                  x, x_row, y, y_row, 0, out, columns); \\
    }
"""
"""Begins with a macro that defines the product of two matrices of a type."""

OF_DTYPE: Final = {"float32": "tm_multiply_f32", "float64": "tm_multiply_f64"}
"""The functions that multiply matrices, by dtype."""

_DEFINITIONS: Final = {
    "tm_multiply_f32(": "TM_PRODUCT(tm_multiply_f32, float, of_floats)\n",
    "tm_multiply_f64(": "TM_PRODUCT(tm_multiply_f64, double, of_doubles)\n",
}


def blas_text(text: str) -> str:
    """What stands before a text that calls BLAS; nothing where it does not."""
    used = [definition for name, definition in _DEFINITIONS.items() if name in text]
    return "".join([DECLARATIONS, *used]) if used else ""
