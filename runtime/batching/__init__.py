"""`vmap`, chunks of a batch, and collectives along its axis."""
