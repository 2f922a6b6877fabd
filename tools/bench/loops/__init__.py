"""Programs made of loops over elements and numbers, against Numba and hand-written C."""
