"""What users pass: options, and axes of arrays."""
