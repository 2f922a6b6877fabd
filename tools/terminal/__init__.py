"""The output of commands: tables, complaints, progress, and files."""
