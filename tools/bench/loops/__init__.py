"""Programs with loops over elements and numbers, compared with Numba and hand-written C."""
