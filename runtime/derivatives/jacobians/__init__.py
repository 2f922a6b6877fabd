"""Whole matrices of derivatives: Jacobians and Hessians, sparse ones, diagonals, and products with vectors."""
