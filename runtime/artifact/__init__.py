"""Programs in files: exporting functions ahead of time, and loading them where their Python code is not."""
