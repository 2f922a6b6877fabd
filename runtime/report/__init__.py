"""One HTML file that shows what becomes of a function: its lines, every stage, kernels and memory."""
