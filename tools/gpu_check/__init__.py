"""What ``tracemill gpu-check`` runs: a look at the card, examples, and a comparison with peers."""
