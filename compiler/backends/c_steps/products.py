"""Sums of products in C: matrices too small to be worth a call of BLAS, and whole numbers, which BLAS does not have."""

import math
from string import Template
from typing import Any

from ...ir import Call, Shape
from ..c_function import CFunction
from ..c_types import c_type
from .chunks import chunk_size, over_chunks, parameters
from .offsets import offset_along, strides_of

SMALL = 16
"""Products of matrices with no more rows and columns than this are computed in C."""

_ROWS = Template("""\
static void ${name}_chunk($parameters, long begin, long end)
{
    for (long row = begin; row < end; row++) {
        const long batch = row / $rows, i = row % $rows;
        const $type *restrict left = x$left + ($left_batch) + ($left_row);
        const $type *restrict right = x$right + ($right_batch);
        $type *restrict out = out0 + row * $columns;
        (void)batch, (void)i;
$body
    }
}
""")

_BY_COLUMNS = Template("""\
        for (long first = 0; first < $columns; first += $block) {  // columns of the result, in registers
            const long width = $width;
            $type sums[$block] = {0};
            for (long k = 0; k < $length; k++) {
                const $type factor = left[$left_k];
                const $type *restrict entries = right + $right_k;
                for (long j = 0; j < width; j++)
                    sums[j] += factor * entries[$right_j];
            }
            memcpy(out + first, sums, (size_t)width * sizeof *out);
        }\
""")

_BY_ENTRIES = Template("""\
        for (long j = 0; j < $columns; j++) {
            const $type *restrict entries = right + $right_j;
            $type sum = 0;
#pragma omp simd reduction(+ : sum)
            for (long k = 0; k < $length; k++)
                sum += left[$left_k] * entries[$right_k];
            out[j] = sum;
        }\
""")
