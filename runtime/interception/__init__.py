"""What runs Python's own loops as loops of the program."""
