"""What users pass: options, amounts of memory, and axes of arrays."""
