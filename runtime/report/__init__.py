"""One HTML file that shows the stages of a function: its lines, every stage, kernels and memory."""
