"""Python loops as loops of the program."""
