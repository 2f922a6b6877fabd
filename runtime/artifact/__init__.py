"""Programs in files: exporting functions ahead of time, and loading them without their Python code."""
