"""One compiled signature: its arguments, guards, sizes and generated entry."""
