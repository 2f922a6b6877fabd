"""The stages of a program as data: graphs, kernels, cost, memory, source."""
