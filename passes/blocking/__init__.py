"""The parts of `block_rows`: chains of products, and parts of their graphs."""
