"""What a command prints: tables, complaints, progress, and files it writes."""
