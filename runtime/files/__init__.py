"""Files and folders that others cannot replace, and files that users name."""
