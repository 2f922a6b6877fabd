"""Ops of neural networks: attention, convolution, normalisation, softmax, losses."""
