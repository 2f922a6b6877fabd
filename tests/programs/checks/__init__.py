"""What must hold for a program: it means the same compiled, batched and differentiated as when Python runs it."""
