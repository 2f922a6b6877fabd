"""Costs on a GPU, where kernels are Triton."""

from typing import Final

from ...compiler.backends.triton.kernels.kernel import can_compute, goes_over_rows_once
from ...compiler.backends.triton.kernels.registers import OF_A_THREAD
from .cost import Costs

GPU: Final = Costs(
    launch=2500.0,  # assumed: reports say 2 to 3 µs for consecutive kernels in a stream
    bytes_per_nanosecond=4000.0,  # the H200's data sheet says 4800, and copies of large arrays reportedly reach 4300
    operation=1 / 20_000,  # assumed; the data sheet says 33,500: 67 TFLOP/s of f32, by two operations in one
    small=1 << 13,  # assumed: this many elements take much less time than a launch
    parallel=64,  # assumed: half of the H200's 132 processors
    brief=1 << 15,  # assumed
    resident=1 << 15,  # half of the 65,536 registers of a processor
    again=1 << 22,  # at this speed 1 µs, well below a launch
    held=1 << 26,  # about the size of the cache that the processors share: 50 MB on H100
    registers=OF_A_THREAD,
    can_compute=can_compute,
    holds_products=True,
    combines_in_passing=False,
    writes_in_any_order=False,
    goes_over_rows_once=goes_over_rows_once,
)
"""For a large GPU as a whole: memory is slow compared with arithmetic, and a launch takes as long as reading 10 MB.

None of these times has been measured here. The number of registers is known without a card, from the machine code.
The assumptions only decide which of several correct programs is generated.
"""
