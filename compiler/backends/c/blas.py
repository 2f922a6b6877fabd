"""How C calls NumPy's BLAS: through the addresses of its functions, which Python passes when it loads the library."""

from typing import Final

DECLARATIONS: Final = """\
// The matrix products of NumPy's BLAS, at the addresses that Python has found.
typedef struct {
    void *of_floats, *of_doubles;
    int is_wide;  // its integers have 64 bits
    void *batches_of_floats, *batches_of_doubles;  // the products of OpenBLAS that take no thread; null without
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
        else if ((rows | columns | length | x_row | y_row) <= INT32_MAX) \\
            ((usual)tm_blas->field)(ROWS, left, right, rows, columns, length, 1, \\
                                  x, x_row, y, y_row, 0, out, columns); \\
        else  /* one of them is larger */ \\
            for (int64_t i = 0; i < rows; i++) \\
                for (int64_t j = 0; j < columns; j++) { \\
                    type sum = 0; \\
                    for (int64_t k = 0; k < length; k++) \\
                        sum += x[turned ? k * x_row + i : i * x_row + k] \\
                             * y[other_turned ? j * y_row + k : k * y_row + j]; \\
                    out[i * columns + j] = sum; \\
                } \\
    }
"""
"""Starts with a macro that defines the product of two matrices of a type."""

ON_ONE_THREAD: Final = 64**3
"""OpenBLAS computes a product with up to this many multiplications on the calling thread."""

BATCH: Final = 100**3
"""With more multiplications than this, single products are computed as a batch. Smaller ones must not be batches:
OpenBLAS has other functions for them, which may call functions that the processor lacks."""

PARTS: Final = 16
"""A short stack of products is split into this many parts, so that there is work for several threads."""

LEAST: Final = 1 << 22
"""The number of multiplications of a part that is worth its own call: a call first reorders its operands."""

HERE_DECLARATIONS: Final = f"""\
enum {{ TM_CALLS = 64 }};  // at once: OpenBLAS has memory for twice as many

// The number of parts of rows into which each product is split, where `row` is the number of multiplications per row:
// OpenBLAS computes such a part on the calling thread. 0 if it would start its own threads. Depends only on the sizes.
static inline long tm_parts(int64_t products, int64_t rows, int64_t row)
{{
    if (rows * row <= {BATCH})
        return row <= {ON_ONE_THREAD} ? (rows + {ON_ONE_THREAD} / row - 1) / ({ON_ONE_THREAD} / row) : 0;
    const int64_t wanted = ({PARTS} + products - 1) / products, most = rows * row / {LEAST};
    return wanted < most ? wanted : most ? most : 1;
}}

// The product on the calling thread, if it is part of a larger one.
#define TM_PRODUCT_HERE(name, multiply, type, field) \\
    static void name(bool turned, bool other_turned, int64_t rows, int64_t columns, int64_t length, \\
                     const type *x, int64_t x_row, const type *y, int64_t y_row, type *out) \\
    {{ \\
        enum {{ ROWS = 101, AS_IT_IS = 111, TURNED = 112 }}; \\
        typedef void (*batch)(int, const int *, const int *, const int64_t *, const int64_t *, const int64_t *, \\
                              const type *, const type **, const int64_t *, const type **, const int64_t *, \\
                              const type *, type **, const int64_t *, int64_t, const int64_t *); \\
        const int left = turned ? TURNED : AS_IT_IS, right = other_turned ? TURNED : AS_IT_IS; \\
        const type factor = 1, before = 0; \\
        const int64_t one = 1; \\
        if (rows * columns * length <= {BATCH}) \\
            multiply(turned, other_turned, rows, columns, length, x, x_row, y, y_row, out); \\
        else \\
            ((batch)tm_blas->field)(ROWS, &left, &right, &rows, &columns, &length, &factor, \\
                                    &x, &x_row, &y, &y_row, &before, &out, &columns, 1, &one); \\
    }}
"""
"""After those of products."""

OF_DTYPE: Final = {"float32": "tm_multiply_f32", "float64": "tm_multiply_f64"}
"""The functions that multiply matrices, by dtype."""

HERE: Final = {
    "float32": ("tm_multiply_here_f32", "batches_of_floats"),
    "float64": ("tm_multiply_here_f64", "batches_of_doubles"),
}
"""The functions that compute on the calling thread, and what they need from `tm_products`."""

_TYPES: Final = {"float32": ("float", "of_floats"), "float64": ("double", "of_doubles")}


def blas_text(text: str) -> str:
    """The beginning of a text that calls BLAS; empty for others."""
    here = {dtype: names for dtype, names in HERE.items() if f"{names[0]}(" in text}
    used = [dtype for dtype, name in OF_DTYPE.items() if f"{name}(" in text or dtype in here]
    if not used:
        return ""
    products = [f"TM_PRODUCT({OF_DTYPE[dtype]}, {', '.join(_TYPES[dtype])})\n" for dtype in used]
    alone = [
        f"TM_PRODUCT_HERE({name}, {OF_DTYPE[dtype]}, {_TYPES[dtype][0]}, {field})\n"
        for dtype, (name, field) in here.items()
    ]
    return "".join([DECLARATIONS, *products, *[HERE_DECLARATIONS] * bool(here), *alone])
