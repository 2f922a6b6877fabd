"""What things cost on a GPU, where Triton makes the kernels."""

from typing import Final

from ...compiler.backends.triton.kernels.kernel import can_compute, goes_over_rows_once
from ...compiler.backends.triton.kernels.registers import OF_A_THREAD
from .cost import Costs

GPU: Final = Costs(
    launch=2500.0,  # assumed: 2 to 3 µs are told of kernels that follow each other in a stream
    bytes_per_nanosecond=4000.0,  # the H200's data sheet says 4800, and copies of large arrays are told to reach 4300
    operation=1 / 20_000,  # assumed; the data sheet says 33,500: 67 TFLOP/s of f32, by two operations in one
    small=1 << 13,  # assumed: so many elements take far less than a launch
    parallel=64,  # assumed: half of the H200's 132 processors
    brief=1 << 15,  # assumed
    resident=1 << 15,  # half of the 65,536 registers of a processor
    again=1 << 22,  # at that speed 1 µs, well below a launch
    held=1 << 26,  # about the cache that the processors share: 50 MB on H100
    registers=OF_A_THREAD,
    can_compute=can_compute,
    holds_products=True,
    goes_over_rows_once=goes_over_rows_once,
)
"""Of a large one as a whole: memory is slow beside arithmetic, and starting a kernel takes as long as reading 10 MB.

No time of it has been measured by us. What is known without a card is what registers hold: the machine code says so.
What is assumed decides only which of several right programs is made.
"""
