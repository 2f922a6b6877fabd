"""What a program is, and how a kernel becomes source."""
