"""The parts of ``tracemill gpu-check``: the card, examples, and a comparison with peers."""
