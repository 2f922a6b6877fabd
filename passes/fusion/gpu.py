"""What things cost on a GPU, where Triton makes the kernels."""

from typing import Final

from ...compiler.backends.triton.kernel import can_compute, goes_over_rows_once
from ...compiler.backends.triton.registers import OF_A_THREAD
from .cost import Costs

GPU: Final = Costs(
    launch=2500.0,
    bytes_per_nanosecond=4000.0,
    operation=1 / 20_000,
    small=1 << 13,
    parallel=64,
    brief=1 << 15,
    resident=1 << 15,
    again=1 << 22,
    held=1 << 26,
    registers=OF_A_THREAD,
    can_compute=can_compute,
    holds_products=True,
    goes_over_rows_once=goes_over_rows_once,
)
"""Of a large one as a whole: memory is slow beside arithmetic, and starting a kernel takes as long as reading 10 MB."""
