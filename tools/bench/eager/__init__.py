"""Gradients of functions that are not compiled, compared with HIPS autograd's."""
