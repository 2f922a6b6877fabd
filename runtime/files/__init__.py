"""Files and folders that others cannot exchange, and files that users name."""
